"""Answers in JSON become values here, whoever they come from.

Promise: an answer takes a few times the memory of its own bytes, however tightly it is packed, and
of the large ones only one is read at a time, whoever asks.
"""

from __future__ import annotations

from threading import Semaphore
from typing import Any

import orjson

from ..errors import GiveUp

LARGE = 1_000_000  # bytes: few honest answers are larger
MOST_VALUES = 500_000  # a page of 1000 edges has about 100,000; one may take 100 bytes of memory

_large_ones = Semaphore()


def parsed(body: bytes) -> Any:
    """What it says; ValueError if it is no JSON."""
    if len(body) <= LARGE:
        return _loaded(body)
    if sum(map(body.count, (b",", b":", b"[", b"{"))) > MOST_VALUES:
        raise GiveUp(f"the answer holds more than {MOST_VALUES:,} values")
    with _large_ones:
        return _loaded(body)


def _loaded(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if "memory" in str(error):
            raise MemoryError from error
        raise

"""Memory that is used again and again stays with the process in between.

The C library gives large pieces back to the system as soon as they are free, and gets them anew,
page by page: for a file that is read in chunks that is a quarter of the processor's time.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache

MOST_KEPT = 64 << 20
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as glibc numbers them


@cache
def keep_memory() -> None:
    """Where the C library can be asked to; elsewhere nothing happens."""
    with suppress(OSError, AttributeError):
        tune = ctypes.CDLL(None).mallopt
        tune(_TRIM_THRESHOLD, MOST_KEPT)
        tune(_MMAP_THRESHOLD, MOST_KEPT // 2)

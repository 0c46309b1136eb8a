"""Turns for answers that are large: few of them are in memory at a time, however many workers ask.

Limit: what was small when it came and is unpacked to much takes no turn.
"""

from __future__ import annotations

from threading import Semaphore
from types import TracebackType
from typing import Self

from ..errors import ComeBack

LARGE = 8 * 2**20  # bytes of a body
BUSY_S = 15.0
_places = Semaphore(2)  # one of a slow host does not hold all others


class Turn:
    """Taken when an answer proves to be large, and kept until whoever asked is done with it."""

    def __init__(self) -> None:
        self._is_taken = False

    def take(self, seconds: float) -> None:
        """ComeBack if so long no other has ended; a second one of the same task has its turn."""
        if self._is_taken:
            return
        if not _places.acquire(timeout=seconds):
            raise ComeBack("other large answers come first", BUSY_S)
        self._is_taken = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        if self._is_taken:
            self._is_taken = False
            _places.release()

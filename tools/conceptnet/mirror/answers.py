"""What the mirror has said lately: an index does not change, and what many ask is asked again.

Promise: an answer is the one `pages` gives; no more than so many bytes are kept, large answers and
long questions not at all. Any number of threads may ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

from ...network.reply import Reply
from ..index.index import Index
from .pages import answer_to

MOST_BYTES = 64 * 2**20  # in each process: some 15,000 pages
LARGEST = 2**15
BESIDES = 1000  # bytes that each costs besides its text, at most


class Answers:
    def __init__(self, assertions: Index, most_bytes: int = MOST_BYTES) -> None:
        self._assertions = assertions
        self._left = most_bytes
        self._kept: dict[
            tuple[str, ...], bytes
        ] = {}  # bodies: so nothing here is a container to be collected
        self._lock = Lock()

    def to(self, path: str, query: Mapping[str, str]) -> Reply:
        asked = (path, *query, *query.values())  # as many names as values: no two are alike
        if (kept := self._kept.get(asked)) is not None:
            return Reply(200, kept)
        answer = answer_to(self._assertions, path, query)
        is_usual = answer == Reply(200, answer.body)
        if is_usual and (size := _size(asked, answer.body)) <= LARGEST:
            with self._lock:
                self._keep(asked, answer.body, size)
        return answer

    def _keep(self, asked: tuple[str, ...], answer: bytes, size: int) -> None:
        """In place of those that have been here longest."""
        if asked in self._kept:  # another thread was quicker
            return
        self._kept[asked] = answer
        self._left -= size
        while self._left < 0:
            oldest = next(iter(self._kept))
            self._left += _size(oldest, self._kept.pop(oldest))


def _size(asked: tuple[str, ...], answer: bytes) -> int:
    return 4 * sum(map(len, asked)) + len(answer) + BESIDES

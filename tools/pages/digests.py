"""Which payloads a crawl has surely not seen yet, without asking the table for each.

Promise: what was added may be there, for ever; what may not be there was never added.
Limit: of a million payloads one of nine that are new may seem to be known, and is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable

BITS = 1 << 23  # a megabyte


class Digests:
    """`are_all`: whatever the table has was added here; until then anything may be there."""

    def __init__(self) -> None:
        self.are_all = False
        self._bits = bytearray(BITS // 8)

    def add(self, digests: Iterable[str | None]) -> None:
        for digest in digests:
            at = hash(digest) % BITS
            self._bits[at >> 3] |= 1 << (at & 7)

    def may_have(self, digest: str) -> bool:
        at = hash(digest) % BITS
        return not self.are_all or bool(self._bits[at >> 3] & 1 << (at & 7))

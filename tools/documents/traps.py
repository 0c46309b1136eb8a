"""Addresses and hosts that have no end: calendars, mirrors of themselves, one page for all.

Promise: an ordinary address passes at the cost of a few comparisons; a trap has a reason that can
be counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

LONGEST = 2048
MOST_SEGMENTS = 20
SAME_IN_A_ROW = 50


def trap_of(identity: str) -> str | None:
    """Why a page of this name is not asked for.

    >>> trap_of("h.example/a/b/a/b/a/b"), trap_of("h.example/a/a/a/b")
    ('repeated segments', None)
    """
    if len(identity) > LONGEST:
        return "address too long"
    segments = identity.partition("?")[0].split("/")[1:]
    if len(segments) > MOST_SEGMENTS:
        return "too many segments"
    if len(set(segments)) < len(segments) - 2 and _repeats(segments):
        return "repeated segments"
    return None


def _repeats(segments: list[str]) -> bool:
    """Four equal ones in a row, or a pair three times."""
    return any(
        segments[at : at + 4] == segments[at : at + 1] * 4
        or segments[at : at + 6] == segments[at : at + 2] * 3
        for at in range(len(segments) - 3)
    )


class HostTraps:
    """Hosts that have given enough: as many pages as wanted, or the same one again and again."""

    def __init__(self, limit_per_host: int | None = None, same: int = SAME_IN_A_ROW) -> None:
        self._limit = limit_per_host
        self._same = same
        self._pages: Counter[str] = Counter()
        self._rows: dict[str, tuple[str, int]] = {}
        self._stuck: set[str] = set()  # hosts with enough of them in a row

    def let_in(self, lane: str) -> str | None:
        """Count one more page of this host, or say why it is not wanted."""
        reason = self.trap_of(lane)
        if reason is None:
            self._pages[lane] += 1
        return reason

    @property
    def has_limit(self) -> bool:
        return self._limit is not None

    def trap_of(self, lane: str) -> str | None:
        if self._limit is not None and self._pages[lane] >= self._limit:
            return "limit of the host"
        return self.same_again(lane)

    @property
    def has_same(self) -> bool:
        """Is there any host that gives the same again and again?"""
        return bool(self._stuck)

    def same_again(self, lane: str) -> str | None:
        return "the same content again and again" if lane in self._stuck else None

    def fetched(self, lane: str, digest: str) -> None:
        """A page of this host came, with this digest."""
        last, times = self._rows.get(lane, ("", 0))
        times = times + 1 if digest == last else 1
        self._rows[lane] = (digest, times)
        (self._stuck.add if times >= self._same else self._stuck.discard)(lane)

    def remember(self, pages: Mapping[str, int]) -> None:
        """After a restart: how many pages of each host are known already."""
        self._pages.update(pages)

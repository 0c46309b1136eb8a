"""What a stretch of a source has shown, and what follows from it for documents that are known.

Promise: bytes that a source left, or came back to, are among `again` if rows of them may have to
change hands; what is there once too often is exported once more, to the same rows.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ..base.text import plain
from .raw import Raw

logger = logging.getLogger(__name__)


class Known(NamedTuple):
    """What is written down of a source."""

    hash: str
    before: str | None
    version: str


class Sightings(Protocol):
    """What is asked of the store of documents."""

    def known(self, names: Sequence[str], stretches: int) -> Mapping[str, Known]:
        """A row of a later stretch was written by one that never ended: of that the source's bytes
        are those it had `before`, of no known version."""

    def holders(self, hashes: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """The names of the first two sources that have these bytes now, the oldest first."""


class Sighted(NamedTuple):
    """For the store, before the pools: written down first, then reopened."""

    rows: Sequence[tuple[str, str, str | None, str, int]]
    """Name, hash, the hash before, version, stretch."""
    again: list[str]
    """Hashes to be exported again, or parsed if they have no document."""
    notes: list[str]
    """For each row: where its bytes are, should those the document's own note names be gone."""


class Sight(NamedTuple):
    """An item that was read."""

    hash: str
    raw: Raw
    version: str
    priority: int
    was: Known | None

    @property
    def is_changed(self) -> bool:
        return self.was is None or self.was.hash != self.hash


class Judgement(NamedTuple):
    again: list[str]
    copies: int


def judge(sights: Sequence[Sight], documents: Sightings) -> Judgement:
    """Whose bytes are a copy of another's, and which hashes have to be looked at again."""
    changed = [each for each in sights if each.is_changed]
    hashes = {each.hash for each in changed} | {each.was.hash for each in changed if each.was}
    holders = documents.holders(sorted(hashes)) if hashes else {}
    again: dict[str, None] = {}
    here: dict[str, str] = {}  # the first of this stretch that has them
    copies = 0
    names = {each.raw.source for each in changed}  # what is written down of them holds no more
    for sight in changed:
        settled = (each for each in holders.get(sight.hash, ()) if each not in names)
        other = next(settled, here.get(sight.hash))
        here.setdefault(sight.hash, sight.raw.source)
        if sight.was is not None or other is None:
            # Nobody has them, but somebody may have had: the pools know, which would not let them
            # in a second time.
            again[sight.hash] = None
        if other not in (None, sight.raw.source) and sight.raw.length:
            copies += 1
            logger.info("%s has the same bytes as %s", plain(sight.raw.source), plain(other or ""))
        if sight.was and any(each != sight.raw.source for each in holders.get(sight.was.hash, ())):
            again[sight.was.hash] = None
    return Judgement(list(again), copies)


def sighted(sights: Sequence[Sight], again: list[str], stretch: int) -> Sighted:
    """A source that was seen twice has what it had last."""
    last = {each.raw.source: each for each in sights}
    rows = [(name, each.hash, _before(each), each.version, stretch) for name, each in last.items()]
    return Sighted(rows, again, [each.raw.as_note() for each in last.values()])


def _before(sight: Sight) -> str | None:
    if sight.was is None:
        return None
    return sight.was.hash if sight.is_changed else sight.was.before

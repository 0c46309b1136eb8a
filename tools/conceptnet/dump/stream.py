"""Worker of the fetch stage when a whole file is harvested: the file is its one task.

Promise: every relation that passes the filter reaches the graph, in one pass. The task comes back
to its pool after each stretch of the file, and how far it is stands in the pools' tally, written by
the same transaction as what was found: killed anywhere, the file is read on from there.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path

from ...add import Page, Relation, endpoints
from ...engine.stage import Done, Found, Task
from ...errors import Fatal, UsageError
from ..index.build import sha256_of
from ..rules import KEPT, Filter, is_groundable
from .faults import MOST_LOGGED, Faults
from .lines import BEGINNING, Chunk, Lines, Position
from .row import relation_of
from .sieve import Sieve

logger = logging.getLogger(__name__)

MOST_RELATIONS = 20_000
MOST_LINES = 2_000_000
OFFSET, LINES, MALFORMED = "dump_bytes", "dump_lines", "dump_malformed"

Tallied = Callable[[str], int]
"""What the pools have counted under a name."""


class Streamer:
    """`ground` says what gets media: concepts, relations, both or nothing."""

    def __init__(self, path: Path, wanted: Filter, most_malformed: int, ground: str) -> None:
        self.lines = Lines(path)
        # A name need not be text: pools and log want it to be.
        self._name = os.fsencode(path.name).decode(errors="backslashreplace")
        self.uri = f"file:{self._name}"
        self._wanted = wanted
        self._most_malformed = most_malformed
        self._concepts_go_to = "extend" if ground in ("concepts", "both") else "finished"
        self._shows_relations = ground in ("relations", "both")
        self._reader: Iterator[Chunk] | None = None
        self._at = BEGINNING
        self._malformed = 0  # up to there
        self._faults = Faults(path, most_malformed)
        self._is_ended = False

    @cached_property
    def world(self) -> str:
        """Which file this is, for whoever goes on with it."""
        return f"all of {self._name} (sha256 {sha256_of(self.lines.path)[:16]})"

    def open(self, tallied: Tallied) -> None:
        """Raises UsageError for a file without an assertion, before anything is begun for it."""
        self._tallied = tallied
        if not tallied(LINES):
            self._require_some()

    def _require_some(self) -> None:
        """A long file is believed, and a damaged one: both are reported where they end."""
        path = self.lines.path
        faults = Faults(path, self._most_malformed, logged=MOST_LOGGED * [(0, "")])  # silently
        sieve, lines = Sieve(self._wanted, faults), 0
        try:
            for chunk in islice(Lines(path).chunks(), 2):
                if lines:
                    return
                list(sieve(chunk))
                lines = chunk.end.lines
        except UsageError:
            return
        faults.require_some(lines)

    def counts(self) -> dict[str, int]:
        """How far the file is read."""
        counts = {"lines": self._tallied(LINES), "malformed lines": self._tallied(MALFORMED)}
        return counts if counts["malformed lines"] else {"lines": counts["lines"]}

    def __call__(self, task: Task) -> Done:
        begin = self._wind()
        kept = self._stretch(begin)
        concepts = endpoints(kept)
        return Done(
            "finished" if self._is_ended else task.stage.waiting,
            self._found(kept, concepts),
            Page((), kept),  # its entities are the ends of its relations
            {
                OFFSET: self._at.offset - begin.offset,
                LINES: self._at.lines - begin.lines,
                MALFORMED: self._malformed - self._tallied(MALFORMED),
                KEPT: len(kept),
            },
        )

    def _wind(self) -> Position:
        """Be where the pools say; elsewhere we are if the last stretch could not be stored."""
        committed = Position(self._tallied(OFFSET), self._tallied(LINES))
        if self._reader is None or committed != self._at:
            path = self.lines.path
            self._malformed = self._tallied(MALFORMED)
            logged = self._faults.logged  # this stretch may be read a second time
            self._faults = Faults(path, self._most_malformed, self._malformed, logged)
            self._sieve = Sieve(self._wanted, self._faults)
            self._reader, self._at = self.lines.chunks(committed), committed
            self._is_ended = False
        return committed

    def _stretch(self, begin: Position) -> list[Relation]:
        kept: list[Relation] = []
        try:
            for chunk in self._reader or ():
                kept += [relation_of(row) for row in self._sieve(chunk)]
                self._at, self._malformed = chunk.end, self._faults.number
                if len(kept) >= MOST_RELATIONS or chunk.end.lines - begin.lines >= MOST_LINES:
                    return kept
            self._end()
        except Fatal:
            self._reader = None  # read on from here it says so again, with this stretch stored
            if self._at == begin:
                raise
        return kept

    def _end(self) -> None:
        self._faults.require_some(self._at.lines)
        self._is_ended = True
        if summary := self._faults.summary():
            logger.warning("%s", summary)

    def _found(self, kept: Sequence[Relation], concepts: Sequence[str]) -> list[Found]:
        found = [Found(self._concepts_go_to, concepts, depth=0)]
        if self._shows_relations:
            shown = [each.uri for each in kept if is_groundable(each)]
            found.append(Found("extend", shown, depth=0))
        return found

"""Where the work of all stages goes: who has which bytes, documents, failures, rows.

Promise: sources are written before the rows of their documents, so that these get the right owner;
what has another owner now is exported again. A destination that is away holds up exports only.
Limit: one caller, the committer.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import HarvestError, Unavailable
from ..tables.rows import Extract, TooLong
from .documents import Documents
from .export import Exported, Rows
from .export_line import ExportLine
from .parse import ParsedDocument, UnparsedDocument
from .sighted import Sighted

if TYPE_CHECKING:  # it takes SQLAlchemy with it
    from ..tables.target import Target

Reopen = Callable[[str, Sequence[str]], int]
"""Hashes that are finished wait for the stage of this name again; how many."""
T = TypeVar("T")

AWAY_S = 1.0  # so long after an error the destination is not asked for anybody's rows
DONE, FAILED = "done", "failed"
NOBODY_HAS_IT = "no source has these bytes any more"
NO_ROWS: Rows = {}


class Mixed(HarvestError):
    """The destination is away, and not all of a batch is for it: each gets its own verdict."""


class Rowing:
    """The rows of documents into the tables of an export."""

    def __init__(
        self,
        documents: Documents,
        target: Target,
        tables: Sequence[str],
        document: str,
        too_long: TooLong,
    ) -> None:
        self._documents = documents
        self._target = target
        self._tables = tables
        self._document = document
        self._too_long: TooLong = too_long
        self._away: tuple[float, Unavailable] | None = None
        self.rows = 0
        self.problems: Counter[str] = Counter()  # by table
        self.changes: list[str] = []

    def __call__(self, exported: Sequence[Exported]) -> None:
        if self._away is not None and time.monotonic() < self._away[0]:
            raise self._away[1]
        try:
            self._replace(exported)
        except Unavailable as error:
            self._away = time.monotonic() + AWAY_S, error
            raise
        self._away = None

    def _replace(self, exported: Sequence[Exported]) -> None:
        extracts, whose = self._extracts(exported)
        replaced = self._target.replace([*extracts.values()], self._too_long)
        rows, problems = Counter[str](), Counter[str]()
        for name, number in zip(extracts, replaced.rows, strict=True):
            rows[whose[name]] += number
        for problem in replaced.problems:
            problems[whose[problem.document]] += 1
            self.problems[problem.table] += 1
        self.rows += sum(replaced.rows)
        self.changes += replaced.changes
        now = time.time()
        self._documents.log_exports(
            [
                ExportLine(h, now, DONE, rows[h], problems[h], None if parts else NOBODY_HAS_IT)
                for h, parts in exported
            ]
        )

    def _extracts(self, exported: Sequence[Exported]) -> tuple[dict[str, Extract], dict[str, str]]:
        """By the document that rows belong to, and the hash each comes from. What documents of one
        key say of the same table, the last one says."""
        extracts: dict[str, Extract] = {}
        whose: dict[str, str] = {}
        for hash_, name, rows in self._owned(exported):
            if self._document == "key":
                before = extracts[name].rows if name in extracts else NO_ROWS
                both = {**before, **rows}
                extracts[name] = Extract(name, both, [*both])
            else:
                extracts[name] = Extract(name, rows, self._tables)
            whose[name] = hash_
        return extracts, whose

    def _owned(self, exported: Sequence[Exported]) -> Iterator[tuple[str, str, Rows]]:
        """Whose the rows are. All but the owner of some bytes lose what they had of them."""
        if self._document == "source":
            holders = self._documents.holders([each.hash for each in exported])
            for hash_, parts in exported:
                for number, name in enumerate(holders.get(hash_, ())):
                    yield hash_, name, NO_ROWS if number else parts.get("", NO_ROWS)
        else:
            for hash_, parts in exported:
                for key, rows in parts.items():
                    yield hash_, key if self._document == "key" else hash_, rows


class Store:
    def __init__(self, documents: Documents, reopen: Reopen, rowing: Rowing | None) -> None:
        self._documents = documents
        self._reopen = reopen
        self._rowing = rowing

    def __call__(self, records: Sequence[Any]) -> None:
        for sighted in _of(Sighted, records):
            self._documents.sight(sighted, time.time())
        exported = _of(Exported, records)
        if exported and self._rowing is not None:
            try:
                self._rowing(exported)
            except Unavailable as error:
                raise error if len(exported) == len(records) else Mixed(str(error)) from error
        parsed, failures = _of(ParsedDocument, records), _of(UnparsedDocument, records)
        if parsed or failures:
            self._documents.add(parsed, failures)
        if lines := _of(ExportLine, records):
            self._documents.log_exports(lines)
        for sighted in _of(Sighted, records):
            self._look_again(sighted)

    def _look_again(self, sighted: Sighted) -> None:
        """After their rows are written. A crash in between reads the same stretch again."""
        has = self._documents.has(sighted.again)
        self._reopen("export", [each for each in sighted.again if each in has])
        self._reopen("parse", [each for each in sighted.again if each not in has])


def _of(kind: type[T], records: Sequence[Any]) -> list[T]:
    return [each for each in records if type(each) is kind]

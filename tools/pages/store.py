"""Where everything that workers bring goes: first the archive, then the table.

Promise: a record of the table names only bytes that are in the archive, and what a crash left in
the archive without a record is cut off at the next start. Limit: one writer, the committer.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..archive.answer import Answered
from ..archive.record import Place
from ..archive.store import Archive
from .brought import Brought
from .page import ArchiveFile, Capture, Captured, Failed, Fetched, Record, Unchanged, moment
from .table import PageTable

WITH_CAPTURES = (Fetched, Unchanged, Failed, Captured)


class Store:
    """Called with what several tasks brought, all or nothing."""

    def __init__(self, archive: Archive, table: PageTable) -> None:
        self._archive = archive
        self._table = table
        self.stored = 0  # pages, in this run
        self.bytes = 0  # of the archive, in this run
        self.closed_bytes = 0  # of files that became full, in this run

    def __call__(self, brought: Sequence[Brought]) -> None:
        appended: list[Place] = []
        try:
            records = [record for each in brought for record in self._placed(each, appended)]
            if appended:
                self._archive.sync(durable=False)
            self._table.write([*records, *_ends(appended), *self._closed()])
        except Exception:
            self._archive.take_back(appended)
            raise
        self.stored += sum(isinstance(record, Fetched) for record in records)
        self.bytes += sum(place.length for place in appended)

    def close_files(self) -> None:
        """Nothing more comes: what is not full counts as full."""
        growing = [file.name for file in self._table.files() if not file.closed_at]
        self._archive.retire(growing)
        self._table.write([*self._closed()])

    def _placed(self, brought: Brought, appended: list[Place]) -> Iterator[Record]:
        captures = [each for one in brought.answers for each in self._append(one, appended)]
        first, *others = brought.records
        if captures and isinstance(first, WITH_CAPTURES):
            first = replace(first, captures=captures)
        yield first
        yield from others

    def _append(self, answer: Answered, appended: list[Place]) -> Iterator[Capture]:
        """A capture for the answer; its request stands behind it."""
        places = self._archive.append(answer.domain, answer.packed)
        appended += places
        yield Capture(
            answer.address,
            answer.time,
            answer.status,
            answer.mime,
            answer.packed.digest,
            *places[0],
            kind=answer.packed.kind,
        )

    def _closed(self) -> Iterator[ArchiveFile]:
        """Files that became full: nobody writes to them again, so they may be shipped."""
        while self._archive.full:
            closed = self._archive.close_file(self._archive.full.pop())
            self.closed_bytes += closed.bytes
            yield ArchiveFile(
                name=closed.file,
                bytes=closed.bytes,
                sha256=closed.sha256,
                closed_at=moment(time.time()),
            )


def _ends(places: Iterable[Place]) -> Iterator[ArchiveFile]:
    """How far each file reaches now, with the requests behind the answers."""
    ends: dict[str, int] = {}
    for place in places:
        ends[place.file] = max(ends.get(place.file, 0), place.offset + place.length)
    return (ArchiveFile(name=name, bytes=end) for name, end in ends.items())

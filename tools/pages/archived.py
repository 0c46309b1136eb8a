"""Pages found again in the archive, by what the table says of them.

Promise: a page that was kept as a revisit is given with the body it refers to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from itertools import zip_longest
from pathlib import Path

from ..archive import cdxj
from ..archive.names import piece_name
from ..archive.reader import Damaged, Kept, read
from ..archive.record import RESPONSE, REVISIT, Place
from ..errors import GiveUp
from .analyse import Body
from .page import Capture
from .table import PageTable

NOT_PAGES = frozenset({301, 302, 303, 304, 307, 308})


class Shipped(Damaged):
    """It is not here any more: the receiving node has the file."""

    def __init__(self, file: str) -> None:
        super().__init__(f"{file} was shipped to the receiving node")
        self.file = file


class Archived:
    """Of one crawl."""

    def __init__(self, table: PageTable, folder: Path, most_bytes: int) -> None:
        self._table = table
        self._folder = folder
        self.most_bytes = most_bytes

    def __call__(self, url: str) -> Body | None:
        """The latest answer of a page, for the analysis; None if none can be read."""
        try:
            if (found := self.latest(url)) is None:
                return None
            return Body(found.address, found.headers, found.body(self.most_bytes))
        except GiveUp:
            return None

    def latest(self, url: str) -> Kept | None:
        """Raises GiveUp if the archive has lost it (Damaged), or has it elsewhere (Shipped)."""
        captures = [each for each in self._table.captures(url) if each.status not in NOT_PAGES]
        return self.kept(captures[-1]) if captures else None

    def kept(self, capture: Capture) -> Kept:
        """With its body, wherever that is."""
        found = self._read(capture)
        if found.kind != REVISIT or capture.digest is None:
            return found
        first = self._table.digest_known(capture.digest)
        if first is None:
            return found
        return replace(found, payload=self._read(first).payload)  # the head is its own

    def _read(self, capture: Capture) -> Kept:
        try:
            return read(self._folder, _place(capture), self.most_bytes)
        except Damaged:
            files = (file for file in self._table.files() if file.shipped_at)
            if capture.file in {file.name for file in files}:
                raise Shipped(capture.file) from None
            raise


def write_index(table: PageTable, folder: Path) -> None:
    """The CDXJ beside the WARC files, for programs that replay them."""
    cdxj.write_index(folder / cdxj.FILE, indexed(table))


def write_piece(table: PageTable, folder: Path, file: str) -> str:
    """The index of one file that is full, beside it; its name."""
    name = piece_name(file)
    cdxj.write_index(folder / name, indexed_in(table, file))
    return name


def is_index_current(table: PageTable, folder: Path) -> bool:
    """Is it what `write_index` would write?"""
    try:
        with ExitStack() as stack, (folder / cdxj.FILE).open("rb") as file:
            lines = cdxj.sorted_lines(indexed(table), stack, folder)
            return all(old == new for old, new in zip_longest(file, lines))
    except FileNotFoundError:
        return False


def indexed(table: PageTable) -> Iterator[cdxj.Capture]:
    for file in table.files():
        yield from indexed_in(table, file.name)


def indexed_in(table: PageTable, file: str) -> Iterator[cdxj.Capture]:
    for _, each in table.captures_in(file):
        if each.kind in (RESPONSE, REVISIT):
            mime = "warc/revisit" if each.kind == REVISIT else each.mime
            moment = datetime.fromisoformat(each.time)
            place = _place(each)
            yield cdxj.Capture(each.address, moment, each.status, mime, each.digest, place)


def _place(capture: Capture) -> Place:
    return Place(capture.file, capture.offset, capture.length)

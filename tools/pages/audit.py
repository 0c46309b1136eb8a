"""Archive and table of a crawl, compared record by record.

Promise: nothing is changed, and memory stays flat however large the archive is. What a running
crawl appends meanwhile is left out: each file is read as far as the table knew when the look at it
began. Limit: the words of the table are counted in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..archive.reader import MOST_PAYLOAD, Damaged, Kept, read, records
from ..archive.record import (
    METADATA,
    REQUEST,
    RESPONSE,
    REVISIT,
    WARCINFO,
    Place,
    payload_digest,
    target,
)
from ..archive.recovery import our_files
from .page import FETCHED, ArchiveFile, Capture, Page
from .table import PageTable

MOST_TOLD = 20
ALL_WORDS = 10**12
BESIDE = frozenset({REQUEST, METADATA})
"""Records that stand behind an answer and belong to it."""


@dataclass(slots=True)
class Findings:
    """`seen` is what was compared, `wrong` how many of it, by what is wrong with them; of these a
    few are told in words."""

    seen: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    told: list[str] = field(default_factory=list)

    def tell(self, what: str, where: str) -> None:
        self.wrong[what] += 1
        if len(self.told) < MOST_TOLD:
            self.told.append(f"{where}: {what}")


def audit(table: PageTable, folder: Path, most_bytes: int, is_growing: bool = False) -> Findings:
    """Of one that is growing the words are not compared: they are never at rest."""
    found = Findings()
    look = Audit(table, folder, max(most_bytes, MOST_PAYLOAD), found)
    look.files()
    look.pages()
    if not is_growing:
        look.words()
    return found


class Audit:
    def __init__(self, table: PageTable, folder: Path, most_bytes: int, found: Findings) -> None:
        self._table = table
        self._folder = folder
        self._most_bytes = most_bytes
        self._found = found

    # --- the files -------------------------------------------------------------------------

    def files(self) -> None:
        known = {file.name: file for file in self._table.files()}
        for file in known.values():
            self._file(file)
        for name in our_files(self._folder):
            if name not in known:
                self._found.tell("the table does not know this file", name)

    def _file(self, file: ArchiveFile) -> None:
        path = self._folder / file.name
        self._found.seen["files"] += 1
        if not path.exists() and file.shipped_at:
            self._found.seen["files that were shipped"] += 1
        elif not path.exists():
            self._found.tell("the file is gone", file.name)
        else:
            if (size := path.stat().st_size) < file.bytes:
                self._found.tell("shorter than the table says", f"{file.name}, {size:,} bytes")
            self._records(file)

    def _records(self, file: ArchiveFile) -> None:
        """Both in the order of the file; after damage each capture is looked for by itself."""
        captures = self._captures(file)
        expected = next(captures, None)
        is_known = False  # the answer before
        try:
            for kept in self._read(file):
                while expected is not None and expected.offset < kept.place.offset:
                    self._found.tell("no record begins there", _place(expected))
                    expected = next(captures, None)
                if expected is not None and expected.offset == kept.place.offset:
                    self._compare(expected, kept)
                    expected, is_known = next(captures, None), True
                else:
                    is_known = self._is_beside(file.name, kept, is_known)
        except (Damaged, OSError) as error:
            self._found.tell("cannot be read", str(error))
        while expected is not None:
            self._by_itself(expected)
            expected = next(captures, None)

    def _captures(self, file: ArchiveFile) -> Iterator[Capture]:
        for _, capture in self._table.captures_in(file.name):
            if capture.offset + capture.length <= file.bytes:
                yield capture

    def _read(self, file: ArchiveFile) -> Iterator[Kept]:
        """Behind the bytes that are committed may be what a kill left, or what is just written."""
        for kept in records(self._folder / file.name, self._most_bytes):
            yield kept
            if kept.place.offset + kept.place.length >= file.bytes:
                return

    def _compare(self, capture: Capture, kept: Kept) -> None:
        self._found.seen["answers"] += 1
        self._found.seen["revisits"] += kept.kind == REVISIT
        told = capture.kind, target(capture.address), capture.length, capture.digest
        if told != (kept.kind, kept.address, kept.place.length, kept.digest):
            self._found.tell("another record than the table says", _place(capture))
        elif kept.kind == RESPONSE and not kept.is_cut:
            if payload_digest(kept.payload) != kept.digest:
                self._found.tell("another content than its digest says", _place(capture))
        elif kept.kind == REVISIT and self._table.digest_known(kept.digest or "") is None:
            self._found.tell("a revisit of what is not kept", _place(capture))

    def _is_beside(self, file: str, kept: Kept, is_known: bool) -> bool:
        """Is it of an answer that the table knows, as the one before was?"""
        if kept.kind == WARCINFO:
            return False
        if kept.kind in BESIDE and is_known:
            self._found.seen[f"{kept.kind}s"] += 1
            return True
        self._found.tell("the table does not know this record", f"{file}, byte {kept.place.offset}")
        return False

    def _by_itself(self, capture: Capture) -> None:
        place = Place(capture.file, capture.offset, capture.length)
        try:
            self._compare(capture, read(self._folder, place, self._most_bytes))
        except Damaged:
            self._found.tell("no record can be read there", _place(capture))

    # --- the table -------------------------------------------------------------------------

    def pages(self) -> None:
        for page in self._table.pages():
            self._found.seen["pages"] += 1
            if page.state == FETCHED:
                self._page(page)

    def _page(self, page: Page) -> None:
        """One without a digest asked not to be archived."""
        self._found.seen["pages that are fetched"] += 1
        captures = self._table.captures(page.url)
        if page.digest is None:
            self._found.seen["pages that nobody may keep"] += 1
        elif page.digest not in {each.digest for each in captures}:
            self._found.tell("the page is fetched, and its answer is not in the archive", page.url)

    def words(self) -> None:
        words = self._table.words(ALL_WORDS)
        counted = Counter(words=sum(each.count for each in words))
        counted["places"] = sum(each.pages for each in words)
        of_pages: Counter[str] = Counter(words=0, places=0)
        for page in self._table.pages():
            if page.words:
                of_page = self._table.words_of(page.url)
                of_pages["words"] += sum(of_page.values())
                of_pages["places"] += len(of_page)
        self._found.seen["words"] = counted["words"]
        if counted != of_pages:
            where = f"{counted['words']:,} words, {of_pages['words']:,} by the pages"
            self._found.tell("the words are not the sum of those of the pages", where)


def _place(capture: Capture) -> str:
    return f"{capture.file}, byte {capture.offset:,} ({capture.address})"

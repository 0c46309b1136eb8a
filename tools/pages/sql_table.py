"""The table of pages in a database that speaks SQL: what is said to it, and in which order.

A subclass knows one database: how to connect, what a transaction is, what its errors mean. Records
of a batch are written kind by kind: rows before what is said about them, downloads before analyses.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson

from ..documents.address import host_of
from ..errors import StateDamaged
from . import statements as say
from .digests import Digests
from .page import (
    Analysed,
    ArchiveFile,
    Capture,
    Captured,
    Child,
    Controlled,
    Failed,
    Fetched,
    HostNews,
    PagePath,
    Record,
    Unchanged,
    moment,
)
from .paths import merged
from .rows import (
    Words,
    analysed_row,
    as_json,
    by_columns,
    firsts,
    host_rows,
    packed,
    special_links,
    storable_words,
    summed_up,
    unpacked,
    without_analysis,
)
from .schema import FILE
from .sql_reading import Row, SqlReading
from .table import PATHS_KEPT, Admitted, Written

COUNTED_AT_ONCE = 40_000  # words of pages that wait to be counted together; some 4 MB
FULL_REMEMBERED = 100_000  # pages; some 20 MB
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Batch:
    """Records that are written together; `dropped` are the pages of which something was not."""

    records: Sequence[Record]
    now: str
    dropped: set[str] = field(default_factory=set)


class SqlTable(SqlReading):
    """`name` is what messages call it."""

    def __init__(self, name: str, paths_kept: int = PATHS_KEPT) -> None:
        self.name = name
        self._paths_kept = paths_kept
        self._uncounted: list[Words] | None = None  # None: nobody has looked who waits there
        self._full: dict[str, int] = {}  # pages that take no path but one shorter than this
        self._digests = Digests()

    # --- what a database must be able to do ------------------------------------------------

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[object]:
        """By one thread at a time."""

    @abstractmethod
    def _run(self, statement: str, **values: object) -> list[Row]:
        """Inside a transaction."""

    @abstractmethod
    def _store_page_words(self, counts: Sequence[tuple[int, bytes]]) -> None:
        """In the place of those that were there."""

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._transaction():
                yield
        except BaseException:
            self._full.clear()  # it may hold what was taken back
            self._uncounted = None
            raise

    def _change(self, statement: str, rows: Sequence[object], **values: object) -> list[Row]:
        return self._run(statement, rows=as_json(rows), **values) if rows else []

    # --- by the one writer -----------------------------------------------------------------

    def check_owner(self, harvest: str) -> None:
        if self.owner() not in (None, harvest):
            raise StateDamaged(
                f"{self.name} holds the pages of another crawl: name another database, or give the "
                "--state of that crawl"
            )

    def claim(self, harvest: str) -> None:
        self.check_owner(harvest)
        if self.owner() is None:
            with self._writing():
                self._run(say.CLAIM, id=harvest)
        self._digests.are_all = not self.files()  # before anything is written

    def admit(self, children: Sequence[Child]) -> Admitted:
        with self._writing():
            return self._admit(children, moment(time.time()))

    def write(self, records: Sequence[Record]) -> Written:
        batch = _Batch(records, moment(time.time()))
        with self._writing():
            children = [child for each in _only(Controlled, records) for child in each.children]
            admitted = self._admit(children, batch.now)
            self._write_results(batch)
            self._change(say.WRITE_HOSTS, host_rows(_only(HostNews, records)))
            files = {each.name: each for each in _only(ArchiveFile, records)}
            self._change(say.WRITE_FILES, by_columns(files.values(), FILE))
        return Written(frozenset(batch.dropped), *admitted)

    def count_words(self) -> None:
        with self._writing():
            self._count_words()

    def digest_known(self, digest: str) -> Capture | None:
        return super().digest_known(digest) if self._digests.may_have(digest) else None

    def cut_back(self, file: str, bytes: int) -> list[str]:
        with self._writing():
            lost = self._run(say.LOSE_CAPTURES, file=file, bytes=bytes)
            pages = sorted({page for (page,) in lost if page is not None})
            self._shorten(file)
            found = self._change(say.LOSE_PAGES, pages, now=moment(time.time()))
            return sorted(url for (url,) in found)

    def _shorten(self, file: str) -> None:
        """To where its last record ends: half a record amid a file would spoil what comes after."""
        ((end,),) = self._run(say.READ_END, file=file)
        if end:
            self._run(say.REOPEN_FILE, file=file, bytes=end)
        else:
            self._run(say.LOSE_FILE, file=file)

    # --- inside a transaction: rows and paths ----------------------------------------------

    def _admit(self, children: Iterable[Child], now: str) -> Admitted:
        offers, addresses = self._offers(children)
        if not offers:
            return Admitted(frozenset(), frozenset())
        known = {row[0]: row[1:] for row in self._change(say.READ_PATHS, list(offers))}
        new, changed, sank = [], [], set()
        for url, offered in offers.items():
            depth, text = known.get(url, (None, "[]"))
            paths: list[list[str]] = orjson.loads(text)
            if merged(url, paths, offered, self._paths_kept):
                shortest = len(paths[0])
                if depth is None:
                    new.append((url, host_of(url), addresses[url], shortest, as_json(paths)))
                else:
                    changed.append((url, shortest, as_json(paths)))
                    if shortest < depth:
                        sank.add(url)
            if len(paths) > self._paths_kept:
                self._remember_full(url, len(paths[0]))
        self._change(say.ADMIT, new, now=now)
        self._change(say.SINK, changed, now=now)
        return Admitted(frozenset(row[0] for row in new), frozenset(sank))

    def _offers(
        self, children: Iterable[Child]
    ) -> tuple[dict[str, list[PagePath]], dict[str, str]]:
        """What may change something, by page: most links lead where everybody leads."""
        full = self._full
        offers: dict[str, list[PagePath]] = {}
        addresses: dict[str, str] = {}
        for url, address, path in children:
            if url in full and full[url] <= len(path):
                continue
            if url in offers:
                offers[url].append(path)
            else:
                offers[url] = [path]
                addresses[url] = address
        return offers, addresses

    def _remember_full(self, url: str, depth: int) -> None:
        if len(self._full) >= FULL_REMEMBERED:
            self._full.clear()
        self._full[url] = depth

    # --- inside a transaction: results -----------------------------------------------------

    def _write_results(self, batch: _Batch) -> None:
        fetched = self._update(batch, Fetched, say.FETCH, say.FETCHED)
        touched = self._update(batch, Unchanged, say.TOUCH, say.UNCHANGED)
        final = [without_analysis(each) for _, each in fetched if each.final]
        self._analyse(batch, [*final, *_only(Analysed, batch.records)])
        failed = self._update(batch, Failed, say.FAIL, say.FAILED)
        captures: list[Sequence[Any]] = [
            (id, *capture)
            for group in (fetched, touched, failed)
            for id, each in group
            for capture in each.captures
        ]
        beside = _only(Captured, batch.records)
        captures += [(None, *capture) for each in beside for capture in each.captures]
        self._write_captures(captures)

    def _update(
        self, batch: _Batch, kind: type[T], statement: str, columns: say.Columns
    ) -> list[tuple[int, T]]:
        """Those that were taken, each with its page's id."""
        wanted, others = firsts(_only(kind, batch.records))
        taken = self._change(statement, by_columns(wanted.values(), columns), now=batch.now)
        batch.dropped.update(others, wanted.keys() - {url for _, url in taken})
        return [(id, wanted[url]) for id, url in taken]

    def _analyse(self, batch: _Batch, records: Iterable[Analysed]) -> None:
        wanted, others = firsts(records)
        rows = [analysed_row(each) for each in wanted.values()]
        taken = self._change(say.ANALYSE, rows, now=batch.now)
        batch.dropped.update(others, wanted.keys() - {url for _, url in taken})
        pages = [(id, wanted[url]) for id, url in taken]
        self._take_off_words([id for id, _ in pages])
        self._add_words({id: storable_words(each.words) for id, each in pages if each.words})
        special = [(id, special_links(each.links)) for id, each in pages]
        self._change(say.DELETE_LINKS, [id for id, links in special if links is None])
        self._change(say.WRITE_LINKS, [row for row in special if row[1] is not None])

    def _take_off_words(self, pages: Sequence[int]) -> None:
        """What pages had before they were asked again."""
        if before := self._change(say.READ_PAGE_WORDS, pages):
            self._count_words()  # theirs too: only what was counted can be taken off
            old = summed_up([unpacked(counts) for _, counts in before])
            self._run(say.TAKE_OFF_WORDS, rows=old)
            self._run(say.DELETE_WORDS, rows=old)
            self._change(say.DELETE_PAGE_WORDS, [page for page, _ in before])

    def _add_words(self, pages: Mapping[int, tuple[Words, str]]) -> None:
        """Most words stand on many pages: to count those of many together costs a third."""
        if not pages:
            return
        uncounted = self._read_uncounted()
        self._store_page_words([(id, packed(text)) for id, (_, text) in pages.items()])
        self._change(say.PUT_OFF_WORDS, list(pages))
        uncounted += [words for words, _ in pages.values()]
        if sum(map(len, uncounted)) >= COUNTED_AT_ONCE:
            self._count_words()

    def _count_words(self) -> None:
        if uncounted := self._read_uncounted():
            self._run(say.COUNT_WORDS, rows=summed_up(uncounted))
            self._run(say.ALL_COUNTED)
            self._uncounted = []

    def _read_uncounted(self) -> list[Words]:
        """Of all pages whose words wait to be counted, since before a restart too."""
        if self._uncounted is None:
            self._uncounted = [unpacked(counts) for (counts,) in self._run(say.READ_UNCOUNTED)]
        return self._uncounted

    def _write_captures(self, captures: Sequence[Sequence[Any]]) -> None:
        self._digests.add(row[5] for row in captures)
        at_place = {(row[6], row[7]): row for row in captures}
        self._change(say.WRITE_CAPTURES, list(at_place.values()))
        ends: dict[str, int] = {}
        for file, offset, length in (row[6:9] for row in captures):
            ends[file] = max(ends.get(file, 0), offset + length)
        self._change(say.LENGTHEN_FILES, list(ends.items()))


def _only(kind: type[T], records: Iterable[Record]) -> list[T]:
    return [each for each in records if isinstance(each, kind)]

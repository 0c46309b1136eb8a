"""`csv:FILE?body=COLUMN&key=COLUMN`: each row of a file is a document, its bytes are one column.

Promise: rows that were added are read on from where it was; memory is bounded by the largest row
that is wanted. Limit: a row that cannot be understood is left out, which the log says.
"""

from __future__ import annotations

import codecs
import csv
import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from ...base.text import did_you_mean, plain
from ...errors import GiveUp, UsageError
from .mark import Position, existing_file, gone, resume
from .query import options_of, priority_of
from .source import Item, too_large

logger = logging.getLogger(__name__)

UNDECODED = re.compile("[\udc80-\udcff]")
OPTIONS = ("body", "key", "type", "priority", "encoding", "delimiter")
OF_COLUMNS = OPTIONS[:4]
MORE = 1_000_000  # bytes of a row besides its body
WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class CsvSource:
    is_whole = False

    def __init__(self, uri: str, said: str, folder: Path, max_bytes: int) -> None:
        self.uri = uri
        name, _, query = said.rpartition("?") if "?" in said else (said, "", "")
        options = options_of(uri, query, OPTIONS)
        self._encoding = _known_encoding(uri, options.get("encoding", "utf-8"))
        delimiter = options.get("delimiter", ",")
        self._delimiter = "\t" if delimiter == "tab" else delimiter[:1]
        self._name = name
        self._max_bytes = max_bytes
        self._path = existing_file(uri, folder / name)
        # The module's own limit holds for everybody in this process: it is only ever raised.
        csv.field_size_limit(max(csv.field_size_limit(), max_bytes + MORE))
        wanted = {use: options[use] for use in OF_COLUMNS if use in options}
        try:
            with self._path.open("rb") as file:
                self._columns, self._begin = self._head(file, wanted)
        except OSError as error:
            raise UsageError(str(gone(self._path, error))) from error

    def _head(self, file: IO[bytes], wanted: Mapping[str, str]) -> tuple[dict[str, int], int]:
        """Which column is which, and where the first row begins."""
        if file.read(2) in WIDE:
            raise UsageError(f"{self.uri}: {self._name} is UTF-16: save it as UTF-8")
        file.seek(0)
        if file.read(3) != codecs.BOM_UTF8:
            file.seek(0)
        rows = _Rows(self, file)
        header = [name.strip() for name in next(iter(rows), [])]
        for column in wanted.values():
            if column not in header:
                hint = did_you_mean(column, header) or self._what_it_has(header)
                raise UsageError(f"{self.uri}: {self._name} has no column {column!r}{plain(hint)}")
        return {use: header.index(column) for use, column in wanted.items()}, rows.offset

    def _what_it_has(self, header: list[str]) -> str:
        if any(UNDECODED.search(name) for name in header):
            return f": it is not written in {self._encoding}; say which, such as encoding=gb18030"
        return f"; it has {', '.join(header[:20])}"

    def items(self, position: str) -> Iterator[tuple[Item, str]]:
        try:
            with self._path.open("rb") as file:
                yield from self._items(file, resume(file, position))
        except OSError as error:
            raise gone(self._path, error) from error

    def _items(self, file: IO[bytes], at: Position) -> Iterator[tuple[Item, str]]:
        begin, number = max(at.offset, self._begin), at.row
        file.seek(begin)
        rows = _Rows(self, file)
        for row in rows:
            number += 1
            if row:
                after = Position(rows.offset, number, at.mark)
                yield self._item(row, number, begin), after.as_text()
            begin = rows.offset

    def _item(self, row: list[str], number: int, offset: int) -> Item:
        cells = {use: row[at] if at < len(row) else "" for use, at in self._columns.items()}
        raw = self._bytes(cells["body"])
        key = cells.get("key", "").encode(errors="replace").decode()
        return Item(
            key or f"{self._name}:{number}",
            "",
            str(offset),
            cells.get("type") or None,
            priority_of(cells.get("priority", "")),
            raw if len(raw) <= self._max_bytes else None,
        )

    def _bytes(self, text: str) -> bytes:
        """What was not of its encoding comes out as it went in."""
        return text.encode("utf-8", "surrogateescape")

    def read(self, place: str) -> bytes:
        try:
            with self._path.open("rb") as file:
                file.seek(int(place))
                row = next(iter(_Rows(self, file)), [])
        except OSError as error:
            raise gone(self._path, error) from error
        at = self._columns["body"]
        raw = self._bytes(row[at]) if at < len(row) else b""
        if not row:
            raise GiveUp(f"{self._name} has no row at byte {int(place):,} any more")
        if len(raw) > self._max_bytes:
            raise too_large(f"the row at byte {int(place):,} of {self._name}", self._max_bytes)
        return raw

    def close(self) -> None:
        pass


class _Rows:
    """Rows of a file from where it is; `offset` is the end of the latest."""

    def __init__(self, of: CsvSource, file: IO[bytes]) -> None:
        self._name = of._name
        self._file = file
        self._encoding = of._encoding
        self._most = of._max_bytes + MORE
        self._delimiter = of._delimiter
        self.offset = self._begin = file.tell()

    def __iter__(self) -> Iterator[list[str]]:
        while True:
            try:
                # One that met a row it cannot read is of no use any more.
                for row in csv.reader(self._lines(), delimiter=self._delimiter):
                    self._begin = self.offset
                    yield row
                return
            except csv.Error as error:
                logger.warning(
                    "%s: bytes %s to %s are left out: %s",
                    *(plain(self._name), f"{self._begin:,}", f"{self.offset:,}", error),
                )
                self._begin = self.offset

    def _lines(self) -> Iterator[str]:
        while line := self._file.readline(self._most):
            self.offset += len(line)
            if self.offset - self._begin > self._most:  # a quote that is never closed
                raise csv.Error(f"a row of more than {self._most:,} bytes")
            yield line.decode(self._encoding, "surrogateescape")


def _known_encoding(uri: str, name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise UsageError(f"{uri}: there is no encoding {name!r}; write utf-8 or gb18030") from None

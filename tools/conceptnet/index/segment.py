"""A part of an index: up to some millions of rows, packed, and what is known of each.

Promise: a segment is never changed when it is finished, and can be read by any number of threads
and processes. What is not asked for stays on the disk.

    text, blocks    the edges as they are shown, two to a block, each block packed by itself
    dictionary      what the packer knew beforehand
    kind, kinds     relation, languages and dataset of a row, by number
    origin, origins its sources, by number
    weight          of a row
    keys, hashes    of its rows, until those of all segments are joined
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from threading import local
from typing import Any, NamedTuple

import numpy as np
import orjson
import zstandard
from numpy.typing import NDArray

from ...uri import assertion
from ..dump.row import Row
from ..dump.shown import Edge, line_of
from .keys import EDGE, END, START, KeysWriter, mapped

# A segment is gathered in memory before it is written: rows cost some bytes each, origins a text.
MOST_ROWS = 3_000_000
MOST_ORIGINS = 250_000
BLOCK = 2  # edges: fewer pack worse, more take longer to unpack
LEVEL = 3
TRAINING_ROWS = 8_000
ARRAYS = ("blocks", "kind", "origin", "weight")

Rows = NDArray[np.int64]


class Kind(NamedTuple):
    rel: str
    start_language: str | None
    end_language: str | None
    dataset: str


Test = Callable[[Kind], bool] | re.Pattern[str]
"""Of a row's kind; or a pattern, of its sources."""


class SegmentWriter:
    """Takes rows until it is full, then `finish` makes the files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self._text = (folder / "text").open("wb")
        self._waiting: list[bytes] = []
        self._pack: Callable[[bytes], bytes] | None = None
        self._blocks, self._keys = array("Q", [0]), KeysWriter()
        self._kind, self._origin, self._weight = array("I"), array("I"), array("d")
        self._kinds: dict[tuple[str, str | None, str | None, str], int] = {}
        self._origins: dict[str, int] = {}

    @property
    def is_full(self) -> bool:
        return len(self._weight) >= MOST_ROWS or len(self._origins) >= MOST_ORIGINS

    def add(self, row: Row) -> None:
        number, (uri, rel, start, end, info) = len(self._weight), row
        kind = (rel, _language(start), _language(end), info.dataset)
        self._kind.append(self._kinds.setdefault(kind, len(self._kinds)))
        self._origin.append(self._origins.setdefault(info.origin, len(self._origins)))
        self._weight.append(info.weight)
        self._keys.add_node(number, start, START)
        self._keys.add_node(number, end, END)
        # Most URIs follow from relation and ends, by which they are found; only odd ones get a key.
        if uri != f"/a/[{rel}/,{start}/,{end}/]" and uri != assertion(rel, start, end):
            self._keys.add(number, uri, EDGE)
        self._waiting.append(line_of(row))
        if len(self._waiting) >= (BLOCK if self._pack else TRAINING_ROWS):
            self._write_blocks()

    def _write_blocks(self) -> None:
        if self._pack is None:
            self._pack = self._trained()
        lines, self._waiting = self._waiting, []
        for at in range(0, len(lines), BLOCK):
            packed = self._pack(b"\n".join(lines[at : at + BLOCK]))
            self._text.write(packed)
            self._blocks.append(self._blocks[-1] + len(packed))

    def _trained(self) -> Callable[[bytes], bytes]:
        """Short texts pack well only if both sides know beforehand what they are like."""
        known = _dictionary(self._waiting)
        (self.folder / "dictionary").write_bytes(known)
        return zstandard.ZstdCompressor(level=LEVEL, dict_data=_zstd_dictionary(known)).compress

    def finish(self) -> None:
        self._write_blocks()
        self._text.close()
        self._keys.write(self.folder)
        contents: tuple[array[Any], ...] = (self._blocks, self._kind, self._origin, self._weight)
        for name, content in zip(ARRAYS, contents, strict=True):
            (self.folder / name).write_bytes(content.tobytes())
        (self.folder / "kinds").write_bytes(orjson.dumps(list(self._kinds)))
        (self.folder / "origins").write_bytes(orjson.dumps(list(self._origins)))

    def close(self) -> None:
        self._text.close()


class _Own(local):
    """An unpacker serves one thread at a time."""

    def __init__(self, known: zstandard.ZstdCompressionDict | None) -> None:
        self.unpack = zstandard.ZstdDecompressor(dict_data=known).decompress


class Segment:
    def __init__(self, folder: Path) -> None:
        self._blocks, self._kind, self._origin, self._weight = (
            mapped(folder / name, code) for name, code in zip(ARRAYS, "QIId", strict=True)
        )
        self._text, self._origins = mapped(folder / "text", "B"), mapped(folder / "origins", "B")
        self._kinds = [Kind(*each) for each in orjson.loads((folder / "kinds").read_bytes())]
        self._dictionary = _zstd_dictionary((folder / "dictionary").read_bytes())
        self._own = _Own(self._dictionary)
        self.weight = self._weight.__getitem__  # of a row
        self._kind_of, self._origin_of = np.asarray(self._kind), np.asarray(self._origin)
        self._masks: dict[Hashable, bytes] = {}
        self.weights = np.asarray(self._weight)

    def __len__(self) -> int:
        return len(self._weight)

    def edge(self, row: int) -> Edge:
        block = row // BLOCK
        packed = self._text[self._blocks[block] : self._blocks[block + 1]]
        return Edge(*self._own.unpack(packed).split(b"\n")[row % BLOCK].split(b"\t"))

    def passing(self, rows: Rows | None, masks: Mapping[Hashable, Test]) -> Rows:
        """Those rows, or of all, whose kinds or origins pass every test."""
        for name, test in masks.items():
            passes = np.frombuffer(self.mask(name, test), np.bool_)
            of = self._origin_of if isinstance(test, re.Pattern) else self._kind_of
            rows = np.flatnonzero(passes[of]) if rows is None else rows[passes[of[rows]]]
        return np.arange(len(self)) if rows is None else rows

    def kind(self, row: int) -> int:
        """Its number, as in a mask."""
        number: int = self._kind[row]
        return number

    def mask(self, name: Hashable, test: Test) -> bytes:
        """Which kinds pass a test, or which origins match; few tests are made again and again."""
        if name not in self._masks:
            if len(self._masks) > 1000:
                self._masks.clear()
            if isinstance(test, re.Pattern):
                origins = orjson.loads(self._origins)
                passes = [test.search(origin) is not None for origin in origins]
            else:
                passes = [test(kind) for kind in self._kinds]
            self._masks[name] = bytes(passes)
        return self._masks[name]


def rows_in(folder: Path) -> int:
    return (folder / "weight").stat().st_size // array("d").itemsize


def _language(uri: str) -> str | None:
    """As `uri.language`, in a third of the time, of what is known to be a node.

    >>> _language("/c/en/dog"), _language("http://dbpedia.org/resource/Dog")
    ('en', None)
    """
    return uri.split("/", 3)[2] if uri[0] == "/" else None


def _dictionary(lines: Sequence[bytes]) -> bytes:
    """Empty if there are too few lines to learn from."""
    samples: list[bytes | bytearray | memoryview] = [
        b"\n".join(lines[at : at + 4]) for at in range(0, len(lines), 8)
    ]
    if len(samples) < 500:
        return b""
    return zstandard.train_dictionary(1 << 16, samples).as_bytes()


def _zstd_dictionary(known: bytes) -> zstandard.ZstdCompressionDict | None:
    return zstandard.ZstdCompressionDict(known) if known else None

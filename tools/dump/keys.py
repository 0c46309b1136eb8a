"""Where the rows are that begin or end at a node: one sorted list of numbers on the disk.

Promise: every row of a node is found, in order, by two searches. A number is a piece of the hash of
a node (or of what a node is a sense of) and, behind it, the row. A hash is cut to fit, so now and
then a row is found that has nothing to do with what was asked: whoever reads it looks.
"""

from __future__ import annotations

import mmap
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from xxhash import xxh3_64_intdigest

START, END, EDGE = 1, 2, 3
ROW_BITS = 24  # in one segment, and in an index that has no more rows
MOST_AT_ONCE = 4_000_000


class Keys:
    def __init__(self, path: Path, row_bits: int) -> None:
        self._numbers = mapped(path, "Q")
        self._step = 1 << row_bits
        self._hash = (1 << 64) - self._step

    def having(self, uri: str, side: int) -> list[int]:
        """Rows that begin (START) or end (END) at a node or below it, or are it (EDGE)."""
        numbers, first = self._numbers, hashed(uri, side) & self._hash
        begin = bisect_left(numbers, first)
        end = bisect_left(numbers, first + self._step, begin)
        return [number - first for number in numbers[begin:end]]


class KeysWriter:
    """Those of one segment."""

    _HASH = (1 << 64) - (1 << ROW_BITS)

    def __init__(self) -> None:
        self._numbers = array("Q")

    def add(self, row: int, uri: str, side: int) -> None:
        self._numbers.append(hashed(uri, side) & self._HASH | row)

    def add_node(self, row: int, uri: str, side: int) -> None:
        append = self._numbers.append
        append(xxh3_64_intdigest(uri.encode(), side) & self._HASH | row)
        while uri.count("/") > 3 and uri[0] == "/":  # a sense: what it is a sense of, too
            uri = uri[: uri.rindex("/")]
            append(xxh3_64_intdigest(uri.encode(), side) & self._HASH | row)

    def write(self, path: Path) -> None:
        np.asarray(self._numbers).sort()  # in its place
        path.write_bytes(self._numbers.tobytes())


def hashed(uri: str, side: int) -> int:
    return xxh3_64_intdigest(uri.encode("utf-8", "replace"), side)


def join(parts: Sequence[Path], bases: Sequence[int], into: Path) -> int:
    """One list of the lists of segments, whose rows begin at the bases; how many bits a row has."""
    row_bits = max(ROW_BITS, bases[-1].bit_length())
    lists = [np.asarray(mapped(part, "Q")) for part in parts]
    pieces = 1 + sum(map(len, lists)) // MOST_AT_ONCE
    cuts = [np.uint64(number * ((1 << 64) // pieces)) for number in range(1, pieces)]
    places = [[0, *np.searchsorted(each, cuts).tolist(), len(each)] for each in lists]
    with into.open("wb") as file:
        for piece in range(pieces):
            numbers = [
                _widened(_read(part, at[piece], at[piece + 1]), base, row_bits)
                for part, at, base in zip(parts, places, bases, strict=False)
            ]
            together = np.concatenate([np.empty(0, np.uint64), *numbers])
            together.sort()
            file.write(together.tobytes())
    return row_bits


def _read(path: Path, begin: int, end: int) -> Any:
    return np.fromfile(path, np.uint64, end - begin, offset=8 * begin)


def _widened(numbers: Any, base: int, row_bits: int) -> Any:
    rows = (numbers & np.uint64((1 << ROW_BITS) - 1)) + np.uint64(base)
    return numbers >> np.uint64(row_bits) << np.uint64(row_bits) | rows


def mapped(path: Path, code: Any) -> Any:
    """The file as numbers, read when they are looked at; an empty one cannot be mapped."""
    with path.open("rb") as file:
        if not path.stat().st_size:
            return memoryview(b"").cast(code)
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)).cast(code)

"""Where the rows are that begin or end at a node: one sorted list of numbers on the disk.

Promise: every row of a node is found, in order, by two searches. A number is a piece of the hash of
a node (or of what a node is a sense of) and, behind it, the row. A hash is cut to fit, so now and
then two nodes share what is left of it: those are known (`is_shared`). Where they are not shared,
all rows found are of one node, which is the one asked for or, rarely, another: whoever reads one
of them knows.
"""

from __future__ import annotations

import mmap
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from xxhash import xxh3_64_intdigest

# Hashed ahead of a name. As seeds they would not do: of a name of eight bytes xxh3 gives the same
# for another seed and another name.
START, END, EDGE = b"s", b"e", b"a"

# The hash gets what the row leaves of 64 bits. Nodes that 40 bits do not keep apart are few enough
# to be listed.
ROW_BITS = 24  # in one segment, and in an index that has no more rows
MOST_AT_ONCE = 4_000_000  # numbers: joining takes as much memory however long the lists are
KEYS, HASHES, SHARED, PLACES = "keys", "hashes", "shared", "places"
NEAR_BITS = 5  # numbers among which one is looked for, about


class Keys:
    def __init__(self, folder: Path, row_bits: int) -> None:
        self._numbers = mapped(folder / KEYS, "Q")
        self._shared = frozenset(mapped(folder / SHARED, "Q"))
        self._step = 1 << row_bits
        self._hash = (1 << 64) - self._step
        self._places = mapped(folder / PLACES, "Q")
        self._cut = 65 - len(self._places).bit_length()

    def having(self, uri: str, side: bytes) -> list[int]:
        """Rows that begin (START) or end (END) at a node or below it, or are it (EDGE)."""
        # All rows of a node are the numbers from its hash with row 0 up to the next hash.
        numbers, first = self._numbers, hashed(uri, side) & self._hash
        place = first >> self._cut
        limit = self._places[place + 1]
        begin = bisect_left(numbers, first, self._places[place], limit)
        end = bisect_left(numbers, first + self._step, begin, limit)
        return [number - first for number in numbers[begin:end]]

    def known(self, uris: Sequence[str], side: bytes) -> list[str]:
        """Those of many that have rows; quick, because all are looked for together."""
        hashes = np.array([hashed(uri, side) & self._hash for uri in uris], np.uint64)
        order = np.argsort(hashes)  # so that a file is read from its beginning to its end
        hashes = hashes[order]
        numbers = np.asarray(self._numbers)
        begins = np.searchsorted(numbers, hashes)
        ends = np.searchsorted(numbers, hashes + np.uint64(self._step - 1), "right")
        return [uris[at] for at in order[ends > begins]]

    def is_shared(self, uri: str, side: bytes) -> bool:
        """Are there rows of several nodes among those?"""
        return hashed(uri, side) & self._hash in self._shared


class KeysWriter:
    """Those of one segment."""

    def __init__(self) -> None:
        self._hashes, self._rows = array("Q"), array("I")

    def add(self, row: int, uri: str, side: bytes) -> None:
        self._hashes.append(hashed(uri, side))
        self._rows.append(row)

    def add_node(self, row: int, uri: str, side: bytes) -> None:
        name = side + uri.encode()
        self._hashes.append(xxh3_64_intdigest(name))
        self._rows.append(row)
        while name.count(b"/") > 3 and uri[0] == "/":  # a sense: what it is a sense of, too
            name = name[: name.rindex(b"/")]
            self._hashes.append(xxh3_64_intdigest(name))
            self._rows.append(row)

    def write(self, folder: Path) -> None:
        # The whole hashes go along: only by them is it seen which nodes share a cut one.
        hashes, rows = np.asarray(self._hashes, np.uint64), np.asarray(self._rows, np.uint64)
        numbers = _cut(hashes, ROW_BITS) | rows
        numbers.sort()
        (folder / KEYS).write_bytes(numbers.tobytes())
        (folder / HASHES).write_bytes(_different(hashes).tobytes())


def hashed(uri: str, side: bytes) -> int:
    return xxh3_64_intdigest(side + uri.encode("utf-8", "replace"))


def join(segments: Sequence[Path], bases: Sequence[int], into: Path) -> int:
    """One list of the lists of segments, whose rows begin at the bases; how many bits a row has."""
    row_bits = max(ROW_BITS, bases[-1].bit_length())
    with (into / KEYS).open("wb") as file:
        for lists in _pieces([each / KEYS for each in segments], row_bits):
            numbers = [
                _widened(numbers, base, row_bits)
                for numbers, base in zip(lists, bases, strict=False)
            ]
            together = np.concatenate([np.empty(0, np.uint64), *numbers])
            together.sort()
            file.write(together.tobytes())
    with (into / SHARED).open("wb") as file:
        for lists in _pieces([each / HASHES for each in segments], row_bits):
            # Different hashes that are alike when they are cut are those of different nodes.
            cut = _cut(_different(np.concatenate([np.empty(0, np.uint64), *lists])), row_bits)
            file.write(_different(cut[1:][cut[1:] == cut[:-1]]).tobytes())
    _write_places(into)
    return row_bits


def _write_places(into: Path) -> None:
    """Where the numbers of each beginning begin, and where all end: few are left to search among.

    No hash is cut so short that rows of one node would begin differently.
    """
    numbers = np.asarray(mapped(into / KEYS, "Q"))
    bits = max(1, len(numbers).bit_length() - NEAR_BITS)
    beginnings = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
    places = np.append(np.searchsorted(numbers, beginnings), len(numbers))
    (into / PLACES).write_bytes(places.astype(np.uint64).tobytes())


def _pieces(parts: Sequence[Path], row_bits: int) -> Iterator[list[Any]]:
    """Sorted lists, a piece of each at once; what begins alike is in the same piece."""
    lists = [np.asarray(mapped(part, "Q")) for part in parts]
    pieces = 1 + sum(map(len, lists)) // MOST_AT_ONCE
    cuts = [np.uint64(number * ((1 << 64) // pieces)) for number in range(1, pieces)]
    # Cut as the hashes are, or the rows of one node would fall into two pieces.
    cuts = [_cut(each, row_bits) for each in cuts]
    places = [[0, *np.searchsorted(each, cuts).tolist(), len(each)] for each in lists]
    for piece in range(pieces):
        yield [
            _read(part, at[piece], at[piece + 1]) for part, at in zip(parts, places, strict=True)
        ]


def _cut(hashes: Any, row_bits: int) -> Any:
    """What is left of a hash if a row is to stand behind it."""
    return hashes >> np.uint64(row_bits) << np.uint64(row_bits)


def _different(hashes: Any) -> Any:
    """Each once, in order; numpy's own `unique` takes ten times as long."""
    hashes = np.sort(hashes)
    return hashes[np.concatenate([hashes[:1] == hashes[:1], hashes[1:] != hashes[:-1]])]


def _read(path: Path, begin: int, end: int) -> Any:
    return np.fromfile(path, np.uint64, end - begin, offset=8 * begin)


def _widened(numbers: Any, base: int, row_bits: int) -> Any:
    rows = (numbers & np.uint64((1 << ROW_BITS) - 1)) + np.uint64(base)
    return _cut(numbers, row_bits) | rows


def mapped(path: Path, code: Any) -> Any:
    """The file as numbers, read when they are looked at; an empty one cannot be mapped."""
    with path.open("rb") as file:
        if not path.stat().st_size:
            return memoryview(b"").cast(code)
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)).cast(code)

"""The rows of a chunk that a filter keeps, most others left out before anything is parsed.

Promise: no row that the filter keeps is missing, and every line without five columns is noted. A
line whose relation or languages nobody wants is looked at no further: whatever else is wrong with
it is not noted. What is noted depends on the lines alone, not on how they fall into chunks.

The columns of all lines of a chunk are found by one look for tabs and line ends; relation and
languages are then compared eight bytes at a time for all lines together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ...base.text import amount
from ..rules import Filter, relation_name
from .faults import Faults
from .lines import Chunk
from .row import Row, row_of

WORD = 8  # bytes compared at once
TAB, LINE_END = 9, 10

Places = NDArray[np.int64]
Words = NDArray[np.uint64]


Line = tuple[int, bytes]
"""Its number, from 1, and its text."""


class Sieve:
    """Without a filter, every line."""

    def __init__(self, wanted: Filter | None, faults: Faults) -> None:
        self._faults = faults
        self._wanted = wanted
        self.last = ""
        if wanted is not None:
            self._relations = _endings(f"/r/{name}".encode() for name in wanted.relations)
            self._beginnings = [beginning(each.encode()) for each in wanted.beginnings]

    def __call__(self, chunk: Chunk) -> Iterator[Row]:
        wanted = self._wanted
        for number, line in self._lines(chunk):
            try:
                row = row_of(line)
                if row.uri == self.last:  # the dump is sorted: the same ones are neighbours
                    raise ValueError(f"{row.uri[:200]} was there before")
            except ValueError as error:
                if self._is_wanted(line):
                    self._faults.note(number, str(error))
                continue
            if wanted is None or wanted.keeps(
                relation_name(row.rel), row.start, row.end, row.info.weight
            ):
                self.last = row.uri
                yield row

    def _is_wanted(self, line: bytes) -> bool:
        """By its relation and languages: comparing many at once lets a few others through."""
        if self._wanted is None:
            return True
        _, rel, *ends, _ = (each.decode(errors="replace") for each in line.split(b"\t"))
        return (
            rel.startswith("/r/")
            and relation_name(rel) in self._wanted.relations
            and all(end.startswith(self._wanted.beginnings) for end in ends)
        )

    def _lines(self, chunk: Chunk) -> Iterator[Line]:
        text = chunk.text if chunk.text.endswith(b"\n") else chunk.text + b"\n"
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n")
        # Eight bytes are read from any place on, so there must be eight behind the last one.
        held = np.frombuffer(text + bytes(WORD), np.uint8)
        ends = np.flatnonzero(held == LINE_END)
        tabs = np.flatnonzero(held == TAB)
        # The right number of tabs does not say that each line has its four: that is looked at next.
        if len(tabs) != 4 * len(ends):
            return self._one_by_one(chunk, text)
        columns = tabs.reshape(-1, 4)
        begins = np.concatenate(([0], ends[:-1] + 1))
        if not np.all((columns[:, 0] > begins) & (columns[:, 3] < ends)):
            return self._one_by_one(chunk, text)
        return _lines(chunk, text, begins, ends, self._possible(held, columns))

    def _one_by_one(self, chunk: Chunk, text: bytes) -> Iterator[Line]:
        """Some line has too few or too many columns."""
        for number, line in enumerate(text[:-1].split(b"\n"), chunk.begin.lines + 1):
            if (columns := line.count(b"\t") + 1) == 5:
                yield number, line  # whoever parses it asks the filter anyway
            else:
                self._faults.note(number, f"{amount(columns, 'column')} instead of 5")

    def _possible(self, held: NDArray[np.uint8], columns: Places) -> Places:
        if self._wanted is None:
            return np.arange(len(columns))
        # Eight bytes from each place on, as one number: a view, nothing is copied.
        words: Words = np.ndarray((len(held) - WORD + 1,), "<u8", held.data, strides=(1,))
        found = np.flatnonzero(self._has_relation(words, columns))
        for column in (1, 2):
            firsts = words[columns[found, column] + 1]
            found = found[has_beginning(firsts, self._beginnings)]
        return found

    def _has_relation(self, words: Words, columns: Places) -> NDArray[np.bool_]:
        lengths = columns[:, 1] - columns[:, 0] - 1
        return np.isin(_ending(words[columns[:, 1] - WORD], lengths), self._relations)


def _lines(
    chunk: Chunk, text: bytes, begins: Places, ends: Places, wanted: Places
) -> Iterator[Line]:
    places = zip(wanted.tolist(), begins[wanted].tolist(), ends[wanted].tolist(), strict=True)
    first = chunk.begin.lines + 1
    for index, begin, end in places:
        yield first + index, text[begin:end]


def _ending(last_words: Words, lengths: Places) -> Words:
    """The last bytes of a text and its length as one number; two texts rarely share one."""
    kept = np.clip(lengths, 0, WORD).astype(np.uint64)
    shifted = last_words >> ((np.uint64(WORD) - kept) % np.uint64(WORD) * np.uint64(8))
    mixed: Words = shifted ^ (lengths.astype(np.uint64) << np.uint64(56))
    return mixed


def _endings(texts: Iterable[bytes]) -> Words:
    whole = list(texts)
    last = np.array([int.from_bytes(text.rjust(WORD)[-WORD:], "little") for text in whole], "<u8")
    return _ending(last, np.array([len(text) for text in whole]))


def beginning(text: bytes) -> tuple[np.uint64, np.uint64]:
    """A mask and what is to be seen through it."""
    first = text[:WORD]
    mask = int.from_bytes(b"\xff" * len(first), "little")
    return np.uint64(mask), np.uint64(int.from_bytes(first, "little"))


def has_beginning(
    words: Words, beginnings: Iterable[tuple[np.uint64, np.uint64]]
) -> NDArray[np.bool_]:
    found = np.zeros(len(words), np.bool_)
    for mask, text in beginnings:
        found |= (words & mask) == text
    return found

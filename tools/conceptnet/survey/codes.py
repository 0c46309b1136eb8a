"""The lines of a chunk as numbers: relation, language of each end, dataset and weight.

Promise: a line is well-formed here exactly if it is for a Sieve without a filter, and what cannot
be read is noted as it does. Memory stays flat whatever the file holds: of the names of each sort
a thousand are told apart, and those of the filter always.

A chunk whose lines are all in order is looked at as a whole; one with anything strange in it is
left to the Sieve, line by line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from codecs import utf_8_decode
from collections.abc import Callable, Iterable, Iterator
from math import inf, nextafter
from operator import eq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...uri import is_concept, language
from ..dump.faults import Faults
from ..dump.lines import LINE_END, Chunk
from ..dump.row import Info, information
from ..dump.sieve import TAB, WORD, Places, Sieve, Words, beginning, has_beginning
from ..rules import Filter, relation_name

MOST_NAMES = 1000
MOST_INFORMATION = 4096  # texts that are remembered; what comes later is parsed each time
PIECE = 1 << 16  # bytes looked at together: what the processor's cache holds goes twice as fast
OTHERS = 0  # the code of every name beyond the first thousand
NO_LANGUAGE = ""

WEIGHTS = ("below 0.5", "0.5 to 1", "exactly 1", "1 to 2", "2 to 4", "4 and more")
# The next number after 1 makes "exactly 1" a class of its own, as most weights are.
_EDGES = (0.5, 1.0, nextafter(1.0, inf), 2.0, 4.0)
SHARES = 2 * len(WEIGHTS)
"""How many codes a dataset has: for each class of weight, too light and heavy enough."""

_URI, _RELATION, _START, _END, _INFORMATION = range(5)
_NODES = [beginning(text) for text in (b"/c/", b"http://", b"https://")]
_BEGINNINGS = ([beginning(b"/a/[")], [beginning(b"/r/")], _NODES, _NODES)
# Plain texts amid the information, and what follows them up to its end. Because that closes one
# bracket, they stand in the outermost object if it is well-formed without them.
_SENTENCE = re.compile(
    rb'(?:, "surface(?:End|Start|Text)": "[^"\\\x00-\x1f]*")+(, "weight": [0-9.]+})'
)
_SLASH = 47


class Codes(NamedTuple):
    """A number for each well-formed line, of each sort.

    `concepts` are the ends of those lines, at `places`, of which both are well-formed concepts in
    a language of the filter.
    """

    relations: Places
    starts: Places
    ends: Places
    shares: Places
    places: list[int]
    concepts: list[tuple[str, str]]


class Names(dict[str, int]):
    """A number for each name, from 1, in the order in which they came."""

    def __init__(self, first: Iterable[str] = ()) -> None:
        super().__init__({name: code for code, name in enumerate(first, 1)})
        self.limit = len(self) + MOST_NAMES

    def __missing__(self, name: str) -> int:
        if len(self) >= self.limit:
            return OTHERS
        self[name] = code = len(self) + 1
        return code


class _Shares(dict[bytes, int]):
    """The code of an information. ValueError says what is wrong with it.

    Thousands of lines have the same, but for a sentence; so most need not be parsed.
    """

    def __init__(self, share: Callable[[Info], int]) -> None:
        super().__init__()
        self._share = share

    def __missing__(self, text: bytes) -> int:
        at = text.find(b', "surface')
        if at > 0 and (sentence := _SENTENCE.fullmatch(text, at)):
            return self[text[:at] + sentence[1]]
        code = self._share(information(text.decode()))
        if at < 0 and len(self) < MOST_INFORMATION:
            self[text] = code
        return code


class _Layout(NamedTuple):
    """Where the five columns of each line begin and end, and eight bytes from each place on."""

    begins: Places
    ends: Places
    words: Words

    def texts(self, text: bytes, column: int) -> list[bytes]:
        places = zip(self.begins[:, column].tolist(), self.ends[:, column].tolist(), strict=True)
        return [text[begin:end] for begin, end in places]


class Coder:
    """`relations`, `languages` and `datasets` are the names behind the codes; those that the
    filter wants come first."""

    def __init__(self, wanted: Filter, faults: Faults) -> None:
        self.relations = Names(sorted(wanted.relations))
        self.languages = Names([*sorted(wanted.languages), NO_LANGUAGE])
        self.datasets = Names()
        self.wanted = wanted
        self._sieve = Sieve(None, faults)
        self._shares = _Shares(self.share)

    def __call__(self, chunk: Chunk) -> Codes:
        return self._together(chunk) or self._one_by_one(chunk)

    def _one_by_one(self, chunk: Chunk) -> Codes:
        rows = list(self._sieve(chunk))
        starts = _numbers([self._language(row.start) for row in rows])
        ends = _numbers([self._language(row.end) for row in rows])
        pairs = [(at, rows[at].start, rows[at].end) for at in self._pairs(starts, ends).tolist()]
        return Codes(
            _numbers([self.relations[relation_name(row.rel)] for row in rows]),
            starts,
            ends,
            _numbers([self.share(row.info) for row in rows]),
            *_concepts(pairs),
        )

    def _together(self, chunk: Chunk) -> Codes | None:
        """None if there is anything strange in one of the lines."""
        text, layout = chunk.text, _layout(chunk)
        if layout is None or self._repeats(text, layout):
            return None
        try:
            _check_utf8(text)
            information = layout.texts(text, _INFORMATION)
            shares = _numbers(list(map(self._shares.__getitem__, information)))
        except ValueError:
            return None
        self._sieve.last = text[layout.begins[-1, _URI] : layout.ends[-1, _URI]].decode()
        starts, ends = (self._languages(text, layout, column) for column in (_START, _END))
        pairs = _texts_of_pairs(text, layout, self._pairs(starts, ends))
        return Codes(self._relations(text, layout), starts, ends, shares, *_concepts(pairs))

    def _repeats(self, text: bytes, layout: _Layout) -> bool:
        """Is one of the URIs the one before it?"""
        begins, ends = layout.begins[:, _URI], layout.ends[:, _URI]
        lengths = ends - begins
        if lengths.min() < WORD or text.startswith(f"{self._sieve.last}\t".encode()):
            return True
        # Length, end and middle leave next to nothing over to be compared as texts.
        alike = lengths[1:] == lengths[:-1]
        for words in (layout.words[ends - WORD], layout.words[begins + lengths // 2]):
            alike &= words[1:] == words[:-1]
        uris = [text[begins[at] : ends[at]] for at in np.flatnonzero(alike)]
        others = [text[begins[at] : ends[at]] for at in np.flatnonzero(alike) + 1]
        return any(map(eq, uris, others))

    def _relations(self, text: bytes, layout: _Layout) -> Places:
        """The dump is sorted by relation: mostly a chunk has only one."""
        if _is_one(layout, _RELATION):
            first = text[layout.begins[0, _RELATION] : layout.ends[0, _RELATION]].decode()
            return np.full(len(layout.ends), self.relations[relation_name(first)])
        found = layout.texts(text, _RELATION)
        codes = {
            each: self.relations[relation_name(each.decode())] for each in dict.fromkeys(found)
        }
        return _numbers([codes[each] for each in found])

    def _languages(self, text: bytes, layout: _Layout, column: int) -> Places:
        """Languages of two and three letters for all lines together, others one by one."""
        # `/c/en/` ends at byte 5, `/c/grc/` at byte 6: both are within the first eight.
        firsts = layout.words[layout.begins[:, column]]
        known = np.where(_byte(firsts, 5) == _SLASH, _cut(firsts, 6), np.uint64(0))
        known = np.where((known == 0) & (_byte(firsts, 6) == _SLASH), _cut(firsts, 7), known)
        beginnings, places = np.unique(known, return_inverse=True)
        codes = _numbers([self._language(_text(each)) for each in beginnings.tolist()])[places]
        for at in np.flatnonzero(known == 0).tolist():
            begin, end = layout.begins[at, column], layout.ends[at, column]
            codes[at] = self._language(text[begin:end].decode())
        return codes

    def _language(self, uri: str) -> int:
        return self.languages[language(uri) or NO_LANGUAGE]

    def _pairs(self, starts: Places, ends: Places) -> Places:
        """The lines with both ends in a language that the filter wants."""
        number = len(self.wanted.languages)
        return np.flatnonzero(is_first(starts, number) & is_first(ends, number))

    def share(self, info: Info) -> int:
        """The code of a dataset, a class of weight, and whether that is enough."""
        weight = info.weight
        is_enough = weight >= self.wanted.min_weight
        return self.datasets[info.dataset] * SHARES + 2 * bisect_right(_EDGES, weight) + is_enough


def is_first(codes: Places, number: int) -> NDArray[np.bool_]:
    """Of the names that the filter wants, which come first."""
    return (codes > OTHERS) & (codes <= number)


def _numbers(codes: list[int]) -> Places:
    return np.array(codes, np.int64)


def _layout(chunk: Chunk) -> _Layout | None:
    """None unless every line has five columns that begin as they should."""
    text, lines = chunk.text, chunk.end.lines - chunk.begin.lines
    held = np.frombuffer(text, np.uint8)
    marks = np.concatenate(
        [_marks(held[at : at + PIECE]) + at for at in range(0, len(text), PIECE)]
    )
    if len(marks) != 5 * lines or b"\r" in text:
        return None
    ends = marks.reshape(-1, 5)
    begins = np.concatenate(([0], marks[:-1] + 1)).reshape(-1, 5)
    if np.any(held[ends[:, -1]] != LINE_END) or begins[-1, _END] + WORD > len(text):
        return None
    words: Words = np.ndarray((len(text) - WORD + 1,), "<u8", text, strides=(1,))
    for column, beginnings in enumerate(_BEGINNINGS):
        if not has_beginning(words[begins[:, column]], beginnings).all():
            return None
    return _Layout(begins, ends, words)


def _marks(held: NDArray[np.uint8]) -> Places:
    """Tabs and line ends."""
    # One comparison for both: less than a tab wraps around and becomes large.
    return np.flatnonzero(held - np.uint8(TAB) <= LINE_END - TAB)


def _check_utf8(text: bytes) -> None:
    # In pieces, so that no second copy of the chunk is made; one may end amid a character.
    view, at = memoryview(text), 0
    while at < len(text):
        at += utf_8_decode(view[at : at + PIECE], "strict", at + PIECE >= len(text))[1]


def _is_one(layout: _Layout, column: int) -> bool:
    """Is the text of a column the same in all lines?"""
    begins, lengths = layout.begins[:, column], layout.ends[:, column] - layout.begins[:, column]
    length = int(lengths[0])
    if np.any(lengths != length):
        return False
    pieces = (
        _cut(layout.words[begins + at], min(WORD, length - at)) for at in range(0, length, WORD)
    )
    return all(np.all(piece == piece[0]) for piece in pieces)


def _byte(words: Words, at: int) -> Words:
    return words >> np.uint64(8 * at) & np.uint64(255)


def _cut(words: Words, length: int) -> Words:
    return words & np.uint64((1 << 8 * length) - 1)


def _text(word: int) -> str:
    """The beginning of a URI, which may be shorter than that."""
    return word.to_bytes(WORD, "little").rstrip(b"\0").partition(b"\t")[0].decode()


def _texts_of_pairs(text: bytes, layout: _Layout, at: Places) -> Iterator[tuple[int, str, str]]:
    begins, ends = layout.begins[at, _START].tolist(), layout.ends[at, _END].tolist()
    for place, begin, end in zip(at.tolist(), begins, ends, strict=True):
        start, _, finish = text[begin:end].decode().partition("\t")
        yield place, start, finish


def _concepts(
    pairs: Iterable[tuple[int, str, str]],
) -> tuple[list[int], list[tuple[str, str]]]:
    found = [each for each in pairs if is_concept(each[1]) and is_concept(each[2])]
    return [place for place, _, _ in found], [(start, end) for _, start, end in found]

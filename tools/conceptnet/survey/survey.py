"""What a filter keeps of an assertions file, counted before anything is built.

Promise: one pass, flat memory, and every well-formed line once in each table; what is kept is what
a harvest of the whole file would keep. Only the number of concepts may be an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain, compress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..dump.faults import Faults
from ..dump.lines import BEGINNING, Lines
from ..dump.sieve import Places
from ..rules import Filter
from .codes import NO_LANGUAGE, OTHERS, SHARES, WEIGHTS, Coder, Codes, is_first
from .distinct import Distinct

PARTS = ("language", "relation", "weight")
"""Of the filter. A verdict on a line is a bit for each, set if it passes there."""

KEPT = (1 << len(PARTS)) - 1
VERDICTS = KEPT + 1

Show = Callable[[int, int], object]
"""Called with how many bytes of the file are read, and how many there are."""


class Share(NamedTuple):
    """How many lines there are of a sort, and how many of them the filter keeps."""

    lines: int
    kept: int


class Lost(NamedTuple):
    """How many lines a part of the filter rejects, and how many of them no other part does."""

    lines: int
    alone: int


Table = list[tuple[str, Share]]
"""By name, the most frequent first."""


class Findings(NamedTuple):
    path: Path
    lines: int  # malformed ones included
    malformed: int
    complaint: str | None
    kept: int
    concepts: int
    is_exact: bool  # are the concepts counted, or estimated?
    lost: Mapping[str, Lost]
    relations: Table
    languages: Table  # with both ends in it
    mixed: Share  # in two languages
    addresses: Share  # with an end that has no language
    datasets: Table
    weights: Table  # the lightest first


def survey(path: Path, wanted: Filter, most_malformed: int, show: Show) -> Findings:
    lines, faults = Lines(path), Faults(path, most_malformed)
    coder = Coder(wanted, faults)
    counts, at = _Counts(coder), BEGINNING
    for chunk in lines.chunks():
        counts.add(coder(chunk))
        at = chunk.end
        show(lines.packed, lines.size)
    faults.require_some(at.lines)
    return counts.findings(path, at.lines, faults)


class _Tally:
    """Lines by code: all of them, and those that are kept."""

    def __init__(self, size: int) -> None:
        self.counts = np.zeros((len(Share._fields), size), np.int64)

    def add(self, codes: Places, kept: Places) -> None:
        for counts, each in zip(self.counts, (codes, codes[kept]), strict=True):
            counts += np.bincount(each, minlength=len(counts))

    def table(self, names: Mapping[str, int]) -> Table:
        found = [(name, self.share(code)) for name, code in names.items()]
        found.append(("others", self.share(OTHERS)))
        found.sort(key=lambda row: (-row[1].lines, -row[1].kept, row[0]))
        return [(name, share) for name, share in found if share.lines]

    def share(self, code: int) -> Share:
        return Share(*self.counts[:, code].tolist())


class _Counts:
    def __init__(self, coder: Coder) -> None:
        self._coder = coder
        self._mixed = coder.languages.limit + 1  # a code that no language has
        self._relations = _Tally(coder.relations.limit + 1)
        self._languages = _Tally(self._mixed + 1)
        self._shares = _Tally((coder.datasets.limit + 1) * SHARES)
        self._verdicts = np.zeros(VERDICTS, np.int64)
        self._concepts = Distinct()

    def add(self, codes: Codes) -> None:
        verdicts = self._judge(codes)
        self._verdicts += np.bincount(verdicts, minlength=VERDICTS)
        is_kept = verdicts == KEPT
        kept = np.flatnonzero(is_kept)
        self._relations.add(codes.relations, kept)
        self._languages.add(self._language(codes), kept)
        self._shares.add(codes.shares, kept)
        ends = compress(codes.concepts, is_kept[codes.places].tolist())
        self._concepts.add(chain.from_iterable(ends))

    def _judge(self, codes: Codes) -> Places:
        verdicts = codes.shares % 2 << 2
        verdicts += is_first(codes.relations, len(self._coder.wanted.relations)) * 2
        verdicts[codes.places] += 1
        return verdicts

    def _language(self, codes: Codes) -> Places:
        """Of a line: that of both its ends, or the sign that they have none in common."""
        starts, ends = codes.starts, codes.ends
        none = self._coder.languages[NO_LANGUAGE]
        common = np.where(starts == ends, starts, self._mixed)
        return np.where((starts == none) | (ends == none), none, common)

    def findings(self, path: Path, lines: int, faults: Faults) -> Findings:
        languages = dict(self._coder.languages)
        without = languages.pop(NO_LANGUAGE)
        return Findings(
            path,
            lines,
            faults.number,
            faults.summary(),
            int(self._verdicts[KEPT]),
            self._concepts.number,
            self._concepts.is_exact,
            {part: self._lost(1 << at) for at, part in enumerate(PARTS)},
            self._relations.table(self._coder.relations),
            self._languages.table(languages),
            self._languages.share(self._mixed),
            self._languages.share(without),
            self._by_dataset().table(self._coder.datasets),
            self._weights(),
        )

    def _lost(self, part: int) -> Lost:
        rejecting = [verdict for verdict in range(VERDICTS) if not verdict & part]
        return Lost(int(self._verdicts[rejecting].sum()), int(self._verdicts[KEPT - part]))

    def _by_dataset(self) -> _Tally:
        tally = _Tally(0)
        tally.counts = self._shares.counts.reshape(2, -1, SHARES).sum(axis=2)
        return tally

    def _weights(self) -> Table:
        counts = self._shares.counts.reshape(2, -1, len(WEIGHTS), 2).sum(axis=(1, 3))
        return [(name, Share(*counts[:, at].tolist())) for at, name in enumerate(WEIGHTS)]

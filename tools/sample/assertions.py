"""Assertions in the format of ConceptNet's dump, indexed in memory and rendered like its web API.

Promise: every assertion is found under each prefix of its start, end, relation, dataset and
sources, and the order is total (weight downwards, then URI), so pages neither lose nor repeat one.
Limits: everything is in memory, about 1 kB an assertion, so this is for slices and samples, not
for the whole dump. Weights are those of the file, which the dump rounds to three decimals.
"""

from __future__ import annotations

import gzip
import math
import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TextIO
from urllib.parse import urlsplit

import orjson

from tools.uri import is_external, label, language, prefixes, sense, term

CRITERIA = frozenset({"start", "end", "rel", "dataset", "source", "node", "other"})

_SLOTS = ("start", "end", "rel", "dataset", "source")
_NODE_BEGINNINGS = ("/c/", "http://", "https://")
_DEAD_SITES = frozenset({"sw.opencyc.org", "umbel.org", "wikidata.dbpedia.org"})


class Row(NamedTuple):
    """One line of the dump; the information stays JSON until somebody asks for the edge."""

    uri: str
    rel: str
    start: str
    end: str
    info: bytes


class Assertions:
    """All assertions of one file, found by any prefix, heaviest first."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._rows = _in_order(lines)
        self._number = {row.uri: number for number, row in enumerate(self._rows)}
        self._index = _indexed(self._rows)

    @classmethod
    def open(cls, path: str | Path) -> Assertions:
        """Read a file of the dump's format, plain or .gz; ValueError names the first bad line."""
        with _lines_of(Path(path)) as lines:
            try:
                return cls(lines)
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from error

    def __len__(self) -> int:
        return len(self._rows)

    def edge(self, uri: str) -> Row | None:
        """The assertion of exactly this /a/ URI."""
        number = self._number.get(uri)
        return None if number is None else self._rows[number]

    def find(
        self, criteria: Mapping[str, str], offset: int = 0, limit: int = 50
    ) -> tuple[list[Row], bool]:
        """One page of what meets every criterion, and whether more follows it.

        `node` and `other` stand for the two ends, either way round; `other` alone is the end.
        """
        if unknown := criteria.keys() - CRITERIA:
            raise ValueError(f"unknown criteria {sorted(unknown)}, known are {sorted(CRITERIA)}")
        numbers = self._matching(criteria)
        page = [self._rows[number] for number in numbers[offset : offset + limit]]
        return page, len(numbers) > offset + limit

    def _matching(self, criteria: Mapping[str, str]) -> Sequence[int]:
        forward = self._in_all(_by_slot(criteria, node="start", other="end"))
        if "node" not in criteria:
            return forward
        backward = self._in_all(_by_slot(criteria, node="end", other="start"))
        return list(dict.fromkeys(sorted([*forward, *backward])))

    def _in_all(self, wanted: Mapping[str, str]) -> Sequence[int]:
        lists = [self._index[slot].get(prefix, []) for slot, prefix in wanted.items()]
        if not lists:
            return range(len(self._rows))
        smallest, *others = sorted(lists, key=len)
        if not others:
            return smallest
        return [number for number in smallest if all(_holds(other, number) for other in others)]


def render(row: Row) -> dict[str, Any]:
    """The edge as the web API shows it."""
    info = orjson.loads(row.info)
    return {
        "@id": row.uri,
        "@type": "Edge",
        "dataset": info["dataset"],
        "end": node(row.end, info.get("surfaceEnd")),
        "license": info["license"],
        "rel": {"@id": row.rel, "@type": "Relation", "label": label(row.rel)},
        "sources": [_source(source) for source in info["sources"]],
        "start": node(row.start, info.get("surfaceStart")),
        "surfaceText": info.get("surfaceText"),
        "weight": info["weight"],
    }


def node(uri: str, surface: str | None = None) -> dict[str, Any]:
    """One end of an edge as the web API shows it."""
    shown: dict[str, Any] = {
        "@id": uri,
        "@type": "Node",
        "label": label(uri) if surface is None else surface,
        "term": term(uri),
    }
    if is_external(uri):
        address = urlsplit(uri)
        shown["path"] = address.path
        shown["site"] = address.netloc
        shown["site_available"] = address.netloc not in _DEAD_SITES
    else:
        shown["language"] = language(uri)
        if (meaning := sense(uri)) is not None:
            shown["sense_label"] = _sense_label(meaning)
    return shown


def _sense_label(meaning: str) -> str:
    """
    >>> _sense_label("n/wn/act"), _sense_label("n/wikt/en_1"), _sense_label("v")
    ('n, act', 'n', 'v')
    """
    part_of_speech, *rest = meaning.split("/")
    return f"{part_of_speech}, {rest[-1]}" if rest[:1] in (["wn"], ["wp"]) else part_of_speech


def _source(source: Mapping[str, str]) -> dict[str, str]:
    parts = sorted(source.values())
    joint = "/and/[" + ",".join(f"{part}/" for part in parts) + "]"
    return {**source, "@id": parts[0] if len(parts) == 1 else joint, "@type": "Source"}


def _by_slot(criteria: Mapping[str, str], node: str, other: str) -> dict[str, str]:
    wanted = {slot: criteria[slot] for slot in _SLOTS if slot in criteria}
    for role, slot in (("node", node), ("other", other)):
        if role in criteria:
            wanted[slot] = criteria[role]
    return wanted


def _holds(numbers: Sequence[int], number: int) -> bool:
    place = bisect_left(numbers, number)
    return place < len(numbers) and numbers[place] == number


@contextmanager
def _lines_of(path: Path) -> Iterator[TextIO]:
    # Only a newline ends a line: terms may hold characters that splitlines() takes for one.
    # Bytes that are no UTF-8 come through as surrogates, so that the line can be named.
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        yield file


def _in_order(lines: Iterable[str]) -> list[Row]:
    weighed: list[tuple[float, str, Row]] = []
    seen: set[str] = set()
    for line_number, line in enumerate(lines, start=1):
        try:
            weight, row = _parsed(line)
            if row.uri in seen:
                raise ValueError(f"{row.uri} was there before")
        except ValueError as error:
            raise ValueError(f"line {line_number}: {error}") from error
        seen.add(row.uri)
        weighed.append((-weight, row.uri, row))
    weighed.sort()
    return [row for _, _, row in weighed]


def _parsed(line: str) -> tuple[float, Row]:
    columns = line.rstrip("\r\n").split("\t", 4)
    if len(columns) != 5:
        raise ValueError(f"{len(columns)} columns instead of 5")
    uri, rel, start, end, text = columns
    for name, value, beginnings in (
        ("URI", uri, ("/a/[",)),
        ("relation", rel, ("/r/",)),
        ("start", start, _NODE_BEGINNINGS),
        ("end", end, _NODE_BEGINNINGS),
    ):
        if not value.startswith(beginnings):
            raise ValueError(f"{name} {value!r} does not begin with {' or '.join(beginnings)}")
    info = _information(line, text)
    return info["weight"], Row(uri, sys.intern(rel), start, end, text.encode())


def _information(line: str, text: str) -> dict[str, Any]:
    try:
        line.encode()
        info = orjson.loads(text)
    except UnicodeEncodeError:
        raise ValueError("not UTF-8") from None
    except orjson.JSONDecodeError as error:
        raise ValueError(f"the information is not JSON: {error}") from None
    if fault := _fault(info):
        raise ValueError(fault)
    return info  # type: ignore[no-any-return]


def _fault(info: object) -> str | None:
    if not isinstance(info, dict):
        return "the information is not an object"
    weight = info.get("weight")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
        return f"weight {weight!r} is not a number"
    for key in ("dataset", "license"):
        if not isinstance(info.get(key), str):
            return f"{key} {info.get(key)!r} is not a text"
    sources = info.get("sources")
    if not isinstance(sources, list) or not all(map(_is_source, sources)):
        return "sources is not a list of objects with texts"
    return None


def _is_source(source: object) -> bool:
    return (
        isinstance(source, dict)
        and bool(source)
        and all(isinstance(value, str) for value in source.values())
    )


def _indexed(rows: Sequence[Row]) -> dict[str, dict[str, list[int]]]:
    index: dict[str, defaultdict[str, list[int]]] = {slot: defaultdict(list) for slot in _SLOTS}
    # Relations, datasets and sources are few and come again and again.
    common = lru_cache(maxsize=10_000)(prefixes)
    for number, row in enumerate(rows):
        info = orjson.loads(row.info)
        for slot, found in (
            ("start", prefixes(row.start)),
            ("end", prefixes(row.end)),
            ("rel", common(row.rel)),
            ("dataset", common(info["dataset"])),
            ("source", _source_prefixes(info["sources"], common)),
        ):
            for prefix in found:
                index[slot][prefix].append(number)
    return dict(index)


def _source_prefixes(
    sources: Iterable[Mapping[str, str]], prefixes_of: Callable[[str], list[str]]
) -> set[str]:
    """A source is found from its third piece on: not all of /s/resource, but all of one."""
    values = {value for source in sources for value in source.values()}
    return {prefix for value in values for prefix in prefixes_of(value) if prefix.count("/") > 2}

"""One line of the dump: what it says, and whether it is well-formed.

Promise: a row that `row_of` gives can be shown and stored; for anything else ValueError says what
is wrong with it. Weights are those of the file, which the dump rounds to three decimals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import NoneType
from typing import Any, NamedTuple

import orjson

from ...add import Relation
from ...base.text import amount
from ...uri import LONGEST_URI
from ..rules import relation_name

LONGEST_KNOWN = 2_000  # characters of a last column that is not read again: many are held at once

_WORDINGS = ("surfaceText", "surfaceStart", "surfaceEnd")
_TEXT, _TEXTS = {str}, {str, NoneType}
NODE_BEGINNINGS = ("/c/", "http://", "https://")


@dataclass
class Info:
    """The last column."""

    weight: float
    dataset: str
    license: str
    sources: Sequence[Mapping[str, str]]
    text: str | None
    start: str | None  # how the sentence words this end
    end: str | None

    @cached_property
    def origin(self) -> str:
        """The values in its sources, each once, between tabs."""
        return "\t".join(sorted({value for each in self.sources for value in each.values()}))

    @cached_property
    def shown(self) -> tuple[str, str, str, str]:
        """As the web API shows them: dataset, licence, sources, and what stands last."""
        last = {"surfaceText": self.text, "weight": self.weight}
        sources = [_source(each) for each in self.sources]
        return as_json(self.dataset), as_json(self.license), as_json(sources), as_json(last)[1:-1]


class Row(NamedTuple):
    uri: str
    rel: str
    start: str
    end: str
    info: Info


def row_of(line: bytes) -> Row:
    """Without its line end. ValueError says what is wrong."""
    try:
        uri, rel, start, end, text = line.decode().split("\t")
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except ValueError:
        raise ValueError(f"{amount(line.count(9) + 1, 'column')} instead of 5") from None
    if not (
        uri.startswith("/a/[")
        and rel.startswith("/r/")
        and start.startswith(NODE_BEGINNINGS)
        and end.startswith(NODE_BEGINNINGS)
        and (len(line) <= LONGEST_URI or max(map(len, (uri, rel, start, end))) <= LONGEST_URI)
    ):
        raise ValueError(strangeness((uri, rel, start, end)))
    known = _short_information if len(text) <= LONGEST_KNOWN else _information
    return Row(uri, rel, start, end, known(text))


def relation_of(row: Row) -> Relation:
    info = row.info
    return Relation(
        row.uri,
        relation_name(row.rel),
        row.start,
        row.end,
        info.weight,
        info.text,
        info.license,
        info.dataset,
    )


def information(text: str) -> Info:
    return _short_information(text) if len(text) <= LONGEST_KNOWN else _information(text)


def _information(text: str) -> Info:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"the information is not JSON: {error}") from None
    if not _is_sound(found):
        raise ValueError(_fault(found))
    return Info(
        float(found["weight"]),
        found["dataset"],
        found["license"],
        found["sources"],
        found.get("surfaceText"),
        found.get("surfaceStart"),
        found.get("surfaceEnd"),
    )


# Most lines come from few sources and have no sentence: their last columns are the same texts.
_short_information = lru_cache(maxsize=4096)(_information)


def _source(source: Mapping[str, str]) -> dict[str, str]:
    parts = sorted(source.values())
    joint = "/and/[" + ",".join(f"{part}/" for part in parts) + "]"
    return {**source, "@id": parts[0] if len(parts) == 1 else joint, "@type": "Source"}


def strangeness(columns: Sequence[str]) -> str | None:
    """What is wrong with the URIs of an assertion, its relation, start and end."""
    names = ("URI", "relation", "start", "end")
    expected = (("/a/[",), ("/r/",), NODE_BEGINNINGS, NODE_BEGINNINGS)
    for name, value, beginnings in zip(names, columns, expected, strict=False):
        if not value.startswith(beginnings):
            return f"{name} {value[:200]!r} does not begin with {' or '.join(beginnings)}"
    longest = max(map(len, columns[:4]))
    return f"a URI of {longest:,} characters" if longest > LONGEST_URI else None


def _is_sound(info: Any) -> bool:
    return (
        type(info) is dict
        and type(info.get("weight")) in (float, int)
        and math.isfinite(info["weight"])
        and type(info.get("dataset")) is str
        and type(info.get("license")) is str
        and type(info.get("sources")) is list
        and all(map(_is_source, info["sources"]))
        and _TEXTS.issuperset(map(type, map(info.get, _WORDINGS)))
    )


def _fault(info: Any) -> str:
    """What is wrong with one that is not sound."""
    if not isinstance(info, dict):
        return "the information is not an object"
    weight: Any = info.get("weight")
    if type(weight) not in (float, int) or not math.isfinite(weight):
        return f"weight {weight!r} is not a number"
    for key in ("dataset", "license", *(each for each in _WORDINGS if each in info)):
        if not isinstance(info.get(key), str):
            return f"{key} {info.get(key)!r} is not a text"
    return "sources is not a list of objects with texts"


def _is_source(source: object) -> bool:
    return isinstance(source, dict) and set(map(type, source.values())) == _TEXT


def as_json(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()

"""A graph in figures: what is there, what share of it has media, under which licences.

Counting reads the whole graph, so it is done aside; `stats.json` in the state keeps the last
figures with the time they were counted at.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from sys import float_info
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import orjson

from ...add import KINDS
from ...base.files import write_whole
from ...graphs.reader import MediaNumbers, Numbers, Reader
from ...media.credits import licence_name
from .growing import fetched_at
from .judgements import judged

NAME = "stats.json"
VERSION = 3
REST, LEAST_REST_S = 20, 60.0  # times as long as counting took: 5 % of the time


class Share(NamedTuple):
    name: str
    number: int
    percent: float


class TypeShare(NamedTuple):
    """The relations of a type; `covered` has the percentage with media, by kind and "any",
    `heaviest` some URIs."""

    type: str
    number: int
    percent: float
    least_weight: float
    mean_weight: float
    most_weight: float
    covered: Mapping[str, float]
    heaviest: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    time: str  # when it was counted, UTC
    seconds: float  # how long that took
    mark: str  # of the graph, when that began
    concepts: int
    relations: int
    files: int
    bytes: int
    concept_coverage: Mapping[str, Share]  # by kind of media, and "any"
    relation_coverage: Mapping[str, Share]
    kinds: Sequence[Share]  # of files
    providers: Sequence[Share]
    licences: Sequence[Share]
    languages: Sequence[Share]  # of concepts
    types: Sequence[TypeShare]
    owners: int  # concepts and relations that have files
    files_an_owner: float  # of these
    most_files: int
    owners_by_files: Sequence[Share]
    mean_degree: float
    median_degree: int
    most_degree: int
    degrees: Sequence[Share]
    judged_good: int
    judged_bad: int


def count(reader: Reader, state: Path) -> Statistics:
    began, verdicts = time.monotonic(), Counter(judged(state).values())
    mark, numbers = reader.change_mark(), reader.numbers()
    owners, files = sum(numbers.files_an_owner.values()), numbers.counts.media
    degree_sum = sum(degree * number for degree, number in numbers.degrees.items())
    return Statistics(
        time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        concepts=numbers.counts.entities,
        relations=numbers.counts.relations,
        files=files,
        bytes=sum(each.bytes for each in numbers.media),
        concept_coverage=_coverage(numbers.concepts_with, numbers.counts.entities),
        relation_coverage=_coverage(_relations_with(numbers), numbers.counts.relations),
        kinds=_files_by(numbers.media, lambda each: KINDS.get(each.kind, each.kind)),
        providers=_files_by(numbers.media, lambda each: each.provider or "not recorded"),
        licences=_files_by(numbers.media, lambda each: licence_name(each.license)),
        languages=_shares(numbers.languages.items(), numbers.counts.entities),
        types=_types(numbers),
        owners=owners,
        files_an_owner=round(files / owners, 2) if owners else 0.0,
        most_files=max(numbers.files_an_owner, default=0),
        owners_by_files=_shares(_as_text(numbers.files_an_owner), owners),
        mean_degree=round(degree_sum / max(1, numbers.counts.entities), 2),
        median_degree=_median(numbers.degrees),
        most_degree=max(numbers.degrees, default=0),
        degrees=_shares(_classes(numbers.degrees), sum(numbers.degrees.values())),
        judged_good=verdicts["good"],
        judged_bad=verdicts["bad"],
        seconds=round(time.monotonic() - began, 3),
        mark=mark,
    )


def rest_after(seconds: float) -> float:
    """So long counting that took so long is left alone."""
    return max(LEAST_REST_S, REST * seconds)


def is_rested(figures: Statistics, now: float) -> bool:
    """A clock that was put back makes nobody wait for the day on which they were counted."""
    return not 0 <= now - fetched_at(figures.time) < rest_after(figures.seconds)


def kept(state: Path) -> Statistics | None:
    """What was counted last; None if it never was, or by another version."""
    try:
        said = orjson.loads((state / NAME).read_bytes())
        found = _read(said) if said.pop("version") == VERSION else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return found if found is not None and _is(found, Statistics) else None


def keep(statistics: Statistics, state: Path) -> None:
    state.mkdir(parents=True, exist_ok=True)
    own = state / f"{NAME}.{os.getpid()}.part"  # the page and `stats` may do it together
    write_whole(state / NAME, as_json(statistics), durable=False, part=own)


def as_json(statistics: Statistics) -> bytes:
    said = {"version": VERSION} | {name: _plain(v) for name, v in asdict(statistics).items()}
    return orjson.dumps(said, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _plain(value: Any) -> Any:
    """Figures with their names."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(each) for name, each in value._asdict().items()}
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _read(said: dict[str, Any]) -> Statistics:
    lists = ("kinds", "providers", "licences", "languages", "owners_by_files", "degrees")
    return Statistics(
        **said
        | {name: [Share(**each) for each in said[name]] for name in lists}
        | {
            name: {kind: Share(**each) for kind, each in said[name].items()}
            for name in ("concept_coverage", "relation_coverage")
        }
        | {"types": [TypeShare(**each) for each in said["types"]]}
    )


def _is(value: Any, hint: Any) -> bool:
    """Whether what a file said is of the type that its place has.

    >>> _is([Share("x", 1, 50)], Sequence[Share]), _is({"image": None}, Mapping[str, float])
    (True, False)
    """
    if get_origin(hint) is Sequence:
        return isinstance(value, list) and all(_is(each, get_args(hint)[0]) for each in value)
    if get_origin(hint) is Mapping:
        is_whole = isinstance(value, dict) and value.keys() >= {*KINDS, "any"}
        return is_whole and all(_is(each, get_args(hint)[1]) for each in value.values())
    if hint is float:
        return isinstance(value, int | float)
    fields = get_type_hints(hint)
    return isinstance(value, hint) and all(
        _is(getattr(value, name), fields[name]) for name in fields
    )


# --- figures of figures --------------------------------------------------------------------------


def percent(part: float, whole: float) -> float:
    """
    >>> percent(1, 3), percent(1, 0)
    (33.33, 0.0)
    """
    return round(100 * part / whole, 2) if whole else 0.0


def _shares(numbers: Iterable[tuple[str, int]], whole: int) -> list[Share]:
    return [Share(name, number, percent(number, whole)) for name, number in numbers]


def _files_by(media: Sequence[MediaNumbers], name: Any) -> list[Share]:
    numbers: Counter[str] = Counter()
    for each in media:
        numbers[name(each)] += each.number
    return _shares(numbers.most_common(), sum(numbers.values()))


def _coverage(numbers: Mapping[str, int], whole: int) -> dict[str, Share]:
    return {
        kind: Share(KINDS.get(kind, kind), number, percent(number, whole))
        for kind, number in numbers.items()
    }


def _relations_with(numbers: Numbers) -> dict[str, int]:
    return {
        kind: sum(getattr(each, f"with_{kind}") for each in numbers.types)
        for kind in (*KINDS, "any")
    }


def _types(numbers: Numbers) -> list[TypeShare]:
    return [
        TypeShare(
            each.type,
            each.number,
            percent(each.number, numbers.counts.relations),
            _finite(each.least_weight),
            _finite(each.mean_weight),
            _finite(each.most_weight),
            {kind: percent(getattr(each, f"with_{kind}"), each.number) for kind in (*KINDS, "any")},
            each.heaviest,
        )
        for each in numbers.types
    ]


def _finite(weight: float) -> float:
    """JSON has no other numbers.

    >>> _finite(2 / 3), _finite(float("inf")) > 1e308
    (0.667, True)
    """
    return round(max(-float_info.max, min(weight, float_info.max)), 3)


def _as_text(numbers: Mapping[int, int]) -> list[tuple[str, int]]:
    return [(str(files), owners) for files, owners in sorted(numbers.items())]


def _classes(degrees: Mapping[int, int]) -> list[tuple[str, int]]:
    """0, 1, 2 to 3, 4 to 7 and so on, each twice as wide as the one before."""
    classes: Counter[int] = Counter()
    for degree, number in degrees.items():
        classes[degree.bit_length()] += number
    return [(_class_name(bits), classes[bits]) for bits in sorted(classes)]


def _class_name(bits: int) -> str:
    """
    >>> [_class_name(bits) for bits in range(4)]
    ['0', '1', '2-3', '4-7']
    """
    low, high = 2**bits // 2, 2**bits - 1
    return str(low) if low >= high else f"{low}-{high}"


def _median(degrees: Mapping[int, int]) -> int:
    left = sum(degrees.values()) / 2
    for degree, number in sorted(degrees.items()):
        left -= number
        if left <= 0:
            return degree
    return 0

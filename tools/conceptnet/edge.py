"""Edges of a server's pages: what they say, whether they are well-formed, who counts the rest.

Promise: a relation that `relation_of` gives can be stored; for anything else ValueError says what
is wrong with it. An edge that cannot be read costs nothing but itself.
"""

from __future__ import annotations

import logging
import math
from threading import Lock
from typing import Any

from .. import uri
from ..add import Relation
from .dump.faults import MOST_LOGGED
from .dump.row import NODE_BEGINNINGS, strangeness
from .rules import relation_name

logger = logging.getLogger(__name__)

MOST_REMEMBERED = 100_000


def relation_of(edge: object) -> Relation:
    """ValueError says what is wrong."""
    return _as_usual(edge) or _looked_into(edge)


def _as_usual(edge: Any) -> Relation | None:
    """Of an edge as nearly all are, in a third of the time; None is no verdict."""
    try:
        name, weight = edge["@id"], edge["weight"]
        rel, start, end = edge["rel"]["@id"], edge["start"]["@id"], edge["end"]["@id"]
        surface, licence, dataset = edge["surfaceText"], edge["license"], edge["dataset"]
        is_usual = (
            name == f"/a/[{rel}/,{start}/,{end}/]"
            and "//" not in name  # so none of the three ends with a slash, or begins with two
            and len(name) <= uri.LONGEST_URI
            and rel.startswith("/r/")
            and start.startswith(NODE_BEGINNINGS)
            and end.startswith(NODE_BEGINNINGS)
            and type(weight) is float
            and math.isfinite(weight)
            and (surface is None or type(surface) is str)
            and type(licence) is type(dataset) is str
            and "\0" not in f"{name}{surface}{licence}{dataset}"
        )
    except (TypeError, KeyError, AttributeError):
        return None
    if not is_usual:
        return None
    return Relation(name, relation_name(rel), start, end, weight, surface, licence, dataset)


def _looked_into(edge: object) -> Relation:
    if not isinstance(edge, dict):
        raise ValueError(f"{_shown(edge)} is no edge")
    name, rel = _id_of(edge, "edge"), _id_of(edge.get("rel"), "rel")
    start, end = _id_of(edge.get("start"), "start"), _id_of(edge.get("end"), "end")
    is_its_own = name == uri.assertion(rel, start, end)  # so what it lacks, they lack
    if not is_its_own or not _is_plain(name, rel, start, end):
        foreign = f"{_shown(name)} is not the @id of its relation and ends"
        raise ValueError(strangeness((name, rel, start, end)) or foreign)
    weight = _weight(edge.get("weight"))
    texts = (_text(edge, key) for key in ("surfaceText", "license", "dataset"))
    return Relation(_without_nul(name, "@id"), relation_name(rel), start, end, weight, *texts)


def _is_plain(name: str, rel: str, start: str, end: str) -> bool:
    return (
        max(len(name), len(rel), len(start), len(end)) <= uri.LONGEST_URI
        and rel.startswith("/r/")
        and start.startswith(NODE_BEGINNINGS)
        and end.startswith(NODE_BEGINNINGS)
    )


def _weight(found: object) -> float:
    if isinstance(found, bool) or not isinstance(found, float | int) or not math.isfinite(found):
        raise ValueError(f"weight {_shown(found)} is not a number")
    return float(found)


def _id_of(thing: object, what: str) -> str:
    found = thing.get("@id") if isinstance(thing, dict) else None
    if not isinstance(found, str):
        raise ValueError(f"the @id of its {what} is {_shown(found)}")
    return found


def _text(edge: dict[str, object], key: str) -> str | None:
    found = edge.get(key)
    return _without_nul(found, key) if isinstance(found, str) else None


def _without_nul(text: str, what: str) -> str:
    """Databases and files end a text there, so that two would become one."""
    if "\0" in text:
        raise ValueError(f"a NUL in its {what}")
    return text


def _shown(value: object) -> str:
    if isinstance(value, str):
        return repr(value[:200])
    is_short = value is None or isinstance(value, bool | int | float)
    return repr(value) if is_short else f"a {type(value).__name__}"


class EdgeFaults:
    """Edges that were skipped, each counted once however many pages show it. Unlike a file, which
    is a person's choice, a server may not end the harvest by sending many of them."""

    def __init__(self) -> None:
        self._number = 0
        self._seen: set[int] = set()  # hashes
        self._lock = Lock()

    def note(self, edge: object, place: str, reason: str) -> None:
        named = edge.get("@id") if isinstance(edge, dict) else None
        key = hash((named if isinstance(named, str) else place, reason))
        with self._lock:
            if key in self._seen:
                return
            if len(self._seen) < MOST_REMEMBERED:
                self._seen.add(key)
            self._number += 1
            number = self._number
        if number <= MOST_LOGGED:
            logger.warning("%s is skipped: %s", place, reason)

    def counts(self) -> dict[str, int]:
        return {"malformed edges": self._number} if self._number else {}

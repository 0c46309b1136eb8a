"""An edge as nearly all are is read by a shorter way: it must lead to the same."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tools.add import Relation
from tools.conceptnet.edge import relation_of
from tools.uri import LONGEST_URI


def edge(**changes: Any) -> dict[str, Any]:
    rel, start, end = "/r/IsA", "/c/en/dog", "/c/en/pet"
    known = {
        "@id": f"/a/[{rel}/,{start}/,{end}/]",
        "rel": {"@id": rel},
        "start": {"@id": start},
        "end": {"@id": end},
        "weight": 2.0,
        "surfaceText": "[[dog]] is a [[pet]]",
        "license": "cc:by/4.0",
        "dataset": "/d/x",
    }
    return known | changes


def between(start: str, end: str, rel: str = "/r/IsA") -> dict[str, Any]:
    """Named by putting the three together as they are."""
    named: dict[str, Any] = {"@id": f"/a/[{rel}/,{start}/,{end}/]", "rel": {"@id": rel}}
    return edge(**named) | {"start": {"@id": start}, "end": {"@id": end}}


def test_an_edge_as_nearly_all_are() -> None:
    name = "/a/[/r/IsA/,/c/en/dog/,/c/en/pet/]"
    text = "[[dog]] is a [[pet]]"
    expected = Relation(name, "IsA", "/c/en/dog", "/c/en/pet", 2.0, text, "cc:by/4.0", "/d/x")
    assert relation_of(edge()) == expected


@pytest.mark.parametrize("key", ["surfaceText", "license", "dataset"])
@pytest.mark.parametrize("value", [None, 7, ["x"]])
def test_what_is_no_text_is_none(key: str, value: object) -> None:
    field = {"surfaceText": "surface_text"}.get(key, key)
    expected = Relation(**(relation_of(edge())._asdict() | {field: None}))
    assert relation_of(edge(**{key: value})) == expected
    without = {name: each for name, each in edge().items() if name != key}
    assert relation_of(without) == expected


def test_a_whole_number_is_a_weight() -> None:
    weight = relation_of(edge(weight=3)).weight
    assert (weight, type(weight)) == (3.0, float)


@pytest.mark.parametrize(
    "spoilt",
    [
        edge(weight=math.inf),
        edge(weight=math.nan),
        edge(weight=True),
        edge(weight="2.0"),
        edge(weight=None),
        edge(surfaceText="a\0b"),
        edge(license="a\0b"),
        edge(dataset="a\0b"),
        edge(rel=None),
        edge(start={"@id": 7}),
        edge(**{"@id": "/a/[/r/IsA/,/c/en/pet/,/c/en/dog/]"}),
        between("/c/en/dog/", "/c/en/pet"),
        between("//c/en/dog", "/c/en/pet"),
        between("/c/en/dog", "/c/en/pet\0"),
        between("/d/en/dog", "/c/en/pet"),
        between("/c/en/dog", "/d/en/pet"),
        between("/c/en/dog", "/c/en/pet", "/x/IsA"),
        between("/c/en/dog", f"/c/en/{'x' * LONGEST_URI}"),
        ["no edge"],
        "no edge",
        None,
    ],
)
def test_what_is_spoilt_is_refused(spoilt: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        relation_of(spoilt)

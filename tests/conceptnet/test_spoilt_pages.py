"""Pages that are not what was asked for, and pages with edges that are no edges."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from random import Random
from threading import Event
from typing import Any
from urllib.parse import quote, urlsplit

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.command import run
from tests.support.worlds.conceptnet import (
    HUB,
    Asked,
    Fault,
    Proceed,
    World,
    _changed,
    about,
    hub,
    line,
    nth,
    only,
)
from tools.conceptnet.api import ApiSource
from tools.conceptnet.dump.row import row_of
from tools.conceptnet.rules import RELATIONS, Filter
from tools.errors import GiveUp, HarvestError, ServerTrouble
from tools.network import client as http_module
from tools.network.client import Answer, Client
from tools.network.reply import Reply as Sent
from tools.network.settings import HttpSettings
from tools.uri import LONGEST_URI, assertion

EVERYTHING = Filter.of(["en", "fr", "de", "ja"], 0.0, (*RELATIONS, "RelatedTo"), True)
OTHER = "/c/en/neighbour_1"
OpenSource = Callable[..., ApiSource]
Spoil = Callable[[dict[str, Any]], object]


@pytest.fixture
def source_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenSource]:
    monkeypatch.setattr(http_module, "FIRST_GAP_S", 0.001)
    clients: list[Client] = []

    def open_source(world: World) -> ApiSource:
        trusted = [urlsplit(world.url).netloc]
        clients.append(Client(HttpSettings(answer_timeout_s=5.0), None, Event(), trusted=trusted))
        return ApiSource(world.url, clients[-1], EVERYTHING)

    yield open_source
    for client in clients:
        client.close()


def uris(lines: list[str]) -> set[str]:
    return {each.partition("\t")[0] for each in lines}


def of_another(asked: Asked, proceed: Proceed) -> Sent:
    """A page that somebody else asked for."""
    query = {"start": OTHER} if asked.path == "/query" else asked.query
    return proceed(replace(asked, path=asked.path.replace(HUB, OTHER), query=query))


def spoils(spoil: Spoil, which: Callable[[dict[str, Any]], bool] = lambda _: True) -> Fault:
    """Every edge that is meant, on every page."""

    def change(page: dict[str, Any]) -> None:
        for edge in filter(which, page.get("edges", [])):
            spoil(edge)

    return lambda asked, proceed: _changed(proceed(asked), change)


# ---- whose page it is


@pytest.mark.parametrize("which", [about(HUB), lambda asked: asked.path == "/query"])
def test_a_page_of_another_concept_is_no_answer(
    source_of: OpenSource, which: Callable[[Asked], bool]
) -> None:
    refused = pytest.raises(ServerTrouble, match=r"sent the page of '.*' for '")
    with World(hub(30), only(which, of_another), page_size=20) as world, refused:
        source_of(world).page(HUB)


def test_a_page_of_another_concept_is_asked_for_again(source_of: OpenSource) -> None:
    lines = hub(10)
    with World(lines, only(nth(1), of_another)) as world:
        assert {each.uri for each in source_of(world).page(HUB)} == uris(lines)


def test_that_another_concept_is_unknown_says_nothing_of_this_one(source_of: OpenSource) -> None:
    unknown = only(nth(1), lambda asked, proceed: proceed(replace(asked, path="/c/en/zzzz")))
    lines = hub(10)
    with World(lines, unknown) as world:
        assert {each.uri for each in source_of(world).page(HUB)} == uris(lines)


@pytest.mark.parametrize("shown", [None, 7, "", ["/c/en/hub"], {}])
def test_a_page_without_a_name_is_no_answer(source_of: OpenSource, shown: object) -> None:
    unnamed: Fault = lambda asked, proceed: _changed(  # noqa: E731
        proceed(asked), lambda page: page.update({"@id": shown})
    )
    with World(hub(3), unnamed) as world, pytest.raises(ServerTrouble, match="the page of"):
        source_of(world).page(HUB)


@pytest.mark.parametrize(
    "term", ["r&b", "100%", "a+b", "c++", "what?", "x=y", "caf\u00e9", "50%25"]
)
@pytest.mark.parametrize("writes", [str, quote])
def test_a_name_may_be_encoded_or_not(
    source_of: OpenSource, term: str, writes: Callable[[str], str]
) -> None:
    concept = f"/c/en/{term}"
    lines = hub(30, concept)
    encoded: Fault = lambda asked, proceed: _changed(  # noqa: E731
        proceed(asked), lambda page: page.update({"@id": writes(page["@id"])})
    )
    with World(lines, encoded, page_size=20) as world:
        assert {each.uri for each in source_of(world).page(concept)} == uris(lines)


# ---- edges that are none


LONG = "/c/en/" + "x" * LONGEST_URI
WRONG: list[Any] = [5, None, "", [], {}, "/s/x", "/c/en/nul\0byte", LONG]
SLASHES = "/" * LONGEST_URI


def _with_id(part: str, value: object) -> Spoil:
    return lambda edge: edge[part].update({"@id": value})


def _rename_end(edge: dict[str, Any], end: str) -> None:
    """The edge's own name agrees with it."""
    edge["@id"] = assertion(edge["rel"]["@id"], edge["start"]["@id"], end)
    edge["end"]["@id"] = end


SPOILT: dict[str, Spoil] = {
    "weight inf": lambda edge: edge.update(weight="inf"),
    "weight Infinity": lambda edge: edge.update(weight="Infinity"),
    "weight nan": lambda edge: edge.update(weight="nan"),
    "weight true": lambda edge: edge.update(weight=True),
    "weight null": lambda edge: edge.update(weight=None),
    "weight missing": lambda edge: edge.pop("weight"),
    "weight a list": lambda edge: edge.update(weight=[1.0]),
    "id null": lambda edge: edge.update({"@id": None}),
    "id 7": lambda edge: edge.update({"@id": 7}),
    "id a list": lambda edge: edge.update({"@id": ["/a/[]"]}),
    "id empty": lambda edge: edge.update({"@id": ""}),
    "id missing": lambda edge: edge.pop("@id"),
    "id of a concept": lambda edge: edge.update({"@id": "/c/en/dog"}),
    "id of another": lambda edge: edge.update({"@id": "/a/[/r/IsA/,/c/en/a/,/c/en/b/]"}),
    "end missing": lambda edge: edge.pop("end"),
    "start with slashes": lambda edge: edge["start"].update(
        {"@id": edge["start"]["@id"] + SLASHES}
    ),
    "NUL in end and id": lambda edge: _rename_end(edge, "/c/en/nul\0byte"),
    "long end and id": lambda edge: _rename_end(edge, LONG),
    "end and id of a source": lambda edge: _rename_end(edge, "/s/x"),
    "end a text": lambda edge: edge.update(end="/c/en/dog"),
    "text with NUL": lambda edge: edge.update(surfaceText="a\0b"),
    "licence with NUL": lambda edge: edge.update(license="a\0b"),
    "dataset with NUL": lambda edge: edge.update(dataset="a\0b"),
    **{
        f"{part} {value!r:.20}": _with_id(part, value)
        for part in ("rel", "start", "end")
        for value in WRONG
    },
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_malformed_edge_costs_itself_alone(
    source_of: OpenSource, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    lines = hub(5)
    is_third = lambda edge: edge["@id"] == lines[2].partition("\t")[0]  # noqa: E731
    with World(lines, spoils(SPOILT[how], is_third)) as world:
        source = source_of(world)
        found = {each.uri for each in source.page(HUB)}
    assert found == uris(lines) - uris([lines[2]])
    assert source.faults.counts() == {"malformed edges": 1}
    (told,) = [each for each in caplog.messages if "is skipped" in each]
    assert told.startswith("edge ") and f" of {HUB}?limit=1000 is skipped: " in told
    assert told.isprintable() and len(told) < 500


def test_numbers_are_numbers_however_they_are_written(source_of: OpenSource) -> None:
    whole = spoils(lambda edge: edge.update(weight=2))
    with World(hub(3), whole) as world:
        assert {each.weight for each in source_of(world).page(HUB)} == {2.0}


@pytest.mark.parametrize("body", [b"1e999", b"-1e999", b"NaN", b"1" * 400, b"Infinity"])
def test_no_weight_is_beyond_numbers(body: bytes) -> None:
    page = orjson.dumps(PAGE).replace(b'"weight":1.0', b'"weight":' + body, 1)
    source = canned(page)
    with suppress(HarvestError):  # where it is no JSON at all
        assert all(each.weight < float("inf") for each in source.page(HUB))


def test_the_dump_and_the_api_draw_the_same_line() -> None:
    start = "/c/en/" + "x" * (LONGEST_URI - len("/a/[/r/IsA/,/c/en//,/c/en/b/]"))
    fits, is_longer = line("/r/IsA", start, "/c/en/b"), line("/r/IsA", start + "x", "/c/en/b")
    assert row_of(fits.rstrip("\n").encode()).start == start
    with pytest.raises(ValueError, match="a URI of 2,001 characters"):
        row_of(is_longer.rstrip("\n").encode())
    with World([fits]) as world:
        page = orjson.loads(canned_page(world, start))
    source = canned(orjson.dumps({**page, "@id": HUB}))
    assert [each.start for each in source.page(HUB)] == [start]
    text = orjson.dumps({**page, "@id": HUB}).replace(start.encode(), start.encode() + b"x")
    source = canned(text)
    with pytest.raises(GiveUp):
        source.page(HUB)
    assert source.faults.counts() == {"malformed edges": 1}


def canned_page(world: World, concept: str) -> bytes:
    client = Client(HttpSettings(), None, Event(), trusted=[urlsplit(world.url).netloc])
    try:
        return client.get(f"{world.url}{concept}?limit=1000", "application/json").body
    finally:
        client.close()


def test_malformed_edges_do_not_make_a_hub_look_incomplete(source_of: OpenSource) -> None:
    lines = hub(600)
    bad = set(sorted(uris(lines))[::50])
    fault = spoils(lambda edge: edge.update(weight="inf"), lambda edge: edge["@id"] in bad)
    with World(lines, fault, page_size=40, shuffle=Random(11)) as world:
        source = source_of(world)
        assert {each.uri for each in source.page(HUB)} == uris(lines) - bad
        source.page(HUB)
    assert source.faults.counts() == {"malformed edges": len(bad)}  # each once


def test_a_page_of_malformed_edges_alone_is_given_up_and_nothing_else(
    source_of: OpenSource,
) -> None:
    bad = {line.partition("\t")[0] for line in hub(30)}
    lines = [*hub(30), *hub(5, "/c/en/other")]
    with World(lines, spoils(SPOILT["weight inf"], lambda edge: edge["@id"] in bad)) as world:
        source = source_of(world)
        with pytest.raises(GiveUp, match=r"nothing on its page can be read \(edges: 30\)"):
            source.page(HUB)
        assert len(source.page("/c/en/other")) == 5
        assert source.faults.counts() == {"malformed edges": 30}


def test_a_harvest_tells_how_many_edges_it_skipped(tmp_path: Any) -> None:
    lines = hub(12)
    bad = {line.partition("\t")[0] for line in lines[:3]}
    fault = spoils(lambda edge: edge.update(weight="inf"), lambda edge: edge["@id"] in bad)
    with World(lines, fault) as world:
        done = run(
            *("main.py", "--source", world.url, "--seed", HUB, "--no-media"),
            *("--state", tmp_path / "state"),
        )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("is skipped: weight 'inf' is not a number") == 3
    assert any(each.split() == ["malformed", "edges", "3"] for each in done.stdout.splitlines())


# ---- any shape at all


EDGE = {
    "@id": "/a/[/r/IsA/,/c/en/hub/,/c/en/b/]",
    "rel": {"@id": "/r/IsA", "label": "IsA"},
    "start": {"@id": "/c/en/hub"},
    "end": {"@id": "/c/en/b", "language": "en"},
    "weight": 1.0,
    "surfaceText": "a hub is a b",
    "license": "cc:by/4.0",
    "dataset": "/d/x",
}
PAGE: dict[str, Any] = {"@id": HUB, "edges": [EDGE, {**EDGE, "weight": 2.0}], "view": {}}
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text()
    | st.sampled_from(["/c/en/dog", "/r/IsA", "\0", "inf", EDGE["@id"], HUB, LONG, 404]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["@id", "edges", "error", "status", "x"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
PLACES: list[tuple[Any, ...]] = [
    ("@id",), ("edges",), ("edges", 0), ("view",), ("error",),
    *(("edges", 0, key) for key in EDGE),
    *(("edges", 0, key, "@id") for key in ("rel", "start", "end")),
]  # fmt: skip


class Canned:
    """A client without a network that has one answer to everything."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def get(self, url: str, accept: str, tries: int = 1) -> Answer:
        return Answer(200, {}, self._body, url)


def canned(body: bytes) -> ApiSource:
    return ApiSource("http://127.0.0.1:1", Canned(body), EVERYTHING)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.sampled_from(PLACES), ANYTHING), min_size=1, max_size=3))
def test_no_page_is_a_bug(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    """Relations that can be stored, or an error that says what to do next."""
    page = copy.deepcopy(PAGE)
    for (*steps, last), value in changes:
        place: Any = page
        for step in steps:
            is_there = isinstance(place, dict) and step in place
            is_there = is_there or (isinstance(place, list) and step == 0 and bool(place))
            place = place[step] if is_there else None
        is_key = isinstance(place, dict) and isinstance(last, str)
        if is_key or (isinstance(place, list) and last == 0 and place):
            place[last] = copy.deepcopy(value)
    try:
        found = canned(orjson.dumps(page)).page(HUB)
    except HarvestError:
        return
    for each in found:
        texts = [text for text in each if isinstance(text, str)]
        assert not any("\0" in text for text in texts)
        assert each.uri.startswith("/a/[") and abs(each.weight) < float("inf")

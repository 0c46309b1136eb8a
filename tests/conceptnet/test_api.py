"""The API source against servers that behave like ConceptNet's, traps included."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from threading import Event
from urllib.parse import unquote, urlsplit

import orjson
import pytest

from tests.support.slices import answer_beside, any_slice
from tests.support.worlds.conceptnet import (
    HUB,
    Fault,
    World,
    about,
    after,
    error_inside,
    fails,
    hostile,
    hub,
    in_html,
    line,
    nth,
    only,
    repeats_itself,
    truncated,
    without_edges,
)
from tools.add import Relation
from tools.conceptnet.api import ApiSource, _has_more, _is_the_same
from tools.conceptnet.edge import relation_of
from tools.conceptnet.rules import RELATIONS, Filter
from tools.errors import GiveUp, RetryLater, ServerTrouble, Unavailable, Unreachable
from tools.network import client as http_module
from tools.network.client import Client
from tools.network.settings import HttpSettings

EVERYTHING = Filter.of(["en", "fr", "de", "ja"], 0.0, (*RELATIONS, "RelatedTo"), True)
ENGLISH = Filter.of(["en"], 1.0, RELATIONS, True)
OpenSource = Callable[..., ApiSource]


@pytest.fixture
def source_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenSource]:
    monkeypatch.setattr(http_module, "FIRST_GAP_S", 0.001)
    clients: list[Client] = []

    def open_source(world: World, wanted: Filter = EVERYTHING) -> ApiSource:
        trusted = [urlsplit(world.url).netloc]
        clients.append(Client(HttpSettings(answer_timeout_s=5.0), None, Event(), trusted=trusted))
        return ApiSource(world.url, clients[-1], wanted)

    yield open_source
    for client in clients:
        client.close()


def uris(lines: list[str]) -> set[str]:
    return {each.partition("\t")[0] for each in lines}


def keeps(each: Relation) -> bool:
    return ENGLISH.keeps(each.type, each.start, each.end, each.weight)


def harvested(source: ApiSource, concept: str = HUB) -> list[str]:
    return [relation.uri for relation in source.page(concept)]


def test_a_thousand_edges_cost_one_request(source_of: OpenSource) -> None:
    lines = hub(1000)
    with World(lines) as world:
        assert set(harvested(source_of(world))) == uris(lines)
        assert world.paths == [f"{HUB}?limit=1000"]


def test_no_assertion_is_ever_asked_for(source_of: OpenSource) -> None:
    with World(hub(1100)) as world:
        source_of(world).page(HUB)
        assert not [path for path in world.paths if path.startswith("/a/")]


def test_a_hub_is_split_by_relation_and_loses_nothing(source_of: OpenSource) -> None:
    lines = hub(1300)
    with World(lines, shuffle=Random(7)) as world:
        found = harvested(source_of(world))
        assert set(found) == uris(lines)
        assert len(found) == len(set(found))
        assert len(world.paths) == 1 + 2 * 27


def test_a_relation_too_large_for_one_page_is_read_until_nothing_is_missing(
    source_of: OpenSource,
) -> None:
    """Pages of ten with a new order among ties each time: naive paging loses many."""
    lines = hub(600)
    with World(lines, page_size=40, shuffle=Random(11)) as world:
        assert set(harvested(source_of(world))) == uris(lines)


def test_naive_paging_really_loses_edges_here() -> None:
    """Otherwise the test above could not fail."""
    with World(hub(600), page_size=40, shuffle=Random(11)) as world:
        seen, rows, path = set(), 0, f"{HUB}?limit=40"
        while path:
            with urllib.request.urlopen(world.url + path, timeout=30) as answer:
                page = orjson.loads(answer.read())
            rows += len(page["edges"])
            seen |= {edge["@id"] for edge in page["edges"]}
            path = page.get("view", {}).get("nextPage", "")
    assert rows == 600 and len(seen) < 590


def test_only_wanted_languages_are_read_of_a_large_relation(source_of: OpenSource) -> None:
    lines = hub(900)
    with World(lines, page_size=50, shuffle=Random(3)) as world:
        found = source_of(world, ENGLISH).page(HUB)
        wanted = [
            each for each in found if ENGLISH.keeps(each.type, each.start, each.end, each.weight)
        ]
    expected = [each.split("\t") for each in lines]
    assert {each.uri for each in wanted} == {
        uri for uri, rel, start, end, info in expected
        if ENGLISH.keeps(rel[3:], start, end, 0.5 if '"weight": 0.5' in info else 1.0)
    }  # fmt: skip


def test_more_rows_than_the_server_gives_are_told(
    source_of: OpenSource, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.conceptnet.api.MOST_ROWS", 60)
    lines = [line("/r/IsA", f"/c/en/{n}", HUB) for n in range(100)]
    with World(lines, page_size=20, cap=60) as world:
        assert len(harvested(source_of(world))) == 60
    assert "keeps back" in caplog.text


def test_senses_are_on_the_page_of_their_term(source_of: OpenSource) -> None:
    lines = [line("/r/IsA", f"{HUB}/n/wn/artifact", "/c/en/thing"), line("/r/HasA", HUB, "/c/en/x")]
    with World(lines) as world:
        assert set(harvested(source_of(world))) == uris(lines)
        assert harvested(source_of(world), f"{HUB}/n") == [lines[0].partition("\t")[0]]


@pytest.mark.parametrize(
    "term",
    ["washington,_d.c", "cat's_cradle", "u.s.a", "what?", "100%", "c#", "naïve_café", "a;b&c=d"],
)
def test_terms_with_punctuation_are_asked_for_as_they_are(source_of: OpenSource, term: str) -> None:
    concept = f"/c/en/{term}"
    with World([line("/r/IsA", concept, "/c/en/thing")]) as world:
        (relation,) = source_of(world).page(concept)
        assert relation.start == concept
        assert unquote(world.paths[0]) == f"{concept}?limit=1000"


def test_a_missing_concept_is_given_up_although_it_answers_200(source_of: OpenSource) -> None:
    with World(hub(3)) as world, pytest.raises(GiveUp, match="does not know"):
        source_of(world).page("/c/en/zzzz")


def test_a_server_that_repeats_itself_is_noticed(source_of: OpenSource) -> None:
    with World(hub(30), repeats_itself) as world:
        with pytest.raises(GiveUp, match="again and again"):
            source_of(world).page(HUB)
        assert len(world.paths) < 10


def test_a_failing_request_is_repeated_alone(source_of: OpenSource) -> None:
    """One failed page of many does not begin the concept anew."""
    lines = hub(1300)
    with World(lines, only(nth(7), fails(502))) as world:
        assert set(harvested(source_of(world))) == uris(lines)
        assert len(world.paths) == 1 + 2 * 27 + 1
        assert world.paths[6] == world.paths[7]


NONSENSE: dict[str, Fault] = {
    "500": fails(500),
    "error inside": error_inside,
    "html": in_html,
    "truncated": truncated,
    "without edges": without_edges,
}


@pytest.mark.parametrize("fault", NONSENSE)
def test_nonsense_for_one_concept_is_its_own_fault(source_of: OpenSource, fault: str) -> None:
    poison = only(about("/c/en/neighbour_0"), NONSENSE[fault])
    with World(hub(10), poison) as world:
        source = source_of(world)
        source.page(HUB)
        with pytest.raises(RetryLater):
            source.page("/c/en/neighbour_0")


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_source_that_answers_nobody_is_down(source_of: OpenSource, status: int) -> None:
    with World(hub(10), only(after(1), fails(status))) as world:
        source = source_of(world)
        source.page(HUB)
        with pytest.raises(Unavailable):
            source.page("/c/en/neighbour_0")


def test_a_source_that_refuses_connections_is_down(source_of: OpenSource) -> None:
    with World(hub(10)) as world:
        source = source_of(world)
        source.page(HUB)
        world.refuse()
        with pytest.raises(Unavailable):
            source.page(HUB)
        world.accept()
        assert source.page(HUB)


def test_429_rests_the_host_and_blames_nobody(source_of: OpenSource) -> None:
    with World(hub(10), only(after(1), fails(429))) as world:
        source = source_of(world)
        source.page(HUB)
        for _ in range(2):
            with pytest.raises(Unavailable) as caught:
                source.page(HUB)
            assert caught.value.delay is not None and caught.value.delay > 50
        assert len(world.paths) == 2  # the second time nobody even asked


def test_hostile_texts_arrive_literally_and_the_filter_keeps_only_clean_concepts(
    source_of: OpenSource,
) -> None:
    with World(hostile()) as world:
        found = source_of(world).page(HUB)
    assert any("DETACH" in each.end for each in found)
    kept = [each for each in found if keeps(each)]
    assert kept
    assert not [each for each in kept if any(ord(sign) <= 32 for sign in each.start + each.end)]


def test_check_passes_if_anything_answers(source_of: OpenSource) -> None:
    with World(hub(1), fails(404)) as world:
        source_of(world).check()


@pytest.mark.parametrize("how", ["refused", "502"])
def test_check_says_what_to_do_when_nothing_answers(source_of: OpenSource, how: str) -> None:
    with World(hub(1)) as world:
        world.down = how == "502"
        if how == "refused":
            world.refuse()
        with pytest.raises(Unreachable, match="--source"):
            source_of(world).check()


@any_slice
def test_answers_of_the_real_server_are_understood(path: Path) -> None:
    small = answer_beside(path, "node_small_no_view.json")
    relations = [relation_of(edge) for edge in small["edges"]]
    assert relations and not _has_more(small) and _is_the_same(small["@id"], "/c/en/paws")
    assert {each.type for each in relations} & set(RELATIONS)
    dog = answer_beside(path, "node_dog_limit3.json")
    assert _has_more(dog) and _is_the_same(dog["@id"], "/c/en/dog")


def test_server_trouble_is_a_reason_to_try_again() -> None:
    assert issubclass(ServerTrouble, RetryLater)

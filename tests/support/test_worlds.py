"""Each fault of the misbehaving servers really happens; else tests with them prove nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from random import Random
from threading import Barrier, Thread
from time import monotonic
from typing import Any

import pytest

from tests.conceptnet.mirror.test_mirror import Client
from tests.support.worlds.conceptnet import (
    HOSTILE,
    HUB,
    LANGUAGES,
    RELATIONS,
    Asked,
    Proceed,
    World,
    about,
    after,
    chain,
    edge_without_end,
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
from tools.conceptnet.index.build import index_of
from tools.network.reply import Reply
from tools.uri import is_concept, language, parse_assertion


@contextmanager
def client_of(world: World) -> Iterator[Client]:
    client = Client(world.url)
    try:
        yield client
    finally:
        client.close()


def get(world: World, target: str = HUB) -> Any:
    with client_of(world) as client:
        return client.get(target)


def statuses(world: World, *targets: str) -> list[int]:
    return [get(world, target).status for target in targets]


def all_pages(world: World, target: str) -> list[str]:
    """The URIs of the edges, as somebody finds them who trusts nextPage."""
    found: list[str] = []
    with client_of(world) as client:
        while target:
            page = client.json(target)
            found += [edge["@id"] for edge in page["edges"]]
            target = page.get("view", {}).get("nextPage", "")
    return found


def in_threads(count: int, action: Callable[[], object]) -> None:
    threads = [Thread(target=action) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)


# Worlds


def test_a_line_is_one_of_the_dump() -> None:
    text = line("/r/IsA", "/c/en/a", "/c/en/b", 2.5, license="cc0", surfaceText="é")
    assert text.endswith("\n")
    columns = text.rstrip("\n").split("\t")
    assert columns[:4] == ["/a/[/r/IsA/,/c/en/a/,/c/en/b/]", "/r/IsA", "/c/en/a", "/c/en/b"]
    assert '"surfaceText": "é"' in columns[4]
    info = json.loads(columns[4])
    assert (info["weight"], info["license"]) == (2.5, "cc0")
    assert set(info) == {"dataset", "license", "sources", "surfaceText", "weight"}


def test_a_hub_is_mixed() -> None:
    rows, _ = index_of(hub(200)).find({"node": HUB}, 0, 1_000)
    assert len(rows) == 200
    assert {row.said["rel"]["@id"] for row in rows} == set(RELATIONS)
    others = [row.end if row.start == HUB.encode() else row.start for row in rows]
    assert {language(other.decode()) for other in others} == set(LANGUAGES)
    assert sum(row.start == HUB.encode() for row in rows) == 100
    weights = [row.said["weight"] for row in rows]
    assert 150 < weights.count(1.0) < 200
    assert {0.5, 2.0} < set(weights)


def test_hostile_texts_arrive_as_they_are() -> None:
    with World(hostile()) as world:
        edges = get(world, f"{HUB}?limit=100").json()["edges"]
    assert len(edges) == 2 * len(HOSTILE)
    for text in HOSTILE:
        assert any(
            edge["end"]["@id"] == f"/c/en/{text}"
            and edge["license"] == edge["surfaceText"] == text
            and edge["dataset"] == f"/d/{text}"
            for edge in edges
        )
        assert any(edge["rel"]["@id"] == f"/r/{text}" for edge in edges)


def test_some_hostile_texts_are_well_formed_concepts_and_some_are_not() -> None:
    assert {is_concept(f"/c/en/{text}") for text in HOSTILE} == {True, False}


# The server


def test_without_a_fault_it_is_honest_and_keeps_what_was_asked() -> None:
    with World(hub(7)) as world:
        assert len(get(world, f"{HUB}?limit=5").json()["edges"]) == 5
        assert len(all_pages(world, f"/query?node={HUB}&limit=2")) == 7
        assert world.paths == [
            f"{HUB}?limit=5",
            f"/query?node={HUB}&limit=2",
            f"/query?node={HUB}&offset=2&limit=2",
            f"/query?node={HUB}&offset=4&limit=2",
            f"/query?node={HUB}&offset=6&limit=2",
        ]
        assert world.most_at_once == 1


@pytest.mark.parametrize(
    ("target", "shown"),
    [(HUB, 20), (f"/query?node={HUB}", 30), (f"{HUB}?limit=1000", 30), (f"{HUB}?limit=7", 7)],
)
def test_the_page_size_clamps_the_limit(target: str, shown: int) -> None:
    with World(hub(60), page_size=30) as world:
        page = get(world, target).json()
    assert len(page["edges"]) == shown
    assert page["view"]["nextPage"].endswith(f"offset={shown}&limit={shown}")


def test_shuffled_pages_lose_and_repeat_edges_of_equal_weight() -> None:
    with World(hub(60), page_size=10, shuffle=Random(1)) as world:
        found = all_pages(world, f"{HUB}?limit=1000")
    assert len(found) == 60
    assert len(set(found)) < 60


def test_a_shuffled_page_that_holds_everything_is_whole_and_in_order_of_weight() -> None:
    with World(hub(60), shuffle=Random(1)) as world:
        pages = [get(world, f"{HUB}?limit=1000").json()["edges"] for _ in range(2)]
    first, second = ([edge["@id"] for edge in page] for page in pages)
    assert first != second
    assert set(first) == set(second)
    weights = [edge["weight"] for edge in pages[0]]
    assert weights == sorted(weights, reverse=True)


def test_the_same_seed_is_the_same_disorder() -> None:
    def found() -> list[str]:
        with World(hub(60), page_size=10, shuffle=Random(7)) as world:
            return all_pages(world, HUB)

    assert found() == found()


@pytest.mark.parametrize("shuffle", [None, Random(1)])
def test_the_cap_comes_before_the_sort(shuffle: Random | None) -> None:
    heaviest = line("/r/IsA", HUB, "/c/en/last", 99.0)
    with World([*hub(60), heaviest], cap=50, shuffle=shuffle) as world:
        found = all_pages(world, f"{HUB}?limit=1000")
        assert len(found) == 50
        assert not any("/c/en/last/" in uri for uri in found)
        assert len(all_pages(world, f"/query?start={HUB}&rel=/r/IsA")) < 50


def test_it_counts_simultaneous_requests() -> None:
    together = Barrier(3, timeout=30)

    def waits(asked: Asked, proceed: Proceed) -> Reply:
        together.wait()
        return proceed(asked)

    with World(hub(1), waits) as world:
        in_threads(3, lambda: get(world))
        assert world.most_at_once == 3


def test_down_is_the_502_of_nginx_until_it_is_up_again() -> None:
    with World(hub(1)) as world:
        world.down = True
        reply = get(world)
        world.down = False
        assert get(world).status == 200
        assert world.paths == [HUB, HUB]
    assert (reply.status, reply.headers["Content-Type"]) == (502, "text/html")
    assert b"<center>nginx</center>" in reply.body


def test_it_refuses_and_accepts_on_the_same_port() -> None:
    with World(hub(1)) as world, client_of(world) as client:
        client.get(HUB)
        kept, url = client.connection.sock, world.url
        world.refuse()
        assert kept is not None
        assert kept.recv(1) == b""
        for _ in range(2):
            with pytest.raises(ConnectionRefusedError):
                get(world)
        world.accept()
        assert get(world).status == 200
        assert world.url == url
        assert len(world.paths) == 2


def test_it_may_be_closed_while_it_refuses() -> None:
    with World(hub(1)) as world:
        world.refuse()
    with pytest.raises(ConnectionRefusedError):
        get(world)


def test_it_can_die_in_the_middle_of_a_request() -> None:
    def dies(asked: Asked, proceed: Proceed) -> Reply:
        world.refuse()
        return proceed(asked)

    with World(hub(1), only(nth(2), dies)) as world:
        assert get(world).status == 200
        with pytest.raises((HTTPException, ConnectionError)):
            get(world)
        with pytest.raises(ConnectionRefusedError):
            get(world)


def test_latency_delays_each_answer() -> None:
    with World(hub(1), latency=0.02) as world:
        began = monotonic()
        assert statuses(world, HUB, HUB) == [200, 200]
    assert monotonic() - began >= 0.04


@pytest.mark.parametrize("end", [World.refuse, lambda world: world.__exit__()])
def test_a_delayed_request_is_cut_off_when_the_world_ends(end: Callable[[World], None]) -> None:
    def is_cut_off() -> None:
        with pytest.raises((HTTPException, ConnectionError)):
            get(world)
        cut_off.append(True)

    cut_off: list[bool] = []
    with World(hub(1), latency=600.0) as world:
        waiting = Thread(target=is_cut_off)
        waiting.start()
        world.wait_for(1)
        end(world)
        waiting.join(timeout=30)
    assert cut_off == [True]


def test_waiting_for_requests_that_never_come_ends() -> None:
    with World(hub(1)) as world, pytest.raises(TimeoutError, match="0 requests instead of 1"):
        world.wait_for(1, timeout=0.01)


# Faults


@pytest.mark.parametrize("status", [500, 502])
def test_one_request_fails_once(status: int) -> None:
    with World(hub(1), only(nth(2), fails(status))) as world:
        assert statuses(world, HUB, HUB, HUB) == [200, status, 200]


def test_a_poisoned_uri_fails_each_time_as_path_and_as_parameter() -> None:
    poisoned = "/c/en/neighbour_0"
    encoded = f"/query?node={poisoned.replace('/', '%2F')}"
    with World(hub(3), only(about(poisoned), fails(500))) as world:
        assert statuses(world, poisoned, encoded, poisoned) == [500, 500, 500]
        assert statuses(world, HUB, f"{poisoned}0", f"/query?node={HUB}") == [200, 200, 200]
        error = get(world, poisoned).json()["error"]
    assert error == {"details": "Internal server error", "status": 500}


def test_too_many_requests_are_429_in_html_without_retry_after_until_the_fault_is_lifted() -> None:
    with World(hub(1), only(after(2), fails(429))) as world:
        assert statuses(world, HUB, HUB, HUB) == [200, 200, 429]
        reply = get(world)
        world.fault = None
        assert get(world).status == 200
    assert reply.headers["Content-Type"].startswith("text/html")
    assert "Retry-After" not in reply.headers
    assert b"600 per 1 minute" in reply.body


def test_html_with_status_200_for_one_path() -> None:
    with World(hub(1), only(about(HUB), in_html)) as world:
        reply, other = get(world), get(world, "/c/en")
    assert (reply.status, reply.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert reply.body.startswith(b"<!DOCTYPE html>")
    assert other.json()["edges"]


def test_an_error_inside_http_200() -> None:
    with World(hub(1), error_inside) as world:
        reply = get(world)
    assert (reply.status, reply.json()["error"]["status"]) == (200, 500)
    assert "edges" not in reply.json()


def test_truncated_json_is_whole_http() -> None:
    with World(hub(3), truncated) as world:
        reply = get(world)
    assert (reply.status, reply.headers["Content-Type"]) == (200, "application/json")
    assert int(reply.headers["Content-Length"]) == len(reply.body)
    with pytest.raises(json.JSONDecodeError):
        reply.json()


def test_no_edges_key() -> None:
    with World(hub(3), without_edges) as world:
        page = get(world).json()
    assert (page["@id"], "edges" in page) == (HUB, False)


def test_an_edge_without_an_end() -> None:
    with World(hub(3), edge_without_end) as world:
        edges = get(world).json()["edges"]
        assert get(world, "/c/en/zzzz").json()["edges"] == []
    assert ["end" in edge for edge in edges] == [False, True, True]
    assert parse_assertion(edges[0]["@id"])


@pytest.mark.parametrize("target", [f"{HUB}?limit=2", f"{HUB}?limit=2&offset=4", f"{HUB}?limit=9"])
def test_a_page_that_is_its_own_next_page(target: str) -> None:
    with World(hub(5), repeats_itself) as world:
        page = get(world, target).json()
        again = get(world, page["view"]["nextPage"]).json()
        first = get(world, target.replace("offset", "ignored")).json()
    assert page["view"]["nextPage"] == target
    assert again == page
    assert page["edges"] == first["edges"] != []


def test_faults_are_chained_and_leave_redirects_alone() -> None:
    with World(hub(3), chain(only(nth(1), fails(502)), without_edges, repeats_itself)) as world:
        assert get(world).status == 502
        page = get(world).json()
        assert get(world, f"/{HUB}").status == 308
    assert ("edges" in page, page["view"]["nextPage"]) == (False, HUB)


def test_a_chain_of_nothing_is_honest() -> None:
    with World(hub(3), chain()) as world:
        assert len(get(world).json()["edges"]) == 3

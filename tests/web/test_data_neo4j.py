"""The data behind the pages, over a graph in Neo4j, on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from neo4j import GraphDatabase, Query

from tests.support.graph_world import graph_in
from tests.support.neo4j_server import AnyServer, ask
from tests.support.wires import Wire
from tests.web.data_contract import BARKS, DataContract, fill
from tests.web.scene import HOSTILE
from tools.add import Counts, Graph
from tools.conceptnet.graph import graph_counts, open_reader
from tools.conceptnet.rules import ALL_RELATIONS
from tools.errors import Unavailable
from tools.graphs.cypher import TypedTexts
from tools.graphs.cypher_reader import FILES, MARK, NAMES, TypedReading
from tools.graphs.neo4j import Neo4jGraph
from tools.graphs.neo4j_address import Address
from tools.graphs.neo4j_reader import PAGE_S
from tools.graphs.reader import FIRST, Reader
from tools.web.data import search
from tools.web.data.growing import Grower
from tools.web.data.queries import queries
from tools.web.data.sidecar import Sidecar


@pytest.fixture
def open_store(empty_neo4j: AnyServer) -> Callable[[], Graph]:
    return lambda: graph_in(empty_neo4j)


@pytest.fixture
def open_data(empty_neo4j: AnyServer) -> Callable[[], Reader]:
    return lambda: open_reader(empty_neo4j.url, empty_neo4j.password)


class TestData(DataContract): ...


def test_the_search_goes_by_key_and_reads_no_relation(empty_neo4j: AnyServer) -> None:
    with closing(graph_in(empty_neo4j)) as graph:
        fill(graph)
    for query in (NAMES, FILES):
        found = operators(empty_neo4j, query)
        assert any("IndexSeek" in each for each in found), found
        assert not [each for each in found if "Sort" in each or "Top" in each], found
        assert not [each for each in found if "Expand" in each or "Label" in each], found


def test_nodes_of_others_with_our_label_do_not_end_the_search(
    empty_neo4j: AnyServer, tmp_path: Path
) -> None:
    with closing(graph_in(empty_neo4j)) as graph:
        fill(graph)
    ask(empty_neo4j, "CREATE (:Entity {uri: '/c/en/aaa'}), (:Entity {uri: 'zzz', name: 7})")
    with (
        closing(open_reader(empty_neo4j.url, empty_neo4j.password)) as reader,
        closing(Sidecar(tmp_path / "search.db")) as sidecar,
    ):
        grower = Grower(reader, sidecar)
        while grower.step():
            pass
        assert search.find(reader, sidecar, "dog")[0].uri == "/c/en/dog"


def test_whether_it_changed_is_told_without_reading_it(empty_neo4j: AnyServer) -> None:
    """It is asked every second, however large the graph is."""
    with closing(graph_in(empty_neo4j)) as graph:
        fill(graph)
    found = set(operators(empty_neo4j, MARK))
    assert {each for each in found if "CountStore" in each} and not [
        each for each in found if "Scan" in each or "Seek" in each or "Expand" in each
    ], found


def test_a_crowd_is_counted_and_gone_through_without_reading_it(empty_neo4j: AnyServer) -> None:
    with closing(graph_in(empty_neo4j)) as graph:
        fill(graph)
    texts = TypedReading(ALL_RELATIONS)
    for is_outward, query in texts.degree_by_side.items():
        assert not [each for each in operators(empty_neo4j, query) if "Expand" in each], is_outward
    outward = operators(empty_neo4j, texts.side_by_uri["IsA", True])
    assert any("Relationship" in each and "IndexSeek" in each for each in outward), outward
    assert not [each for each in outward if "Sort" in each or "Top" in each], outward


def test_a_graph_too_large_to_be_counted_soon_is_known_by_numbers_at_hand(
    empty_neo4j: AnyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is ours counts, as long as the server can tell that in time."""
    with closing(graph_in(empty_neo4j)) as graph:
        fill(graph)
        whole = graph.counts()
    ask(empty_neo4j, "CREATE (:Entity {name: 'no uri'})-[:IsA]->(:Media)")
    url, password = empty_neo4j.url, empty_neo4j.password
    assert graph_counts(url, password, soon=True) == whole

    def late(self: Neo4jGraph, seconds: float) -> Counts:
        assert seconds <= PAGE_S
        raise Unavailable("did not answer in time")

    monkeypatch.setattr(Neo4jGraph, "counts", late)
    assert graph_counts(url, password, soon=True) == tuple(each + 1 for each in whole)


def test_what_is_at_hand_is_told_without_reading_the_graph(empty_neo4j: AnyServer) -> None:
    with closing(graph_in(empty_neo4j)) as graph:
        fill(graph)
    found = set(operators(empty_neo4j, TypedTexts(ALL_RELATIONS).at_hand))
    assert {each for each in found if "CountStore" in each} and not [
        each for each in found if "Scan" in each or "Seek" in each or "Expand" in each
    ], found


def test_queries_to_copy_are_cypher_whatever_a_name_holds(empty_neo4j: AnyServer) -> None:
    with closing(graph_in(empty_neo4j)) as graph:
        fill(graph)
    for name in ("dog", "o'neil\\", *HOSTILE):
        for each in queries(f"/c/en/{name}", name, f"$uri {name}"):
            assert operators(empty_neo4j, each.cypher), each.title


def test_figures_count_nothing_twice(
    empty_neo4j: AnyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(graph_in(empty_neo4j)) as graph:
        fill(graph)
        whole = graph.counts()
    ask(empty_neo4j, "CREATE (:Entity {name: 'no uri'})-[:IsA]->(:Media)")
    monkeypatch.delattr(Neo4jGraph, "counts")
    with closing(open_reader(empty_neo4j.url, empty_neo4j.password)) as reader:
        assert reader.numbers().counts == whole


# --- a server that does not answer ----------------------------------------------------------------

QUESTIONS: dict[str, Callable[[Reader], object]] = {
    "counts": lambda reader: reader.counts(),
    "change_mark": lambda reader: reader.change_mark(),
    "entities_at": lambda reader: reader.entities_at(["/c/en/dog"]),
    "relations_at": lambda reader: reader.relations_at([BARKS.uri]),
    "media_of": lambda reader: reader.media_of(["/c/en/dog", BARKS.uri]),
    "files_at": lambda reader: reader.files_at(["en/dog/image/1.png"]),
    "senses": lambda reader: reader.senses("dog", 1),
    "degree_by_side": lambda reader: reader.degree_by_side("/c/en/dog"),
    "sides": lambda reader: reader.sides("/c/en/dog", 1, True),
    "side": lambda reader: reader.side("/c/en/dog", "IsA", True, 1, True, FIRST),
    "of_type": lambda reader: reader.of_type("IsA", 1, ""),
    "links": lambda reader: reader.links(["/c/en/dog"], 1),
    "entity_page": lambda reader: reader.entity_page("", 1),
    "file_page": lambda reader: reader.file_page("", 1),
    "numbers": lambda reader: reader.numbers(),
}


def test_a_server_that_falls_silent_hangs_no_page(
    empty_neo4j: AnyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its driver would wait two minutes for it, whatever deadline the question has."""
    asked = {name for name in dir(Reader) if not name.startswith("_")} - {"close"}
    assert asked == set(QUESTIONS), "each question is asked here"
    for name in ("neo4j_reader.PAGE_S", "neo4j_reader.ASIDE_S", "neo4j.GRACE_S"):
        monkeypatch.setattr(f"tools.graphs.{name}", 0.1)
    with wired(empty_neo4j) as (url, wire), closing(open_reader(url, empty_neo4j.password)) as it:
        wire.cut()
        for question in QUESTIONS.values():
            with pytest.raises(Unavailable, match="cannot be reached"):
                question(it)
        wire.heal()


def test_what_takes_the_server_too_long_is_told_so(empty_neo4j: AnyServer) -> None:
    endless = "UNWIND range(1, 1000000000) AS n WITH n WHERE n % 7 = 8 RETURN count(n)"
    graph = Neo4jGraph(Address.of(empty_neo4j.url), empty_neo4j.password, ALL_RELATIONS)
    with closing(graph), pytest.raises(Unavailable, match="did not answer in time"):
        graph.ask(endless, 0.1)


@contextmanager
def wired(server: AnyServer) -> Iterator[tuple[str, Wire]]:
    """Its address at the other end of a wire. By bolt: else it would tell its own address."""
    parts, begun, end = urlsplit(server.url), Future[tuple[int, Wire]](), Event()

    async def hold() -> None:
        wire = Wire(asyncio.get_running_loop(), 0)
        carry = partial(wire.carry, parts.port or 7687)
        async with await asyncio.start_server(carry, "127.0.0.1") as listening:
            begun.set_result((listening.sockets[0].getsockname()[1], wire))
            await asyncio.to_thread(end.wait, 120)

    thread = Thread(target=lambda: asyncio.run(hold()), name="wire", daemon=True)
    thread.start()
    port, wire = begun.result(10)
    try:
        yield f"bolt://{parts.username}@127.0.0.1:{port}{parts.path}", wire
    finally:
        end.set()
        thread.join(10)


def operators(server: AnyServer, query: str) -> list[str]:
    """By which the server would answer."""
    address = Address.of(server.url)
    with GraphDatabase.driver(address.server, auth=(address.user, server.password)) as driver:
        given = dict.fromkeys(("concept", "beginning", "after"), "") | {"limit": 1}
        plan = driver.execute_query(Query(f"EXPLAIN {query}"), given).summary.plan
    return list(_named(plan))


def _named(plan: Any) -> Iterator[str]:
    yield plan["operatorType"]
    for each in plan.get("children", ()):
        yield from _named(each)

"""The data behind the pages, over a graph in Neo4j, on a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from neo4j import GraphDatabase, Query

from tests.support.graph_world import graph_in
from tests.support.neo4j_server import AnyServer, ask
from tests.web.data_contract import DataContract, fill
from tools.add import Graph
from tools.conceptnet.graph import open_reader
from tools.conceptnet.rules import ALL_RELATIONS
from tools.graphs.cypher_reader import FILES, MARK, NAMES, TypedReading
from tools.graphs.neo4j_address import Address
from tools.graphs.reader import Reader
from tools.web.data import search
from tools.web.data.growing import Grower
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

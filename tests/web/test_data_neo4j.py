"""The data behind the pages, over a graph in Neo4j, on a real server."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.graph_world import graph_in
from tests.support.neo4j_server import AnyServer, ask
from tests.web.data_contract import DataContract, fill
from tools.add import Graph
from tools.conceptnet.graph import open_reader
from tools.graphs.reader import Reader
from tools.web.data import search
from tools.web.data.sidecar import Sidecar


@pytest.fixture
def open_store(empty_neo4j: AnyServer) -> Callable[[], Graph]:
    return lambda: graph_in(empty_neo4j)


@pytest.fixture
def open_data(empty_neo4j: AnyServer) -> Callable[[], Reader]:
    return lambda: open_reader(empty_neo4j.url, empty_neo4j.password)


class TestData(DataContract): ...


def test_a_graph_of_an_earlier_version_is_searched_by_the_indexes_it_has(
    empty_neo4j: AnyServer, tmp_path: Path
) -> None:
    with closing(graph_in(empty_neo4j)) as graph:
        fill(graph)
        ask(empty_neo4j, "DROP INDEX sheaf_entity_text")
    with (
        closing(open_reader(empty_neo4j.url, empty_neo4j.password)) as reader,
        closing(Sidecar(tmp_path / "search.db")) as sidecar,
    ):
        found = [each.uri for each in search.find(reader, sidecar, "dog")]
        assert found == ["/c/en/dog", "/c/en/dogma"]

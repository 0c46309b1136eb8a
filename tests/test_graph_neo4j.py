"""The graph in Neo4j, on a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.conftest import AnyServer
from tests.store_contract import StoreContract
from tools.add import Graph
from tools.graphs import open_graph


@pytest.fixture
def open_store(neo4j_server: AnyServer) -> Iterator[Callable[[], Graph]]:
    def open_again() -> Graph:
        return open_graph(neo4j_server.url, neo4j_server.password)

    first = open_again()
    first.clear()
    first.close()
    yield open_again


class TestContract(StoreContract): ...

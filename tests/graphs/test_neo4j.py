"""The graph in Neo4j, on a real server."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.graph_world import graph_in
from tests.support.neo4j_server import AnyServer
from tests.support.store_contract import StoreContract
from tools.add import Graph
from tools.graphs import neo4j as neo4j_module
from tools.graphs.cypher import TypedTexts


@pytest.fixture
def open_store(empty_neo4j: AnyServer) -> Callable[[], Graph]:
    return lambda: graph_in(empty_neo4j)


class TestContract(StoreContract): ...


def test_every_cypher_text_stands_in_one_place() -> None:
    """Nothing from outside can become part of a text that is never put together elsewhere."""
    source = Path(neo4j_module.__file__).read_text(encoding="utf-8")
    texts = re.findall(r"\.run\(\s*([^,)]+)", source)
    assert len(texts) > 5
    for text in texts:
        assert re.fullmatch(r'"RETURN 1"|query|cypher\.[A-Z_]+|typed\.[a-z_]+\[type_\]', text)
    assert not re.search(r"\b(MATCH|MERGE|CREATE|DELETE|UNWIND) ", source)


@pytest.mark.parametrize("name", ["", "IsA`]-() DELETE r //", "Is A", "%s", "1st"])
def test_a_type_of_relation_is_a_plain_name_or_no_text_is_made(name: str) -> None:
    with pytest.raises(ValueError, match="not a type of relation"):
        TypedTexts(["IsA", name])

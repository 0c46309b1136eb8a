"""Where records go: an address says which kind of graph it is.

`types` are the types of relations that a graph can hold: a job knows them, a server does not.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from ..add import Counts, Graph
from ..errors import UsageError
from . import sqlite
from .reader import Reader
from .sqlite import SqliteGraph
from .sqlite_reader import SqliteReader

if TYPE_CHECKING:
    from .neo4j import Neo4jGraph


def open_graph(url: str, types: Sequence[str], password: str = "") -> Graph:
    """Ready to be written, made if it is not there yet."""
    if is_embedded(url):
        return SqliteGraph(sqlite_path(url))
    graph = _neo4j(url, types, password)
    try:
        graph.prepare()
    except BaseException:
        graph.close()
        raise
    return graph


def visit_graph(url: str, types: Sequence[str], password: str = "") -> Graph | None:
    """To be read, as it is and nothing made; None if there is no such file."""
    if not is_embedded(url):
        return _neo4j(url, types, password)
    path = sqlite_path(url)
    return SqliteGraph(path, writable=False) if path.exists() else None


def open_reader(url: str, types: Sequence[str], password: str = "") -> Reader:
    """For pages and statistics: nothing is made or changed. UsageError if there is no graph."""
    if is_embedded(url):
        return SqliteReader(sqlite_path(url))
    from .neo4j_reader import Neo4jReader

    return Neo4jReader(_neo4j(url, types, password), types)


def graph_counts(
    url: str, types: Sequence[str], password: str = "", soon: bool = False
) -> Counts | None:
    """Of a graph that somebody else may be writing; None if there is none yet. Those who look again
    and again ask `soon`: of a large one what others store there may count too."""
    if is_embedded(url):
        try:
            return sqlite.look(sqlite_path(url))
        except sqlite3.Error:
            return None
    with closing(_neo4j(url, types, password)) as graph:
        return graph.counts_soon() if soon else graph.counts()


def name_of(url: str) -> str:
    """What its user types before it is emptied."""
    if is_embedded(url):
        return sqlite_path(url).name
    from .neo4j_address import Address

    return Address.of(url).database


def is_same(one: str, other: str) -> bool:
    if is_embedded(one) and is_embedded(other):
        return sqlite_path(one).resolve() == sqlite_path(other).resolve()
    return one == other


def is_there(url: str) -> bool:
    """Is there anything to open? Only a server knows that of its own."""
    return not is_embedded(url) or sqlite_path(url).exists()


def is_embedded(url: str) -> bool:
    return "://" not in url


def sqlite_path(url: str) -> Path:
    """
    >>> sqlite_path("sqlite:state/graph.db").as_posix()
    'state/graph.db'
    """
    kind, _, rest = url.partition(":")
    if kind != "sqlite" or not rest:
        raise UsageError(
            f"the graph {url!r} is not known: write it like sqlite:PATH or neo4j://user@host:7687"
        )
    return Path(rest)


def _neo4j(url: str, types: Sequence[str], password: str) -> Neo4jGraph:
    """The driver is imported only by those who use it: it takes a quarter of a second."""
    from .neo4j import Neo4jGraph
    from .neo4j_address import Address

    return Neo4jGraph(Address.of(url), password, types)

"""Where records go."""

from __future__ import annotations

from pathlib import Path

from tools.errors import UsageError
from tools.graphs.sqlite import SqliteGraph


def open_graph(url: str) -> SqliteGraph:
    return SqliteGraph(sqlite_path(url))


def sqlite_path(url: str) -> Path:
    """
    >>> sqlite_path("sqlite:state/graph.db").as_posix()
    'state/graph.db'
    """
    kind, _, rest = url.partition(":")
    if kind != "sqlite" or not rest:
        raise UsageError(f"the graph {url!r} is not known: write it like sqlite:PATH")
    return Path(rest)

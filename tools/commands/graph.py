"""The graph that a command reads."""

from __future__ import annotations

from ..add import Graph
from ..conceptnet.graph import visit_graph
from ..errors import UsageError


def existing_graph(url: str, password: str) -> Graph:
    graph = visit_graph(url, password)
    if graph is None:
        raise UsageError(f"there is no graph at {url}")
    return graph

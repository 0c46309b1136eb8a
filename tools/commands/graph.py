"""The graph that a command reads."""

from __future__ import annotations

from ..add import Graph
from ..errors import UsageError
from ..graphs.open import visit_graph


def existing_graph(url: str, password: str) -> Graph:
    graph = visit_graph(url, password)
    if graph is None:
        raise UsageError(f"there is no graph at {url}")
    return graph

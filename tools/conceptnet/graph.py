"""Graphs that hold ConceptNet's relations: opened, visited, looked at."""

from __future__ import annotations

from ..add import Counts, Graph
from ..graphs import open as graphs
from ..graphs.reader import Reader
from .rules import ALL_RELATIONS


def open_graph(url: str, password: str = "") -> Graph:
    """Ready to be written, made if it is not there yet."""
    return graphs.open_graph(url, ALL_RELATIONS, password)


def visit_graph(url: str, password: str = "") -> Graph | None:
    """To be read, as it is and nothing made; None if there is no such file."""
    return graphs.visit_graph(url, ALL_RELATIONS, password)


def open_reader(url: str, password: str = "") -> Reader:
    """For pages and statistics; UsageError if there is no graph."""
    return graphs.open_reader(url, ALL_RELATIONS, password)


def graph_counts(url: str, password: str = "", soon: bool = False) -> Counts | None:
    """Of a graph that somebody else may be writing; None if there is none yet."""
    return graphs.graph_counts(url, ALL_RELATIONS, password, soon)

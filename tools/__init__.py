"""Sheaf for programs: read a graph that was harvested, or harvest one.

Installed, this package is called `sheaf`; in a clone `import sheaf` gives it too. What stands in
`__all__` is promised to stay; nothing is loaded before it is used. Errors that are raised on
purpose are those of `sheaf.errors`, each one sentence.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .base.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .add import Counts, Graph, Media, Relation

__all__ = ["VERSION", "harvest", "media_of", "neighbours", "open_graph"]


@contextmanager
def open_graph(url: str = "sqlite:state/graph.db", password: str = "") -> Iterator[Graph]:
    """A graph to read, while it may still grow: `sqlite:PATH`, or `neo4j://user@host:7687`.

    with sheaf.open_graph("sqlite:state/graph.db") as graph:
        print(graph.counts().entities)

    The password of a server may also stand in SHEAF_NEO4J_PASSWORD. There is nothing to read:
    UsageError; the server does not answer: Unreachable.
    """
    from contextlib import closing

    from .base import extras
    from .conceptnet.graph import visit_graph
    from .errors import UsageError

    with extras.named():
        graph = visit_graph(url, password or os.environ.get("SHEAF_NEO4J_PASSWORD", ""))
    if graph is None:
        raise UsageError(f"there is no graph at {url}")
    with closing(graph):
        yield graph


def neighbours(graph: Graph, concept: str, language: str = "en") -> list[Relation]:
    """Every relation that begins or ends at a concept, the heaviest first.

    for relation in sheaf.neighbours(graph, "dog"):
        print(relation.start, relation.type, relation.end, relation.weight)

    The concept is a URI such as /c/en/dog, or words of this language.
    """
    return graph.neighbours(_uri(concept, language))


def media_of(graph: Graph, concept: str, language: str = "en") -> list[Media]:
    """The files of a concept, or of a relation by its URI, each with its licence and author.

    for file in sheaf.media_of(graph, "dog"):
        print(file.path, file.kind, file.license, file.author, file.page)

    Paths begin in the media folder of the harvest.
    """
    uri = _uri(concept, language)
    return graph.media_of([uri]).get(uri, [])


def harvest(
    *seeds: str,
    source: str | None = None,
    state: str | os.PathLike[str] | None = None,
    media: str | os.PathLike[str] | None = None,
    graph: str | None = None,
    config: str | os.PathLike[str] | None = None,
    limit: int | None = None,
    depth: int | None = None,
    with_media: bool = True,
    sample: bool = False,
) -> Counts:
    """Harvest as the command does, in a process of its own, and count what is in the graph then.

    counts = sheaf.harvest("dog", "cat", source="http://127.0.0.1:8084", limit=1000)
    print(counts.entities, counts.relations, counts.media)

    What is not given is as in `config`, or sheaf.toml in this folder, or the default. The same call
    again goes on where it stopped. Ctrl-C stops it like `sheaf stop`, and nothing is lost; if this
    program is killed the harvest goes on. What would end the command is raised: UsageError, ...
    """
    from .commands.child import flags_of, run_to_end

    places = {"state": state, "graph": graph, "media": media}
    walk = {"source": source, "seed": seeds, "limit": limit, "depth": depth, "sample": sample}
    given = {"quiet": True, "config": config, **places, **walk, "no-media": not with_media}
    run_to_end(flags_of(given))
    return _counted(config, {name: place and os.fspath(place) for name, place in places.items()})


def _uri(concept: str, language: str) -> str:
    from .conceptnet.seeds import concept_named

    return concept if concept.startswith("/a/") else concept_named(concept, (language,))


def _counted(config: str | os.PathLike[str] | None, places: dict[str, object]) -> Counts:
    from pathlib import Path

    from .conceptnet.graph import graph_counts
    from .settings import load

    settings = load(None if config is None else Path(config), places)
    counts = graph_counts(settings.graph_url, settings.neo4j.password)
    assert counts is not None, f"{settings.graph_url} is gone"  # noqa: S101
    return counts

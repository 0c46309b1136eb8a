"""The embedded graph: how many relations a CPU second writes, new and again, and looking up."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.report import RUNS, Row, Say
from bench.server import RELATIONS, concept
from tools.add import Entity, Relation, endpoints
from tools.graphs.sqlite import SqliteGraph

PAGE = 20  # relations
LOOKUPS = 20_000


class Page(NamedTuple):
    entities: Sequence[Entity]
    relations: Sequence[Relation]


class Figures(NamedTuple):
    first: float
    again: float
    lookups: float


def measure(scale: float, say: Say) -> Iterator[Row]:
    count = round(200_000 * scale)
    pages = made_up_pages(count // PAGE, random.Random(1))
    runs = []
    for number in range(1, RUNS + 1):
        say(f"graph {count:,} relations in pages of {PAGE}, run {number}")
        runs.append(one_run(pages, round(LOOKUPS * scale)))
    size = f"{count:,} relations, a transaction for each {PAGE}"
    yield Row(f"{size}: written", [run.first for run in runs], " per CPU second", 0)
    yield Row(f"{size}: the same again", [run.again for run in runs], " per CPU second", 0)
    yield Row("neighbourhoods looked up", [run.lookups for run in runs], " per second", 0)


def one_run(pages: Sequence[Page], lookups: int) -> Figures:
    with TemporaryDirectory(prefix="bench-") as folder:
        graph = SqliteGraph(Path(folder) / "graph.db")
        try:
            first, again = write_all(graph, pages), write_all(graph, pages)
            if graph.counts().relations != len(pages) * PAGE:
                raise RuntimeError("writing twice changed the graph")
            return Figures(first, again, look_up(graph, len(pages), lookups))
        finally:
            graph.close()


def write_all(graph: SqliteGraph, pages: Sequence[Page]) -> float:
    """Relations per CPU second."""
    begun = time.process_time()
    for page in pages:
        graph.write(page.entities, page.relations)
    return len(pages) * PAGE / (time.process_time() - begun)


def look_up(graph: SqliteGraph, concepts: int, lookups: int) -> float:
    chosen = [concept(number) for number in random.Random(2).choices(range(concepts), k=lookups)]
    begun = time.perf_counter()
    found = sum(len(graph.neighbours(each)) for each in chosen)
    if found < lookups * PAGE:
        raise RuntimeError("a neighbourhood is not whole")
    return lookups / (time.perf_counter() - begun)


def made_up_pages(count: int, chance: random.Random) -> list[Page]:
    """Each concept has `PAGE` relations of its own to others; all together they are distinct."""
    pages = []
    for number in range(count):
        ends = chance.sample(range(count), PAGE)
        relations = [_relation(number, end, chance.choice(RELATIONS)) for end in ends]
        pages.append(Page([Entity.of(each) for each in endpoints(relations)], relations))
    return pages


def _relation(start: int, end: int, kind: str) -> Relation:
    uri = f"/a/[/r/{kind}/,{concept(start)}/,{concept(end)}/]"
    text = f"[[concept {start}]] is related to [[concept {end}]]"
    dataset = "/d/conceptnet/4/en"
    return Relation(uri, kind, concept(start), concept(end), 2.0, text, "cc:by/4.0", dataset)

"""Neo4j: relations per second into a real server, ours beside a transaction for each concept and
beside a bare loop around the driver, one after the other on the same server in the same minutes.

Ours are the two ways in which this project writes: the groups in which a harvest stores its pages,
and the batches of `main.py copy`.
"""

from __future__ import annotations

import gc
import json
import os
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from neo4j import Driver, GraphDatabase, ManagedTransaction

from bench.child import said_by
from bench.report import RUNS, Bar, Row, Say, shown
from bench.server import concept
from tools.add import Adder, Entity, Page, Relation, endpoints
from tools.conceptnet.rules import ALL_RELATIONS, RELATIONS
from tools.engine.committer import MOST_AT_ONCE
from tools.exports.catalogue import export
from tools.graphs.copy import batches
from tools.graphs.neo4j import Neo4jGraph
from tools.graphs.neo4j_address import Address
from tools.graphs.sqlite import SqliteGraph

ROOT = Path(__file__).resolve().parent.parent
HEAP = "1g"
CONCEPTS = 40_000
COUNT = 100_000  # relations
SLOW_PAGES = 1_000  # what is measured of a transaction for each concept
SMALL_GROUP = 64  # pages: as many as a harvest with 64 workers can have waiting
SMALL_PAGES = 8_000
WARM_PAGES = 4_000
WARM_SLOW_PAGES = 500
BARE_SIZES = (1_000, 5_000, 20_000)  # relations in a transaction of the bare loop


class World(NamedTuple):
    """Pages in the order of a walk; the same records in the order in which a graph is read."""

    pages: Sequence[Page]
    entities: Sequence[Entity]
    relations: Sequence[Relation]

    @classmethod
    def of(cls, pages: Sequence[Page]) -> World:
        entities = {each for page in pages for each in page.entities}
        relations = [each for page in pages for each in page.relations]
        return cls(pages, sorted(entities), sorted(relations))

    def first(self, pages: int) -> World:
        return World.of(self.pages[:pages])


class Place(NamedTuple):
    """A server that runs: ours and the bare driver, each with connections of its own."""

    url: str
    password: str
    graph: Neo4jGraph
    driver: Driver


class Files(NamedTuple):
    """The same world as `copy` and `import` want it."""

    embedded: Path
    exported: Path


class Figures(NamedTuple):
    """Relations per second."""

    each: float
    groups: float
    small: float
    batches: float
    again: float
    bare: dict[int, float]
    copy: float
    imported: float

    @property
    def best(self) -> float:
        return max(self.bare.values())


Load = Callable[[World], object]


def measure(scale: float, say: Say) -> Iterator[Row]:
    world = made_up_world(round(CONCEPTS * scale), round(COUNT * scale), random.Random(1))
    gc.collect()
    gc.freeze()  # what is only here to be measured with is not the writers' burden
    with TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        files = write_files(world, folder)
        say("neo4j: starting the server")
        with server(folder / "home") as place:
            warm_up(place, world, say)
            runs = [one_run(place, world, files, scale, n, say) for n in range(1, RUNS + 1)]
    gc.unfreeze()
    yield from compared(f"{len(world.relations):,} relations", runs)


def compared(size: str, runs: Sequence[Figures]) -> Iterator[Row]:
    each, best = [run.each for run in runs], [run.best for run in runs]
    groups, batched = [run.groups for run in runs], [run.batches for run in runs]
    for peer, theirs, bar in (
        ("a transaction for each concept", each, Bar(">=", 5)),
        ("bare driver", best, Bar(">=", 0.7)),
    ):
        yield ratio(f"{size}: group writes / {peer}", groups, theirs, bar)
        yield ratio(f"{size}: copy's batches / {peer}", batched, theirs, bar)
    yield rate(f"group writes of {SMALL_GROUP} pages", [run.small for run in runs])
    for number in BARE_SIZES:
        what = f"bare driver, {number:,} relations in a transaction"
        yield rate(what, [run.bare[number] for run in runs])
    yield rate("copy's batches, the same again", [run.again for run in runs])
    yield rate("main.py copy, verification included", [run.copy for run in runs])
    yield rate("scripts/neo4j import", [run.imported for run in runs])


def ratio(what: str, ours: Sequence[float], theirs: Sequence[float], bar: Bar) -> Row:
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    return Row(what, ratios, "", 2, bar, f"{shown(ours)}/s", f"{shown(theirs)}/s")


def rate(what: str, figures: Sequence[float]) -> Row:
    return Row(what, figures, " relations per second", 0)


# --- one run ---------------------------------------------------------------------------------


def warm_up(place: Place, world: World, say: Say) -> None:
    """Java compiles what is used often, so the first to come would pay for the others."""
    some, few = world.first(WARM_PAGES), world.first(WARM_SLOW_PAGES)
    say(f"neo4j: warming up, {len(some.relations):,} relations each way")
    loaded(place, few, partial(write_each, place.graph))
    loaded(place, some, partial(write_groups, place.graph))
    loaded(place, some, partial(write_batches, place.graph))
    for number in BARE_SIZES:
        loaded(place, some, partial(write_bare, place.driver, number))


def one_run(
    place: Place, world: World, files: Files, scale: float, number: int, say: Say
) -> Figures:
    def run(what: str, load: Load, part: World = world) -> float:
        say(f"neo4j {len(part.relations):,} relations, run {number}: {what}")
        return loaded(place, part, load)

    slow = world.first(round(SLOW_PAGES * scale))
    each = run("a transaction for each concept", partial(write_each, place.graph), slow)
    groups = run("group writes", partial(write_groups, place.graph))
    part = world.first(round(SMALL_PAGES * scale))
    small = run("small groups", partial(write_groups, place.graph, size=SMALL_GROUP), part)
    batched = run("copy's batches", partial(write_batches, place.graph))
    again = repeated(place, world)
    bare = {
        size: run(f"bare driver, {size:,}", partial(write_bare, place.driver, size))
        for size in BARE_SIZES
    }
    copy = run("copy", partial(write_by_copy, place, files.embedded))
    say(f"neo4j {len(world.relations):,} relations, run {number}: import")
    return Figures(each, groups, small, batched, again, bare, copy, imported(world, files.exported))


def loaded(place: Place, world: World, load: Load) -> float:
    """Into an empty graph."""
    place.graph.clear()
    return timed(place, world, load)


def repeated(place: Place, world: World) -> float:
    """What is there is written once more."""
    return timed(place, world, partial(write_batches, place.graph, changed=0))


def timed(place: Place, world: World, load: Load) -> float:
    """Relations per second. Fast and wrong does not count."""
    begun = time.perf_counter()
    load(world)
    seconds = time.perf_counter() - begun
    check(world, *place.graph.counts()[:2])
    return len(world.relations) / seconds


def check(world: World, entities: int, relations: int) -> None:
    if (entities, relations) != (len(world.entities), len(world.relations)):
        raise RuntimeError(
            f"{entities:,} entities and {relations:,} relations are there instead of "
            f"{len(world.entities):,} and {len(world.relations):,}"
        )


# --- through our graph -----------------------------------------------------------------------


def write_each(graph: Neo4jGraph, world: World) -> None:
    """The slow peer: what a harvest would do that knew no groups."""
    for page in world.pages:
        graph.write(page.entities, page.relations)


def write_groups(graph: Neo4jGraph, world: World, size: int = MOST_AT_ONCE) -> None:
    add = Adder(graph)
    for pages in batches(world.pages, size):
        add(pages)
    expect(add.written, len(world.relations))


def write_batches(graph: Neo4jGraph, world: World, changed: int | None = None) -> None:
    """As `tools.graphs.copy.copy` does."""
    written = 0
    for entities in batches(world.entities):
        graph.write(entities, ())
    for relations in batches(world.relations):
        written += graph.write((), relations)
    expect(written, len(world.relations) if changed is None else changed)


def expect(written: int, wanted: int) -> None:
    if written != wanted:
        raise RuntimeError(f"{written:,} relations were new or changed instead of {wanted:,}")


def write_by_copy(place: Place, embedded: Path, _world: World) -> None:
    graphs = ["--from", f"sqlite:{embedded}", "--graph", place.url]
    with TemporaryDirectory(prefix="bench-") as folder:  # no sheaf.toml of the user's
        command = [sys.executable, str(ROOT / "main.py"), "copy", *graphs, "-q"]
        in_process(command, Path(folder), SHEAF_NEO4J_PASSWORD=place.password)


def imported(world: World, exported: Path) -> float:
    """Into a new home, with the start of Java; the tool itself tells how much it was."""
    with TemporaryDirectory(prefix="bench-") as folder:
        begun = time.perf_counter()
        said = script("import", str(exported), "--home", f"{folder}/home")
        seconds = time.perf_counter() - begun
    found = re.search(r"(\d+) nodes\s+(\d+) relationships", said)
    if found is None:
        raise RuntimeError(f"the import does not tell what it did: {said[-2000:]}")
    check(world, int(found[1]), int(found[2]))
    return len(world.relations) / seconds


# --- the bare driver -------------------------------------------------------------------------

BARE_ENTITIES = """UNWIND $rows AS row
    MERGE (n:Entity {uri: row.uri}) ON CREATE SET n += row.properties"""
BARE_RELATIONS = """UNWIND $rows AS row
    MATCH (a:Entity {{uri: row.start}}) MATCH (b:Entity {{uri: row.end}})
    MERGE (a)-[r:{} {{uri: row.uri}}]->(b) SET r += row.properties"""


def write_bare(driver: Driver, size: int, world: World) -> None:
    """Each transaction holds this many relations and the entities at their ends."""
    with driver.session() as session:
        for relations in batches(world.relations, size):
            session.execute_write(write_some, relations)


def write_some(tx: ManagedTransaction, relations: Sequence[Relation]) -> None:
    ends = {end for each in relations for end in (each.start, each.end)}
    tx.run(BARE_ENTITIES, rows=[bare_entity(Entity.of(end)) for end in ends]).consume()
    by_type = defaultdict(list)
    for each in relations:
        by_type[each.type].append(bare_relation(each))
    for type_, rows in by_type.items():
        tx.run(BARE_RELATIONS.format(type_), rows=rows).consume()


def bare_entity(entity: Entity) -> dict[str, Any]:
    names = {"name": entity.name, "language": entity.language}
    return {"uri": entity.uri, "properties": names | {"term": entity.term, "sense": entity.sense}}


def bare_relation(relation: Relation) -> dict[str, Any]:
    properties = {
        "weight": relation.weight,
        "surfaceText": relation.surface_text,
        "license": relation.license,
        "dataset": relation.dataset,
    }
    ends = {"start": relation.start, "end": relation.end}
    return {"uri": relation.uri, **ends, "properties": properties}


# --- the server ------------------------------------------------------------------------------


@contextmanager
def server(home: Path) -> Iterator[Place]:
    """With nothing but the heap set, and with the constraints of our graphs."""
    try:
        script("start", "--home", str(home), "--port", "0", "--heap", HEAP)
        url = json.loads(script("status", "--home", str(home), "--json"))["url"]
        password = (home / "password").read_text(encoding="utf-8")
        address = Address.of(url)
        with (
            closing(Neo4jGraph(address, password, ALL_RELATIONS)) as graph,
            GraphDatabase.driver(address.server, auth=(address.user, password)) as driver,
        ):
            graph.prepare()
            yield Place(url, password, graph, driver)
    finally:
        script("stop", "--home", str(home))


def script(*arguments: str) -> str:
    return in_process([sys.executable, str(ROOT / "scripts" / "neo4j"), *arguments], ROOT)


def in_process(command: Sequence[str], folder: Path, **more: str) -> str:
    return said_by(command, folder, environment() | more)


def environment() -> dict[str, str]:
    """Without what would change our settings or Java's."""
    ours = ("SHEAF_", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
    return {key: value for key, value in os.environ.items() if not key.startswith(ours)}


# --- the world -------------------------------------------------------------------------------


def made_up_world(concepts: int, count: int, chance: random.Random) -> World:
    """Every concept begins at least one relation; a few are hubs, the end of 200 to 3,000."""
    by_fame = chance.sample(range(concepts), concepts)
    chosen: dict[tuple[int, str, int], None] = {}
    while len(chosen) < count:
        start = len(chosen) if len(chosen) < concepts else chance.randrange(concepts)
        end = by_fame[int(concepts * chance.random() ** 3)]
        if start != end:
            chosen[start, chance.choice(RELATIONS), end] = None
    by_start: dict[int, list[Relation]] = {number: [] for number in range(concepts)}
    for start, kind, end in chosen:
        by_start[start].append(made_up_relation(start, kind, end))
    return World.of([made_up_page(each) for each in by_start.values()])


def made_up_page(relations: Sequence[Relation]) -> Page:
    return Page([Entity.of(each) for each in endpoints(relations)], relations)


def made_up_relation(start: int, kind: str, end: int) -> Relation:
    uri = f"/a/[/r/{kind}/,{concept(start)}/,{concept(end)}/]"
    text = f"[[concept {start}]] is related to [[concept {end}]]"
    dataset = "/d/conceptnet/4/en"
    return Relation(uri, kind, concept(start), concept(end), 2.0, text, "cc:by/4.0", dataset)


def write_files(world: World, folder: Path) -> Files:
    files = Files(folder / "graph.db", folder / "export")
    with closing(SqliteGraph(files.embedded)) as graph:
        for pages in batches(world.pages):
            Adder(graph)(pages)
        export(graph, files.exported, lambda _: None, types=ALL_RELATIONS)
    return files

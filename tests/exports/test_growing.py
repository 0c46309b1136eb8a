"""A graph that grows while it is exported or copied: the files and the copy are a whole graph."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from threading import Event, Semaphore, Thread
from typing import NamedTuple

import orjson
import pyarrow.parquet
import pytest

from tests.support.command import records, run
from tests.support.graph_world import graph_in
from tests.support.neo4j_server import AnyServer, run_with
from tests.support.store_contract import image, relation, write
from tools.add import Graph, Media
from tools.conceptnet.graph import visit_graph
from tools.exports.catalogue import FORMATS, export
from tools.graphs.copy import copy
from tools.graphs.sqlite import SqliteGraph

LINKS = 20_000  # more than a process adds in the time of a copy


# --- a graph that grows ------------------------------------------------------------------------


class Chain:
    """Each link ends at a new entity and brings media: at every moment there is one entity more
    than relations, and every relation and entity but the first has a file."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._numbers = count()

    def grow(self, _number: int = 0) -> None:
        at = next(self._numbers)
        # The new end sorts before all others: whoever reads by pages has passed it.
        new, old = f"/c/en/{10**6 - at - 1}", f"/c/en/{10**6 - at}"
        link = relation("IsA", new, old)
        write(self._graph, link)
        self._graph.attach({link.uri: [picture(at, "r")], new: [picture(at, "e")]})


def picture(at: int, mark: str) -> Media:
    return image(f"m/{mark}{at}.png")


@contextmanager
def growing(graph: Graph, links: int = 0) -> Iterator[Callable[[int], object]]:
    """Beside whoever enters: a thread that adds so many links, and more when it is told to."""
    chain, enough, allowed = Chain(graph), Event(), Semaphore(links)

    def work() -> None:
        while allowed.acquire() and not enough.is_set():
            chain.grow()

    chain.grow()
    thread = Thread(target=work)
    thread.start()
    try:
        yield allowed.release
    finally:
        enough.set()
        allowed.release()
        thread.join(60)
    assert not thread.is_alive()


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Graph]:
    with closing(SqliteGraph(tmp_path / "graph.db")) as graph:
        yield graph


@pytest.fixture
def read(written: Graph, tmp_path: Path) -> Iterator[Graph]:
    graph = visit_graph(f"sqlite:{tmp_path / 'graph.db'}")
    assert graph is not None
    with closing(graph):
        yield graph


@pytest.fixture
def served(empty_neo4j: AnyServer) -> Iterator[Graph]:
    with closing(graph_in(empty_neo4j)) as graph:
        yield graph


# --- what is in the files ----------------------------------------------------------------------


class Files(NamedTuple):
    entities: set[str]
    relations: dict[str, tuple[str, str]]
    owners: list[str]  # of media

    def assert_closed(self) -> None:
        ends = {end for each in self.relations.values() for end in each}
        assert ends <= self.entities
        assert set(self.owners) <= self.entities | self.relations.keys()

    def assert_of_one_moment(self) -> None:
        self.assert_closed()
        assert len(self.entities) == len(self.relations) + 1


def files_in(folder: Path, name: str) -> Files:
    if name == "ntriples":
        return _triples((folder / "graph.nt").read_text())
    if name == "neo4j-csv":
        entities, relations, media = (
            _plain_rows(folder / f"{each}.csv") for each in ("entities", "relations", "media")
        )
        ends = {row[3]: (row[0], row[1]) for row in relations}
        return Files({row[0] for row in entities}, ends, [row[1] for row in media])
    if name == "kgtk":
        nodes, edges, files = (_tsv(folder / f"{each}.tsv") for each in ("nodes", "edges", "media"))
        ends = {row["id"]: (row["node1"], row["node2"]) for row in edges}
        return Files({row["id"] for row in nodes}, ends, [row["owner"] for row in files])
    concepts, links, pictures = (
        _records(folder, each, name) for each in ("entities", "relations", "media")
    )
    found = Files(
        {row["uri"] for row in concepts},
        {row["uri"]: (row["start"], row["end"]) for row in links},
        [row["owner"] for row in pictures],
    )
    if name == "pykeen":
        _assert_split(folder, found)
    return found


def _plain_rows(file: Path) -> list[list[str]]:
    return list(csv.reader(file.read_text().splitlines()))


def _tsv(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.read_text().splitlines(), delimiter="\t", quotechar=None,
                               quoting=csv.QUOTE_NONE))  # fmt: skip


def _records(folder: Path, table: str, name: str) -> Iterable[dict[str, str]]:
    if name == "parquet":
        return list(pyarrow.parquet.read_table(folder / f"{table}.parquet").to_pylist())
    if name == "jsonl":
        return [orjson.loads(line) for line in (folder / f"{table}.jsonl").read_text().splitlines()]
    return list(csv.DictReader((folder / f"{table}.csv").read_text().splitlines()))


def _triples(text: str) -> Files:
    lines = [re.match(r"(\S+) (\S+) (.*) \.$", line) for line in text.splitlines()]
    found = [match.groups() for match in lines if match]
    of = {
        key: {s: o for s, p, o in found if p.endswith(f"{key}>")}
        for key in ("#label", "#subject", "#object", "/about")
    }
    ends = {each: (start, of["#object"][each]) for each, start in of["#subject"].items()}
    return Files(set(of["#label"]), ends, list(of["/about"].values()))


def _assert_split(folder: Path, found: Files) -> None:
    sides = [
        (folder / f"{side}.tsv").read_text().splitlines() for side in ("train", "valid", "test")
    ]
    triples = [line.split("\t") for side in sides for line in side]
    assert sorted((head, tail) for head, _, tail in triples) == sorted(found.relations.values())
    types = csv.DictReader((folder / "relation_types.csv").read_text().splitlines())
    assert sum(int(row["relations"]) for row in types) == len(found.relations)


# --- exports -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_an_export_of_a_growing_file_is_of_one_moment(
    written: Graph, read: Graph, tmp_path: Path, name: str
) -> None:
    chain = Chain(written)
    chain.grow()
    export(read, tmp_path / "files", chain.grow, name)  # it grows whenever a part is done
    files = files_in(tmp_path / "files", name)
    files.assert_of_one_moment()
    assert len(files.relations) == 1 and len(files.owners) == 2


def test_a_hundred_exports_beside_a_writer_are_each_of_one_moment(
    written: Graph, read: Graph, tmp_path: Path
) -> None:
    names = list(FORMATS)
    with growing(written) as more:
        for at in range(100):
            more(4)
            name = names[at % len(names)]
            export(read, tmp_path / f"{at}", lambda _: None, name)
            files_in(tmp_path / f"{at}", name).assert_of_one_moment()


@pytest.mark.parametrize("name", FORMATS)
def test_an_export_of_a_growing_server_lacks_no_end(
    served: Graph, tmp_path: Path, name: str
) -> None:
    chain = Chain(served)
    chain.grow()
    export(served, tmp_path / "files", chain.grow, name)
    files = files_in(tmp_path / "files", name)
    files.assert_closed()
    assert files.relations


def test_exports_beside_a_writer_to_a_server_lack_no_end(served: Graph, tmp_path: Path) -> None:
    names = list(FORMATS)
    with growing(served) as more:
        for at in range(3 * len(names)):
            more(5)
            name = names[at % len(names)]
            export(served, tmp_path / f"{at}", lambda _: None, name)
            files_in(tmp_path / f"{at}", name).assert_closed()


# --- copies ------------------------------------------------------------------------------------


def test_a_copy_of_a_growing_file_is_of_one_moment_and_proved(
    written: Graph, read: Graph, tmp_path: Path
) -> None:
    chain = Chain(written)
    chain.grow()
    with closing(SqliteGraph(tmp_path / "target.db")) as target:
        copied = copy(read, target, chain.grow)
        assert copied.whole == copied.there == target.counts() == (2, 1, 2)


def test_a_copy_command_beside_a_writer_says_that_all_of_a_moment_arrived(
    written: Graph, tmp_path: Path
) -> None:
    flags = ("--from", "sqlite:graph.db", "--graph", "sqlite:target.db")
    with growing(written, LINKS):
        done = run("main.py", "copy", *flags, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "holds all of it" in done.stdout
    there = records(tmp_path / "target.db")
    assert len(there["entity"]) == len(there["relation"]) + 1


def test_a_copy_of_a_growing_server_is_whole_and_proved(
    empty_neo4j: AnyServer, served: Graph, tmp_path: Path
) -> None:
    flags = ("--from", empty_neo4j.url, "--graph", "sqlite:target.db")
    with growing(served, LINKS):
        done = run_with(empty_neo4j, "main.py", "copy", *flags, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    there = records(tmp_path / "target.db")
    entities = {row[0] for row in there["entity"]}
    assert there["relation"] and {end for row in there["relation"] for end in row[2:4]} <= entities

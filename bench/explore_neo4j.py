"""The live page over the same large graph in Neo4j: processor seconds of this process and of its
server together, for one answer."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.explore import ANSWER, Questions, asked, make
from bench.neo4j import script, server
from bench.report import Row, Say
from tools.add import unseen
from tools.conceptnet.graph import open_reader
from tools.exports.catalogue import export
from tools.graphs.sqlite import SqliteGraph
from tools.web.data.growing import Grower
from tools.web.data.sidecar import NAME, Sidecar

TICKS = os.sysconf("SC_CLK_TCK")
INDEXES_S = 1800
WARM, LEAST = 60, 10  # answers before those that count; of a round


def measure(scale: float, say: Say) -> Iterator[Row]:
    chance = random.Random(1)
    with TemporaryDirectory() as folder:
        home = Path(folder)
        say("making the graph")
        concepts = make(home / "graph.db", chance, scale)
        say("importing it")
        imported(home)
        with (
            server(home / "neo4j") as place,
            closing(open_reader(place.url, place.password)) as reader,
            closing(Sidecar(home / NAME)) as sidecar,
        ):
            place.driver.execute_query(f"CALL db.awaitIndexes({INDEXES_S})")
            clock = both(home / "neo4j")
            say("making search.db")
            began, grower = clock(), Grower(reader, sidecar)
            while grower.step():
                pass
            yield Row("search.db over Neo4j, whole: CPU", [clock() - began], " s", 1)
            say("asking")
            for what, questions in asked(reader, sidecar, concepts, chance, home).items():
                yield answered(what, questions, clock)


def imported(home: Path) -> None:
    with closing(SqliteGraph(home / "graph.db")) as graph:
        export(graph, home / "files", unseen)
    script("import", str(home / "files"), "--home", str(home / "neo4j"))


def both(home: Path) -> Callable[[], float]:
    """A clock of what we and the server have spent."""
    pid = json.loads(script("status", "--home", str(home), "--json"))["pid"]
    file = Path(f"/proc/{pid}/stat")

    def spent() -> float:
        fields = file.read_text("ascii").rpartition(")")[2].split()
        return time.process_time() + (int(fields[11]) + int(fields[12])) / TICKS

    return spent


def answered(what: str, questions: Questions, clock: Callable[[], float]) -> Row:
    """A server that was just started compiles what it is asked: some answers come before those that
    count. The mean of a round, since a tick of its clock is as long as most answers."""
    asked_now = [*islice(cycle(questions), max(LEAST, len(questions)))]
    for question in islice(cycle(questions), WARM):
        question()
    spent: list[float] = []
    for _ in range(3):
        began = clock()
        for question in asked_now:
            question()
        spent.append((clock() - began) / len(asked_now))
    return Row(f"{what}, in Neo4j: CPU of one", spent, " s", 4, ANSWER)

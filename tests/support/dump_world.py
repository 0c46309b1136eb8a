"""Harvests of assertions files within this process, or in one that can be killed."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Event
from typing import NamedTuple

from main import main
from tests.support.command import DEFAULT_FILTER
from tools.add import Entity, Graph, Relation, endpoints
from tools.commands.harvest import load_settings
from tools.commands.parsing import parsed
from tools.conceptnet.dump import lines, stream
from tools.conceptnet.dump.row import relation_of, row_of
from tools.conceptnet.graph import open_graph
from tools.conceptnet.index import build, segment
from tools.conceptnet.rules import Filter, relation_name
from tools.engine.harvest import Harvest
from tools.errors import Fatal
from tools.jobs.conceptnet import ConceptnetJob

SMALL = {
    "lines.CHUNK": 2000,
    "lines.GZIP_PIECE": 500,
    "lines.ZSTD_PIECE": 500,
    "stream.MOST_RELATIONS": 40,
    "stream.MOST_LINES": 100,
    "build.FILTERED_STRETCH": 400,
    "build.WHOLE_STRETCH": 400,
    "segment.MOST_ROWS": 100,
}
"""What lets a file of some hundred lines be read like one of millions."""

MODULES = {"lines": lines, "stream": stream, "build": build, "segment": segment}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


def set_small(set_: Callable[[object, str, object], object] = setattr) -> None:
    for name, value in SMALL.items():
        module, _, constant = name.partition(".")
        set_(MODULES[module], constant, value)


class Outcome(NamedTuple):
    """What must be the same in every harvest of the same file."""

    entities: set[Entity]
    relations: set[Relation]
    finished: set[str]


def brute_force(text: Iterable[bytes], wanted: Filter = DEFAULT_FILTER) -> Outcome:
    """By looking at every line, none of which may be malformed."""
    rows = [row_of(line.rstrip(b"\r\n")) for line in text]
    relations = [
        relation_of(row)
        for row in rows
        if wanted.keeps(relation_name(row.rel), row.start, row.end, row.info.weight)
    ]
    concepts = endpoints(relations)
    return Outcome({Entity.of(each) for each in concepts}, set(relations), set(concepts))


def words(folder: Path, file: Path, *more: object) -> list[str]:
    """What main.py is given, for everything in the file."""
    return [
        *("--source", str(file), "--all", "--no-media", "-q", "--state", str(folder / "state")),
        *map(str, more),
    ]


class Ended(NamedTuple):
    outcome: Outcome
    pools: Mapping[str, int]
    tally: tuple[int, int, int]  # bytes, lines, malformed lines
    error: Fatal | None


def harvest(
    folder: Path,
    file: Path,
    *more: object,
    around: Callable[[Graph], Graph] = lambda graph: graph,
    tick: Callable[[Harvest], None] = lambda _: None,
    password: str = "",
) -> Ended:
    """Harvest as main.py does, without its log and its clock; `around` puts something between
    harvest and graph, `tick` is called a few times a second."""
    settings = load_settings(parsed(words(folder, file, *more)))
    settings.state.mkdir(parents=True, exist_ok=True)
    stop, error = Event(), None
    with ExitStack() as stack, signals_kept():
        graph = stack.enter_context(closing(open_graph(settings.graph_url, password)))
        job = stack.enter_context(
            closing(ConceptnetJob(settings, around(graph), stop, "ConceptNet", True, True))
        )
        run = Harvest(job, settings.pools_file, stop, settings.attempts, 5.0)
        stack.enter_context(closing(run))
        job.open(run)
        try:
            run.run(lambda: tick(run))
        except Fatal as caught:
            error = caught
        tally = tuple(map(run.pools.tallied, (stream.OFFSET, stream.LINES, stream.MALFORMED)))
        return Ended(outcome_of(graph, run), run.pools.counts(), tally, error)  # type: ignore[arg-type]


def outcome_of(graph: Graph, run: Harvest) -> Outcome:
    finished = {uri for uri in run.pools.finished if not uri.startswith("file:")}
    return Outcome(set(graph.entities()), set(graph.relations()), finished)


@contextmanager
def signals_kept() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# --- processes that can be killed ------------------------------------------------------------

PROGRAM = (
    "import sys; from tests.support import dump_world; dump_world.set_small(); "
    "sys.exit(dump_world.main(sys.argv[1:]))"
)


def command(arguments: Iterable[str]) -> list[str]:
    """main.py as a command of its own, that reads in small pieces."""
    return [sys.executable, "-c", PROGRAM, *arguments]


def begun(arguments: list[str]) -> BaseProcess:
    """The same, quickly: forked from a process that has imported everything."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=_run_small, args=(arguments,))
    process.start()
    return process


def _run_small(arguments: list[str]) -> None:
    set_small()
    sys.exit(main(arguments))

"""Starts, resumes and steers a harvest: parse, lock, wire, run, return an exit code."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from threading import Event

from tools import log
from tools import settings as settings_of
from tools.add import Counts, Graph
from tools.copying import arrived, copy
from tools.errors import Fatal, HarvestError, Unavailable, Unreachable, UsageError
from tools.export import export
from tools.graphs import is_same, open_graph, visit_graph
from tools.harvest import Harvest
from tools.instance import SIGNALS, ask_running, only_instance
from tools.jobs.conceptnet import NAME, ConceptnetJob
from tools.pools import Pools
from tools.progress import Progress, bar, summary
from tools.sample import world
from tools.sample.assertions import Assertions
from tools.sample.mirror import Mirror
from tools.settings import Settings
from tools.state import look, restore, set_aside

logger = logging.getLogger(__name__)

JOBS = {NAME: "walk ConceptNet from seed concepts into a graph (the default)"}
COMMANDS = {
    **JOBS,
    "jobs": "list the jobs",
    "copy": "copy a graph into another one (--from sqlite:PATH --graph neo4j://...)",
    "export": "write the graph as files for neo4j-admin's import (export DIR)",
    "mirror": "serve an assertions file like api.conceptnet.io (--source FILE --port N)",
    "pause": "ask the running harvest to hand out no new tasks",
    "resume": "ask it to go on",
    "stop": "ask it to end; running tasks finish, nothing is lost",
}


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_intermixed_args(argv)
    try:
        return run(arguments)
    except HarvestError as error:
        print(f"sheaf: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130


def run(arguments: argparse.Namespace) -> int:
    os.umask(0o077)
    if arguments.command == "jobs":
        print("\n".join(f"{name:12} {text}" for name, text in JOBS.items()))
        return 0
    if arguments.command == "mirror":
        return serve_mirror(arguments)
    settings = load_settings(arguments)
    if arguments.folder is not None and arguments.command != "export":
        raise UsageError(f"{arguments.command} takes no further argument: {arguments.folder!r}")
    if arguments.command == "copy":
        return copy_graph(settings, arguments)
    if arguments.command == "export":
        return export_graph(settings, arguments)
    if arguments.command in SIGNALS:
        pid = ask_running(settings.state, arguments.command)
        print(f"asked the harvest in {settings.state} (process {pid}) to {arguments.command}")
        return 0
    with only_instance(settings.state):
        return harvest(settings, arguments)


def harvest(settings: Settings, arguments: argparse.Namespace) -> int:
    prepare_state(settings, arguments)
    level = "debug" if arguments.verbose else settings.log.level
    as_json = settings.log.json or arguments.log_json
    log.set_up(settings.state / "log", level, as_json, arguments.quiet)
    with ExitStack() as stack:
        world_name = "ConceptNet"
        if arguments.sample:
            mirror = stack.enter_context(Mirror(Assertions(world.lines())))
            settings = replace(settings, source=mirror.url)
            world_name = "the built-in sample"
        password = settings.neo4j.password
        graph = stack.enter_context(closing(open_graph(settings.graph_url, password)))
        stop = Event()
        job = stack.enter_context(closing(ConceptnetJob(settings, graph, stop, world_name)))
        grace, file = settings.stop_grace_s, settings.pools_file
        run_ = stack.enter_context(closing(Harvest(job, file, stop, settings.attempts, grace)))
        check_graph(run_.pools, graph, settings.graph_url)
        job.open()
        stages = [stage for stage in job.stages if stage.name in job.workers]
        gc.freeze()  # modules live as long as we do: no need to look through them for garbage
        progress = Progress(run_.pools, stages, job.store, job.client, arguments.quiet)
        try:
            run_.run(progress)
        finally:
            progress.close()
        report = summary(
            run_.pools.counts(),
            *counted(graph),
            look(file).failures,
            progress,
            {"graph": settings.graph_url, "state": settings.state, "log": settings.state / "log"},
        )
    if not arguments.quiet:
        print(report)
        print(run_.verdict)
    return 0


def counted(graph: Graph) -> tuple[Counts | None, dict[str, int]]:
    """The harvest has ended well even if its graph went away in the last moment."""
    try:
        return graph.counts(), graph.relations_by_type()
    except Unavailable as error:
        logger.warning("%s", error)
        return None, {}


def prepare_state(settings: Settings, arguments: argparse.Namespace) -> None:
    if arguments.fresh and (aside := set_aside(settings.state)):
        print(f"the old state is set aside in {aside}")
    if arguments.resume:
        restore(arguments.resume, settings.pools_file)


def check_graph(pools: Pools, graph: Graph, url: str) -> None:
    """What is finished is not harvested again, so its records must be in the graph."""
    before = pools.remembered().get("graph", url)
    if not is_same(before, url):
        if pools.count("finished") and not graph.counts().entities:
            raise UsageError(
                f"this harvest went into {before} so far and {url} is empty: copy that first "
                f"(python main.py copy --from {before} --graph {url}), or begin anew with --fresh"
            )
        logger.warning("this harvest went into %s so far, from now on into %s", before, url)
    pools.remember({"graph": url})


def copy_graph(settings: Settings, arguments: argparse.Namespace) -> int:
    url = arguments.source_graph or settings.embedded_graph
    if is_same(url, settings.graph_url):
        raise UsageError("copy needs another graph to write: --graph neo4j://user@host:7687")
    password = settings.neo4j.password
    with ExitStack() as stack:
        source = stack.enter_context(closing(existing_graph(url, password)))
        target = stack.enter_context(closing(open_graph(settings.graph_url, password)))
        try:
            whole = source.counts()
            with bar("copied", sum(whole), arguments.quiet) as show:
                copy(source, target, show)
            with bar("verified", sum(whole), arguments.quiet) as show:
                there = arrived(source, target, show)
            whole = source.counts()
        except Unavailable as error:
            raise Unreachable(f"{error}; the same command goes on from here") from error
        return tell_copied(whole, there, settings.graph_url, arguments.quiet)


def tell_copied(whole: Counts, there: Counts, target: str, quiet: bool) -> int:
    if there != whole:
        missing = ", ".join(
            f"{number - found:,} of {number:,} {name}"
            for name, number, found in zip(Counts._fields, whole, there, strict=True)
            if number != found
        )
        raise Fatal(f"{target} lacks {missing}: start the same command again")
    if not quiet:
        counts = ", ".join(f"{number:,} {name}" for name, number in whole._asdict().items())
        print(f"{target} holds all of it: {counts}")
    return 0


def export_graph(settings: Settings, arguments: argparse.Namespace) -> int:
    if arguments.folder is None:
        raise UsageError("export needs a folder: python main.py export DIR")
    folder = Path(arguments.folder)
    with (
        closing(existing_graph(settings.graph_url, settings.neo4j.password)) as graph,
        bar("exported", sum(graph.counts()), arguments.quiet) as show,
    ):
        export(graph, folder, show)
    if not arguments.quiet:
        print(f"{folder} is complete; load it into a stopped server: scripts/neo4j import {folder}")
    return 0


def existing_graph(url: str, password: str) -> Graph:
    graph = visit_graph(url, password)
    if graph is None:
        raise UsageError(f"there is no graph at {url}")
    return graph


def serve_mirror(arguments: argparse.Namespace) -> int:
    if arguments.source is None and not arguments.sample:
        raise UsageError("mirror needs --source FILE: an assertions file in the dump's format")
    try:
        data = (
            Assertions(world.lines())
            if arguments.sample
            else Assertions.open(Path(arguments.source))
        )
        limits = [(600, 60.0), (6000, 3600.0)] if arguments.rate_limit else None
        server = Mirror(data, arguments.host, arguments.port, limits)
    except (OSError, ValueError) as error:
        raise UsageError(f"the mirror cannot start: {error}") from error
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print(f"serving {len(data):,} assertions at {server.url} (Ctrl-C ends it)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        server.close()
    return 0


def load_settings(arguments: argparse.Namespace) -> Settings:
    flags = {name: getattr(arguments, name) for name in FLAGS}
    flags["seeds"] = seeds_of(arguments.seed or [])
    if arguments.sample and flags["seeds"] is None:
        flags["seeds"] = (world.SEED,)
    return settings_of.load(arguments.config, flags)


def seeds_of(given: Sequence[str]) -> tuple[str, ...] | None:
    """Each is a URI, or a file with one on each line (# begins a remark)."""
    seeds: list[str] = []
    for each in given:
        if each.startswith("/c/") or not Path(each).is_file():
            seeds.append(each)
            continue
        lines = (
            line.partition("#")[0].strip() for line in Path(each).read_text("utf-8").splitlines()
        )
        seeds += [line for line in lines if line]
    return tuple(seeds) or None


FLAGS = (
    "source",
    "graph",
    "media",
    "state",
    "limit",
    "depth",
    "fetch_workers",
    "extend_workers",
)


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="main.py",
        description="Harvests a commonsense knowledge graph from ConceptNet; run again to resume.",
        epilog="commands:\n" + "\n".join(f"  {name:12} {text}" for name, text in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = result.add_argument
    add("command", nargs="?", default=NAME, choices=COMMANDS, metavar="COMMAND")
    add("folder", nargs="?", metavar="DIR", help="for export: where the files go")
    add(
        "--from",
        dest="source_graph",
        metavar="URL",
        help="for copy: what is read (default: the embedded graph)",
    )
    add("--format", choices=["neo4j-csv"], default="neo4j-csv", help="for export (%(default)s)")
    add("--sample", action="store_true", help="harvest the built-in sample world, offline")
    add("--seed", action="append", metavar="URI", help="where to begin (repeatable, or a file)")
    add("--source", help="a ConceptNet server; for mirror: an assertions file")
    add("--limit", type=int, metavar="N", help="stop after N concepts")
    add("--depth", type=int, metavar="N", help="go at most N relations away from the seeds")
    add("--fetch-workers", type=int, metavar="N", help="concepts at the same time")
    add("--extend-workers", type=int, metavar="N", help="media tasks at the same time")
    add("--no-media", action="store_true", help="relations only (all that this version harvests)")
    add("--fresh", action="store_true", help="set the old state aside and begin anew")
    add("--resume", type=Path, metavar="FILE", help="begin from a snapshot")
    settings_of.add_place_flags(result)
    add("--port", type=int, default=8084, help="for mirror (%(default)s; 0: any free one)")
    add("--host", default="127.0.0.1", help="for mirror (%(default)s)")
    add("--rate-limit", action="store_true", help="for mirror: limit clients like the original")
    add("--log-json", action="store_true", help="log lines as JSON")
    add("-q", "--quiet", action="store_true", help="only errors")
    add("-v", "--verbose", action="store_true", help="log everything")
    return result


if __name__ == "__main__":
    sys.exit(main())

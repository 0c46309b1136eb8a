"""Starts, resumes and steers a harvest: parse, lock, wire, run, return an exit code."""

from __future__ import annotations

import tools.start  # noqa: F401  # before whatever may be missing

# isort: split
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
from tempfile import TemporaryDirectory
from threading import Event
from typing import TYPE_CHECKING

from tools import commands, log
from tools import settings as settings_of
from tools.add import Counts, Graph
from tools.again import REAL, SAMPLE, facts_of
from tools.assist import Assist
from tools.beginning import Beginning
from tools.belongings import Belongings
from tools.errors import HarvestError, StopHarvest, Unavailable, UsageError
from tools.exports import DEFAULT, FORMATS
from tools.graphs import is_there, open_graph
from tools.harvest import Harvest
from tools.instance import SIGNALS, ask_running, only_instance
from tools.jobs.conceptnet import NAME, ConceptnetJob
from tools.journal import Journal
from tools.ledger import Ledger
from tools.look import look
from tools.outcome import begin_to_count, nothing_kept
from tools.progress import Progress, bar, summary
from tools.sample import world
from tools.say import say
from tools.seeds import seeds_of, told
from tools.settings import Settings
from tools.state import remove_unfinished, restore, set_aside

if TYPE_CHECKING:
    from tools.transport import Transport

logger = logging.getLogger(__name__)

JOBS = {NAME: "walk ConceptNet from seed concepts into a graph (the default)"}
COMMANDS = {
    **JOBS,
    "jobs": "list the jobs",
    "check": "try source, proxies, graph, providers, disk, notices and the receiving node",
    "copy": "copy a graph into another one (--from sqlite:PATH --graph neo4j://...)",
    "export": "write the graph as files for other tools (export --format NAME DIR)",
    "credits": "print who made the files of a concept, or of everything (credits [URI])",
    "sheet": "write a page to look at: a concept with its media (sheet URI), or the latest ones",
    "download": "get ConceptNet's dump, verify its checksum; again: resume (download [PATH])",
    "survey": "tell what the filter keeps of an assertions file (survey PATH)",
    "mirror": "serve an assertions file like api.conceptnet.io (--source FILE --port N)",
    "retry": "put failed ones back to work (--reason TEXT: those whose reason holds it)",
    "ship": "send the media to the receiving node now (--batch NAME, --list, --dry-run)",
    "pause": "ask the running harvest to hand out no new tasks",
    "resume": "ask it to go on",
    "stop": "ask it to end; running tasks finish, nothing is lost",
}


TARGETED = {
    "export": commands.export_graph,
    "credits": commands.print_credits,
    "sheet": commands.write_sheets,
    "download": commands.download,
    "survey": commands.survey_file,
}
"""Commands that take one more word."""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_intermixed_args(argv)
    arguments.typed = sys.argv[1:] if argv is None else argv
    try:
        return run(arguments)
    except HarvestError as error:
        say(f"sheaf: {error}", sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # whoever reads what we print has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


def run(arguments: argparse.Namespace) -> int:
    os.umask(0o077)
    if arguments.command == "jobs":
        print("\n".join(f"{name:12} {text}" for name, text in JOBS.items()))
        return 0
    settings = load_settings(arguments)
    if arguments.command == "mirror":
        return commands.serve_mirror(settings, arguments)
    if arguments.command in TARGETED:
        return TARGETED[arguments.command](settings, arguments)
    if arguments.target is not None:
        raise UsageError(f"{arguments.command} takes no further argument: {arguments.target!r}")
    if arguments.command == "check":
        from tools.check import check  # nobody else needs it

        return check(with_seeds(settings, arguments), arguments)
    if arguments.command == "copy":
        return commands.copy_graph(settings, arguments)
    if arguments.command == "ship":
        from tools.shipping import ship  # it takes paramiko with it

        return ship(settings, arguments)
    if arguments.command == "retry":
        return commands.retry(settings, arguments.reason or "")
    if arguments.command in SIGNALS:
        pid = ask_running(settings.state, arguments.command)
        print(f"asked the harvest in {settings.state} (process {pid}) to {arguments.command}")
        return 0
    settings = with_seeds(settings, arguments)
    for request in ("pause", "resume"):  # whoever asks before we listen must not end us
        signal.signal(SIGNALS[request], signal.SIG_IGN)
    with only_instance(settings.state):
        return harvest(settings, arguments)


def harvest(settings: Settings, arguments: argparse.Namespace) -> int:
    set_old_aside(settings, arguments)
    with Beginning(settings) as beginning:
        return begun_harvest(settings, arguments, beginning)


def begun_harvest(settings: Settings, arguments: argparse.Namespace, beginning: Beginning) -> int:
    level = "debug" if arguments.verbose else settings.log.level
    as_json = settings.log.json or arguments.log_json
    log.set_up(settings.state / "log", level, as_json, arguments.quiet)
    with Journal(settings, arguments.typed) as journal:
        return work(settings, arguments, journal, beginning)


def work(
    settings: Settings, arguments: argparse.Namespace, journal: Journal, beginning: Beginning
) -> int:
    remove_unfinished(settings.pools_file)
    belongings = Belongings(settings, arguments.resume)
    with ExitStack() as stack:
        world_name = REAL
        if arguments.sample:
            settings = in_sample_world(settings, stack)
            world_name = SAMPLE
        password = settings.neo4j.password
        graph = stack.enter_context(closing(open_graph(settings.graph_url, password)))
        stack.enter_context(graph.members.at_work(belongings.harvest))
        belongings.check(graph)
        if arguments.resume:
            restore(arguments.resume, settings.pools_file)
        stop = Event()
        job = ConceptnetJob(settings, graph, stop, world_name, arguments.all, arguments.quiet)
        stack.enter_context(closing(job))
        run_ = Harvest(job, settings.pools_file, stop, settings.attempts, settings.stop_grace_s)
        stack.enter_context(closing(run_))
        run_.listen_for_pauses()
        begin_to_count(run_.pools)
        belongings.take(run_.pools, job.ledger)
        transport = shipper(run_, job.ledger, settings, stop)
        job.open(run_.pools)
        stages = [stage for stage in job.stages if stage.name in job.workers]
        gc.freeze()  # modules live as long as we do: no need to look through them for garbage
        file = job.streamer.lines if job.streamer else None
        progress = Progress(
            *(run_.pools, stages, job.store, job.client, arguments.quiet, file),
            is_paused=lambda: run_.paused_since is not None,
        )

        def begin() -> None:
            """By the first tick: nothing can fail any more before there is something to keep."""
            if not beginning.is_over:
                belongings.enter(graph, lambda: job.store.written)
                facts = facts_of(arguments.typed)
                run_.pools.remember({"limit": str(settings.limit or ""), **facts})
                beginning.is_over = True

        begun = job.begun_bytes
        with Assist(run_, settings, progress.traffic, transport, belongings, begun) as assist:
            try:
                run_.run(begin, progress, assist.tick)
            finally:
                progress.close()
            assist.finish()
            page = sheets_of(run_, graph, settings, arguments)  # while the media are still here
            if transport is not None:
                with bar("shipped", transport.backlog, arguments.quiet) as show:
                    assist.ship_rest(show)
            graph_counts, by_type = counted(graph)
            is_given_up = job.streamer is not None and job.streamer.uri in run_.pools.failed
            empty = None if is_given_up else nothing_kept(run_, job, settings, graph_counts)
            run_.verdict = str(empty or run_.verdict)
        seen = look(settings.pools_file)
        report = summary(
            seen.pools,
            graph_counts,
            by_type,
            {group.gist: group.number for group in seen.groups},
            dict(job.refused.most_common()),
            progress,
            places(settings, page),
            job.told(),
        )
    counts = " ".join(f"{name}={count}" for name, count in seen.pools.items())
    journal.verdict = f"{run_.verdict}; {counts}"
    if not arguments.quiet:
        say(report if empty else f"{report}\n{run_.verdict}")
    if is_given_up:
        raise StopHarvest(
            "the file was given up: `python history.py --failed` tells why; `python main.py retry`"
            ", then start again"
        )
    if empty is not None:
        raise empty
    return 0


def shipper(run_: Harvest, ledger: Ledger, settings: Settings, stop: Event) -> Transport | None:
    """None if media stay here. What a crash interrupted is completed before new media come."""
    if not settings.transport.host or not settings.extend.is_wanted:
        return None
    from tools.shipping import transport_of  # it takes paramiko with it

    transport = transport_of(settings, ledger, run_.between, stop)
    transport.complete()
    return transport


def in_sample_world(settings: Settings, stack: ExitStack) -> Settings:
    """The same settings, with servers of our own on this computer, and fewer files of each kind."""
    from tools.dump.build import index_of  # both take their time to load
    from tools.mirror.mirror import Mirror

    mirror = stack.enter_context(Mirror(index_of(world.lines())))
    extend = replace(settings.extend, images=min(settings.extend.images, 1), keys={})
    extend = replace(extend, sounds=min(extend.sounds, 1), gifs=min(extend.gifs, 1))
    if extend.is_wanted:
        from tools.sample.media import MediaServers

        servers = stack.enter_context(MediaServers()).servers
        extend = replace(extend, servers=servers, providers=tuple(servers))
    return replace(settings, source=mirror.url, extend=extend)


def places(settings: Settings, page: Path | None) -> dict[str, object]:
    """Where a user finds what was harvested."""
    found: dict[str, object] = {"graph": settings.graph_url}
    if settings.extend.is_wanted:
        found["media"] = settings.media
    if settings.transport.host:
        found["shipped to"] = f"{settings.transport.host}:{settings.transport.folder}"
    if page is not None:
        found["to look at"] = page
    return {**found, "state": settings.state, "log": settings.state / "log"}


def sheets_of(
    run_: Harvest, graph: Graph, settings: Settings, arguments: argparse.Namespace
) -> Path | None:
    """Pages to look at, if there is something new; whatever goes wrong costs only the pages: the
    last shipping and the summary are still to come."""
    if not settings.extend.is_wanted or not settings.extend.sheets or not run_.has_worked:
        return None
    try:
        return commands.latest_sheets(graph, settings, arguments.quiet)
    except Exception as error:
        reason = error if isinstance(error, HarvestError) else repr(error)
        logger.warning("no pages to look at (%s): python main.py sheet tries again", reason)
        return None


def counted(graph: Graph) -> tuple[Counts | None, dict[str, int]]:
    """The harvest has ended well even if its graph went away in the last moment."""
    try:
        return graph.counts(), graph.relations_by_type()
    except Unavailable as error:
        logger.warning("%s", error)
        return None, {}


def set_old_aside(settings: Settings, arguments: argparse.Namespace) -> None:
    """Only if a new harvest could begin; and before there is a log: the old one goes with it."""
    if not arguments.fresh:
        return
    rehearse(settings, arguments)
    way_back = ""
    if aside := set_aside(settings.state):
        say(f"the old state is set aside in {aside}")
        way_back = f"--state {aside}"
    if Ledger(settings.media) and (aside := set_aside(settings.media)):
        say(f"the old media are set aside in {aside}")
        way_back += f" --media {aside}"
    if way_back:
        say(f"to go back: the same command with {way_back.strip()} instead of --fresh")


def rehearse(settings: Settings, arguments: argparse.Namespace) -> None:
    """Raises what would end a new harvest at its start. What there is stays as it is."""
    if settings.graph and is_there(settings.graph):
        open_graph(settings.graph, settings.neo4j.password).close()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(scratch_folder(settings.state)))
        scratch = replace(settings, state=folder, media=folder / "m", graph="")
        empty = stack.enter_context(closing(open_graph(scratch.graph_url)))
        job = ConceptnetJob(scratch, empty, Event(), "", arguments.all, arguments.quiet)
        stack.enter_context(closing(job))
        run_ = Harvest(job, scratch.pools_file, Event(), scratch.attempts, scratch.stop_grace_s)
        stack.enter_context(closing(run_))
        Assist(run_, scratch, dict)  # times, and addresses for notices
        logging.disable(logging.WARNING)  # the harvest itself says it again
        stack.callback(logging.disable, logging.NOTSET)
        if not arguments.sample:  # which brings its own source
            job.open(run_.pools)


def scratch_folder(parent: Path) -> TemporaryDirectory[str]:
    try:
        return TemporaryDirectory(dir=parent, prefix="rehearsal-")
    except OSError as error:
        raise StopHarvest(f"{parent} cannot be written: {error.strerror}") from error


def load_settings(arguments: argparse.Namespace) -> Settings:
    flags = {name: getattr(arguments, name) for name in FLAGS}
    flags["seeds"] = arguments.seed
    if arguments.sample and flags["seeds"] is None:
        flags["seeds"] = (world.SEED,)
    settings = settings_of.load(arguments.config, flags)
    settings = settings_of.narrowed(
        settings,
        arguments.language,
        arguments.relations,
        arguments.with_relations,
        arguments.without,
        arguments.min_weight,
    )
    is_walk = flags["seeds"] or settings.limit is not None or settings.depth is not None
    if arguments.all and (is_walk or arguments.sample):
        raise UsageError("--all reads the whole file: it takes no seed, limit, depth or --sample")
    if arguments.no_media:
        settings = replace(settings, extend=replace(settings.extend, images=0, sounds=0, gifs=0))
    return settings


def with_seeds(settings: Settings, arguments: argparse.Namespace) -> Settings:
    """Seeds as concepts, told where that is not what was typed; a whole file needs none."""
    if arguments.all:
        return settings
    seeds = seeds_of(settings.seeds, settings.filter.languages)
    for sentence in () if arguments.quiet else told(seeds):
        say(sentence)
    return replace(settings, seeds=tuple(seed.concept for seed in seeds))


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


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
    add(
        "target",
        nargs="?",
        metavar="DIR|URI|PATH",
        help="for export: a folder; for download and survey: a file; else a concept",
    )
    add(
        "--from",
        dest="source_graph",
        metavar="URL",
        help="for copy: what is read (default: the embedded graph)",
    )
    add(
        "--format",
        metavar="NAME",
        help=f"of export: {', '.join(FORMATS)} (default: {DEFAULT}); of credits: text or csv",
    )
    add("--split-seed", type=int, metavar="N", help="for export to pykeen: another split (0)")
    add("--sample", action="store_true", help="harvest the built-in sample world, offline")
    add(
        "--seed",
        action="append",
        metavar="CONCEPT",
        help="where to begin: dog or /c/en/dog, several with commas, or a file (repeatable)",
    )
    add("--source", help="a ConceptNet server, or an assertions file (.csv, .csv.gz, .csv.zst)")
    add("--all", action="store_true", help="everything in the file that passes the filter")
    add("--language", type=_words, metavar="CODES", help="keep these languages, like en,de")
    add(
        "--relations", type=_words, metavar="NAMES", help="keep these only, like IsA,PartOf, or all"
    )
    add("--with", dest="with_relations", type=_words, metavar="NAMES", help="keep these as well")
    add("--without", type=_words, metavar="NAMES", help="leave these out")
    add("--min-weight", type=float, metavar="W", help="keep relations of at least this weight")
    add("--limit", type=int, metavar="N", help="stop after N concepts")
    add("--depth", type=int, metavar="N", help="go at most N relations away from the seeds")
    add("--fetch-workers", type=int, metavar="N", help="concepts at once (8; from a file: 200)")
    add("--extend-workers", type=int, metavar="N", help="media tasks at the same time")
    add("--no-media", action="store_true", help="relations only")
    add("--fresh", action="store_true", help="set the old state aside and begin anew")
    add("--json", action="store_true", help="for survey: as JSON")
    add("--plot", type=Path, metavar="FILE", help="for survey: a picture, FILE.svg or FILE.png")
    add("--url", help="for download: another file than the dump, with its --sha256")
    add("--sha256", metavar="HEX", help="for download: the hash that file must have")
    add("--reason", metavar="TEXT", help="for retry: a part of the reason, as history.py shows it")
    add("--now", action="store_true", help="for ship: at once, which is the default")
    add("--batch", metavar="NAME", help="for ship: this one only, even if the node refused it")
    add("--list", action="store_true", help="for ship: what waits and what has arrived")
    add("--dry-run", action="store_true", help="for ship: try the node, send nothing")
    add("--resume", type=Path, metavar="FILE", help="begin from a snapshot")
    settings_of.add_place_flags(result)
    add("--port", type=int, default=8084, help="for mirror (%(default)s; 0: any free one)")
    add("--host", default="127.0.0.1", help="for mirror (%(default)s)")
    add("--rate-limit", action="store_true", help="for mirror: limit clients like the original")
    add("--log-json", action="store_true", help="log lines as JSON")
    add("-q", "--quiet", action="store_true", help="only errors")
    add("-v", "--verbose", action="store_true", help="log what each worker does")
    return result


if __name__ == "__main__":
    sys.exit(main())

"""Starts, resumes and steers a harvest: parse, lock, wire, run, return an exit code."""

from __future__ import annotations

import tools.start  # noqa: F401  # before whatever may be missing

# isort: split
import argparse
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tools import settings as settings_of
from tools.base.say import say
from tools.commands import others as commands
from tools.commands.session import harvest
from tools.errors import HarvestError, UsageError
from tools.exports.catalogue import DEFAULT, FORMATS
from tools.jobs import registry
from tools.jobs.registry import JOBS, job_named
from tools.journal.instance import SIGNALS, ask_running, only_instance
from tools.sample import world
from tools.settings import Settings

COMMANDS = {
    **{name: job_named(name).help for name in JOBS},
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
        print("\n".join(f"{name:12} {job_named(name).help}" for name in JOBS))
        return 0
    settings = load_settings(arguments)
    if arguments.command == "mirror":
        return commands.serve_mirror(settings, arguments)
    if arguments.command in TARGETED:
        return TARGETED[arguments.command](settings, arguments)
    if arguments.target is not None:
        raise UsageError(f"{arguments.command} takes no further argument: {arguments.target!r}")
    if arguments.command == "check":
        from tools.commands.check import check  # nobody else needs it

        return check(job_named(registry.DEFAULT).prepared(settings, arguments), arguments)
    if arguments.command == "copy":
        return commands.copy_graph(settings, arguments)
    if arguments.command == "ship":
        from tools.commands.ship import ship  # it takes paramiko with it

        return ship(settings, arguments)
    if arguments.command == "retry":
        return commands.retry(settings, arguments.reason or "")
    if arguments.command in SIGNALS:
        pid = ask_running(settings.state, arguments.command)
        print(f"asked the harvest in {settings.state} (process {pid}) to {arguments.command}")
        return 0
    job = job_named(arguments.command)
    settings = job.prepared(settings, arguments)
    for request in ("pause", "resume"):  # whoever asks before we listen must not end us
        signal.signal(SIGNALS[request], signal.SIG_IGN)
    with only_instance(settings.state):
        return harvest(job, settings, arguments)


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
    add("command", nargs="?", default=registry.DEFAULT, choices=COMMANDS, metavar="COMMAND")
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
    for name in JOBS:
        job_named(name).arguments(result)
    return result


if __name__ == "__main__":
    sys.exit(main())

"""What main.py does besides harvesting: copies, files, pages and a mirror. Each returns an exit
code.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from contextlib import ExitStack, closing
from ipaddress import ip_address
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..add import Counts, Graph
from ..assist.inbox import request_retry
from ..conceptnet.rules import Filter
from ..conceptnet.seeds import concept_named
from ..engine.pools import Pools
from ..errors import AlreadyRunning, Fatal, Unavailable, Unreachable, UsageError
from ..exports.catalogue import DEFAULT, export, format_named
from ..graphs.copy import copy, hand_on
from ..graphs.open import is_same, open_graph, visit_graph
from ..jobs.conceptnet_results import latest_sheets
from ..jobs.registry import job_in
from ..journal.instance import only_instance
from ..media import credits
from ..network import large_file as remote
from ..network.client import Client
from ..network.guard import host_of
from ..proxy import Proxies
from ..reports.plot import format_of
from ..reports.progress import bar, byte_bar
from ..sample import world
from ..settings import Settings
from .again import command_of

if TYPE_CHECKING:
    from ..conceptnet.index.index import Index
    from ..conceptnet.mirror.mirror import Mirror


def copy_graph(settings: Settings, arguments: argparse.Namespace) -> int:
    url = arguments.source_graph or settings.embedded_graph
    if is_same(url, settings.graph_url):
        raise UsageError("copy needs another graph to write: --graph neo4j://user@host:7687")
    password = settings.neo4j.password
    with ExitStack() as stack:
        source = stack.enter_context(closing(existing_graph(url, password)))
        target = stack.enter_context(closing(open_graph(settings.graph_url, password)))
        try:
            with bar("copied", sum(source.counts()), arguments.quiet) as show:
                whole, there = copy(source, target, show)
            if there == whole:
                hand_on(source, target)
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
    if arguments.target is None:
        raise UsageError("export needs a folder: python main.py export DIR")
    name = arguments.format or DEFAULT
    chosen, options = format_named(name), {}
    if arguments.split_seed is not None:
        if name != "pykeen":
            raise UsageError("--split-seed is for export --format pykeen, which alone splits")
        options["seed"] = arguments.split_seed
    folder = Path(arguments.target)
    with (
        closing(existing_graph(settings.graph_url, settings.neo4j.password)) as graph,
        bar("exported", chosen.work(graph.counts()), arguments.quiet) as show,
    ):
        export(graph, folder, show, name, **options)
    if not arguments.quiet:
        print(f"{folder} is complete; {chosen.advice(folder)}")
    return 0


def existing_graph(url: str, password: str) -> Graph:
    graph = visit_graph(url, password)
    if graph is None:
        raise UsageError(f"there is no graph at {url}")
    return graph


def print_credits(settings: Settings, arguments: argparse.Namespace) -> int:
    """Of one concept and its relations, or of everything."""
    if arguments.format not in (None, "text", "csv"):
        raise UsageError(f"credits cannot print {arguments.format!r}: take text or csv")
    languages = settings.filter.languages
    wanted = None if arguments.target is None else [concept_named(arguments.target, languages)]
    with closing(existing_graph(settings.graph_url, settings.neo4j.password)) as graph:
        found = credits.credits(graph, wanted)
        if arguments.format == "csv":
            credits.as_csv(found, sys.stdout)
        else:
            for line in credits.as_text(found):
                print(line)
    return 0


def write_sheets(settings: Settings, arguments: argparse.Namespace) -> int:
    """The page of one concept, or of those that got media last."""
    from ..sheets.write import sheet  # it takes Pillow with it

    with closing(existing_graph(settings.graph_url, settings.neo4j.password)) as graph:
        if arguments.target is not None:
            concept = concept_named(arguments.target, settings.filter.languages)
            print(sheet(graph, settings.media, concept, settings.sheets))
        elif page := latest_sheets(graph, settings, arguments.quiet):
            print(page)
        else:
            raise UsageError(f"no concept has media in {settings.media} yet: name one")
    return 0


def download(settings: Settings, arguments: argparse.Namespace) -> int:
    """ConceptNet's dump, or another file whose hash is known."""
    file = remote.chosen(arguments.url, arguments.sha256)
    path = Path(arguments.target) if arguments.target else remote.default_path(file)
    trusted = [host_of(arguments.url)] if arguments.url else []  # whoever names it wants it
    quiet = arguments.quiet
    with byte_bar("proven", quiet) as prove:
        if remote.is_there(file, path, prove):
            print(f"{path} is already there and right")
            return 0
        client = Client(settings.http, Proxies(settings.proxy.urls), Event(), 1, trusted=trusted)
        with closing(client), byte_bar("fetched", quiet) as show:
            remote.fetch(file, path, client, settings.http, show, prove)
    if not quiet:
        print(f"{path} is complete and has the SHA-256 {file.sha256}")
    return 0


def survey_file(settings: Settings, arguments: argparse.Namespace) -> int:
    """What the filter keeps of an assertions file, as tables, as JSON, and as a picture."""
    path = Path(arguments.target).expanduser() if arguments.target else settings.source_file
    if path is None:
        raise UsageError("survey needs an assertions file: python main.py survey PATH")
    from ..conceptnet.survey import report as survey_report  # it takes numpy with it
    from ..conceptnet.survey.plot import draw
    from ..conceptnet.survey.survey import survey

    if arguments.plot is not None:
        format_of(arguments.plot)  # before minutes of reading
    chosen = settings.filter
    wanted = Filter.of(chosen.languages, chosen.min_weight, chosen.relations, chosen.senses)
    with byte_bar("read", arguments.quiet) as show:
        found = survey(path, wanted, settings.dump.max_malformed, show)
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    as_told = survey_report.as_json if arguments.json else survey_report.as_text
    try:
        print(as_told(found, wanted), flush=True)
    finally:
        if arguments.plot is not None:
            draw(found, arguments.plot)
    return 0


def retry(settings: Settings, reason: str) -> int:
    """Failed ones wait again; a harvest that runs does it itself, at its next look."""
    file = settings.pools_file
    if not file.exists():
        raise UsageError(f"there is no harvest at {file} yet: python main.py starts one")
    try:
        stages = job_in(file).stages(settings)
        with only_instance(settings.state), closing(Pools(file, stages)) as pools:
            command = command_of(pools.remembered())
            print(f"{pools.revive(reason):,} go back to work; `{command}` goes on")
    except AlreadyRunning:
        request_retry(settings.state, reason)
        print("the harvest that runs puts them back to work within a minute")
    return 0


def serve_mirror(settings: Settings, arguments: argparse.Namespace) -> int:
    if settings.source_file is None and not arguments.sample:
        raise UsageError("mirror needs --source FILE: an assertions file in the dump's format")
    data = index_to_serve(settings, arguments)
    server = _listening(data, arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        print(f"serving {len(data):,} assertions at {server.url} (Ctrl-C ends it)", flush=True)
        # Limits are counted in one process.
        processes = 1 if arguments.rate_limit or arguments.sample else os.cpu_count() or 1
        server.serve_from_processes(processes)
    except KeyboardInterrupt:
        return 0
    finally:
        server.close()
    return 0


def _listening(data: Index, arguments: argparse.Namespace) -> Mirror:
    from ..conceptnet.mirror.mirror import Mirror

    try:
        limits = [(600, 60.0), (6000, 3600.0)] if arguments.rate_limit else None
        server = Mirror(data, arguments.host, arguments.port, limits)
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"the mirror cannot listen on {arguments.host} port {arguments.port} "
            f"({getattr(error, 'strerror', None) or error}): --port N takes another port, 0 any "
            f"that is free; --host another address"
        ) from error
    if not ip_address(urlsplit(server.url).hostname or "").is_loopback:
        print(
            f"everybody who can reach {arguments.host} over the network can ask this mirror; "
            f"without --host only this computer can",
            file=sys.stderr,
        )
    return server


def index_to_serve(settings: Settings, arguments: argparse.Namespace) -> Index:
    from ..conceptnet.file_source import opened
    from ..conceptnet.index.build import index_of  # it takes numpy with it

    if arguments.sample or settings.source_file is None:
        return index_of(world.lines())
    return opened(settings.source_file, None, settings.dump, arguments.quiet)

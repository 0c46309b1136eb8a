"""`python history.py`: how far the harvest is. Reads the state; never changes it, never makes the
harvest wait."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..base.seldom import Seldom
from ..engine.description import Description
from ..errors import HarvestError, StateDamaged, Unavailable, Unreachable
from ..jobs.registry import job_in
from ..journal.check import inspect
from ..journal.reader import all_samples, failed
from ..journal.snapshots import snapshots
from ..reports.as_json import as_json, failed_as_json
from ..reports.text import as_text, failed_line, verdict_line
from ..reports.view import view_of
from . import flags

if TYPE_CHECKING:
    from ..settings import Settings

WATCH_S = 5.0
SHORTEST_WATCH_S = 0.2
EXAMPLES = (
    "python history.py                    the harvest of sheaf.toml, or of ./state",
    "python history.py --watch            again and again, every 5 seconds",
    "python history.py --failed 404       what failed for such a reason",
)


class Options(flags.Options):
    file: Path | None
    json: bool
    watch: float | None
    plot: Path | None
    failed: str | None
    check: bool


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", nargs="?", type=Path, metavar="FILE", help="a snapshot or a state folder instead")
    add("--json", action="store_true", help="for programs")
    add(
        "--watch",
        nargs="?",
        type=flags.finite,
        const=WATCH_S,
        metavar="SECONDS",
        help=f"again and again, every {WATCH_S:g} seconds; Ctrl-C ends it",
    )
    add("--plot", type=Path, metavar="FILE", help="draw its course as FILE.svg or FILE.png")
    add(
        "--failed",
        nargs="?",
        const="",
        metavar="REASON",
        help="what failed, a line each: URI, reason, attempts (only reasons that hold REASON)",
    )
    add("--check", action="store_true", help="are the state and its snapshots sound? (6: not all)")
    flags.add_home(parser)
    flags.add_places(parser, "graph", "media")


def run(options: Options) -> int:
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    settings = flags.load(options)
    file = file_of(options.file, settings)
    if options.check:
        return check_states(file, options)
    if not file.exists():
        raise flags.nothing_at(file, options)
    if options.failed is not None:
        rows = failed(file, options.failed)
        lines = [failed_as_json(rows)] if options.json else [failed_line(*row) for row in rows]
        print("".join(f"{line}\n" for line in lines), end="")
        return 0
    if options.plot is not None:
        return plot(file, options.plot)
    if options.watch is not None:
        return watch(file, settings, options.watch, options.json)
    job = job_in(file)
    view = view_of(file, job, stored_in(job, settings))
    print(as_json(view) if options.json else as_text(view, heading()), flush=True)
    return 0


def file_of(given: Path | None, settings: Settings) -> Path:
    """A snapshot, the folder of a state, or what the settings say."""
    if given is None:
        return settings.pools_file
    return given / settings.pools_file.name if given.is_dir() else given


def stored_in(job: Description, settings: Settings) -> Mapping[str, int] | None:
    """None if there is no store yet, or none that answers."""
    try:
        return job.stored(settings)
    except (Unreachable, Unavailable) as error:
        print(f"history: {error}", file=sys.stderr)
        return None


def check_states(file: Path, options: Options) -> int:
    """Reports on the state and on every snapshot; the code of damage if there is any."""
    paths = [file, *(snapshots(file) if file.name == "pools.db" else ())]
    if paths == [file] and not file.exists():
        raise flags.nothing_at(file, options)
    is_sound = True
    for path in paths:
        verdict = inspect(path)
        if path != file and not path.exists():  # thinned out meanwhile
            continue
        is_sound &= not verdict.trouble
        print(verdict_line(verdict, time.time()), flush=True)
    return 0 if is_sound else StateDamaged.exit_code


def plot(file: Path, picture: Path) -> int:
    from ..reports.plot import draw  # it takes matplotlib with it

    draw(all_samples(file), picture, job_in(file))
    print(picture)
    return 0


def watch(file: Path, settings: Settings, seconds: float, for_programs: bool) -> int:
    from ..reports.screen import Screen, repeat

    is_screen = sys.stdout.isatty() and not for_programs
    gap = "" if is_screen else "\n"  # between one report and the next
    stored = Seldom(lambda: stored_in(job_in(file), settings))

    def page() -> str:
        try:
            view = view_of(file, job_in(file), stored())
        except HarvestError as error:  # the next look may find it again
            return f"history: {error}"
        return as_json(view) if for_programs else as_text(view, heading()) + gap

    repeat(page, max(SHORTEST_WATCH_S, seconds), Screen(sys.stdout) if is_screen else None)
    return 0


def heading() -> Callable[[str], str]:
    """Bold on a terminal, unless its user wants no such thing (no-color.org)."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if is_plain or not sys.stdout.isatty():
        return str
    return lambda title: f"\x1b[1m{title}\x1b[0m"

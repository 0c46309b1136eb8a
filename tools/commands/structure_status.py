"""`python main.py structure status NAME`: statuses, queues, parsers, failures, last exports."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from ..base.text import amount, clipped, plain
from ..errors import UsageError
from . import flags
from .structure import JOB

if TYPE_CHECKING:
    from ..journal.reader import Look
    from ..settings import Settings

EXAMPLES = (
    "python main.py structure status register             how far it is",
    "python main.py structure status register --failed    what failed, 50 at a time",
    "python main.py structure status register --json      for programs",
)
MOST = 50
REASON = 100  # characters


class Options(flags.Options):
    name: str | None
    sample: bool
    folder: Path | None
    json: bool
    failed: bool
    after: str | None


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("name", nargs="?", metavar="NAME", help="which structure")
    add("--json", action="store_true", help="for programs")
    add("--failed", action="store_true", help="what failed, by reason, 50 at a time")
    add("--after", metavar="KEY", help="with --failed: the next 50, by the key of the last ones")
    add("--sample", action="store_true", help="of the built-in seed bank")
    add("--folder", type=Path, metavar="DIR", help="where the structures are (structures)")
    flags.add_places(parser, "config", "state", home="state-structure/NAME")


def run(options: Options) -> int:
    from ..jobs.registry import job_named

    if options.after is not None and not options.failed:
        raise UsageError("--after goes with --failed")
    if options.sample:
        from .sample_world import begin_there

        begin_there(options)
    settings = job_named(JOB).prepared(flags.load(options), options)
    if not settings.pools_file.exists():
        raise UsageError(
            f"{options.name} has not been started yet: `python main.py structure {options.name}` "
            "does it"
        )
    if options.failed:
        found = _failed(settings, options.after)
        print(_as_json(found) if options.json else "\n".join(_failed_lines(found)))
        return 0
    print(_as_json(_seen(settings)) if options.json else "\n".join(_lines(settings)))
    return 0


def _seen(settings: Settings) -> dict[str, Any]:
    """Everything as data; failures by reason, with examples."""
    from ..jobs.structure_statuses import statuses_of
    from ..journal.holder import running
    from ..journal.reader import look
    from ..reports.view import View
    from ..structure.status import STATUSES, exports_in, parsers_in, queues_in

    seen, now, holder = look(settings.pools_file), time.time(), running(settings.state)
    pace = View(settings.pools_file, seen, None, holder, False, (), now).pace
    counts = statuses_of(settings)
    queues = [
        {
            **each._asdict(),
            "oldest_s": None if each.oldest is None else max(0.0, now - each.oldest),
            "a_minute": None if (a_second := pace(each.name)) is None else 60 * a_second,
        }
        for each in queues_in(settings.pools_file)
    ]
    return {
        "name": settings.structure.name,
        "running": holder is not None,
        "statuses": [
            {"status": status, "meaning": meaning, "documents": counts.get(status, 0)}
            for status, meaning in STATUSES.items()
        ],
        "queues": queues,
        "parsers": [each._asdict() for each in parsers_in(settings.state)],
        "failures": _by_reason(settings, seen),
        "failures_left_out": seen.rare_groups._asdict(),
        "exports": [each._asdict() for each in exports_in(settings.state)],
        "counted": seen.tally,
    }


def _by_reason(settings: Settings, seen: Look) -> list[dict[str, Any]]:
    from ..structure.status import sources_in

    named = [uri for each in seen.groups for uri, _ in each.examples]
    sources = sources_in(settings.pools_file, named)
    return [
        {
            "reason": each.reason_group,
            "number": each.number,
            "examples": [
                {"document": uri, "source": sources.get(uri), "reason": reason}
                for uri, reason in each.examples
            ],
        }
        for each in seen.groups
    ]


def _lines(settings: Settings) -> Iterator[str]:
    from ..jobs.registry import job_named
    from ..journal.holder import running
    from ..journal.reader import look
    from ..reports.panels import lines_of
    from ..reports.text import failures_of
    from ..reports.view import View

    seen, holder = look(settings.pools_file), running(settings.state)
    job = job_named(JOB)
    view = View(settings.pools_file, seen, None, holder, False, (), time.time(), job)
    is_running = f"runs (process {holder.pid})" if holder else "not running"
    yield f"{settings.structure.name}: {is_running}"
    yield from _statuses(settings)
    for panel in job.views(view.file, view.pace):
        if panel.rows:
            yield ""
            yield from lines_of(panel)
    if seen.groups:
        yield ""
        yield from failures_of(view)


def _statuses(settings: Settings) -> Iterator[str]:
    from ..jobs.structure_statuses import statuses_of
    from ..reports.tables import table
    from ..structure.status import STATUSES

    counts = statuses_of(settings)
    rows = [(str(each), STATUSES[each], f"{number:,}") for each, number in counts.items()]
    yield from table(rows, left=(1,))


def _failed(settings: Settings, after: str | None) -> dict[str, Any]:
    from ..structure.status import failures_in

    key = ("", 0) if after is None else _key(after)
    found = failures_in(settings.pools_file, MOST, key)
    last = orjson.dumps([found[-1].reason, found[-1].id]).decode() if len(found) == MOST else None
    return {"failures": [each._asdict() for each in found], "after": last}


def _key(after: str) -> tuple[str, int]:
    try:
        reason, id_ = orjson.loads(after)
        return str(reason), int(id_)
    except (ValueError, TypeError):
        raise UsageError(f"--after {after!r} is no key that a list ended with") from None


def _failed_lines(found: dict[str, Any]) -> Iterator[str]:
    if not found["failures"]:
        yield "nothing failed"
    for each in found["failures"]:
        tried = amount(each["attempts"], "time")
        reason = clipped(plain(each["reason"]), REASON)
        yield f"{plain(each['source'])}\t{each['stage']}\t{tried}\t{reason}"
    if found["after"]:
        import shlex

        yield f"more: --failed --after {shlex.quote(found['after'])}"


def _as_json(found: dict[str, Any]) -> str:
    return orjson.dumps(found, option=orjson.OPT_INDENT_2).decode()

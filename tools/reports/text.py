"""What is known of a harvest, for people.

Promise: no line is longer than 80 columns, whatever hosts and reasons hold, and no character of
theirs does anything but stand there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ..base.program import as_typed_here
from ..base.text import ago, amount, clipped, date, duration, pace, plain, roughly, size, width
from ..engine.panel import Cell, Panel
from ..journal import pauses
from ..journal.check import Verdict
from ..journal.reader import ClockWork, Look
from . import nodes, processes, rates
from .panels import lines_of
from .rates import Value
from .tables import WIDTH, Row, beside, table, titled
from .view import SPANS, View

BAR, POOL_BAR = 40, 30
HOSTS, GROUPS = 8, 8
CHORES = ("snapshot", "transport")


def as_text(view: View, heading: Callable[[str], str] = str) -> str:
    """`heading` may make a title bold; it must not make it longer to the eye."""
    sections = (
        _pools(view.seen.pools),
        _rates(view),
        processes.section(view.processes, view.now),
        nodes.node_section(view.nodes, view.now),
        _hosts(view.seen.assist.hosts),
        *map(lines_of, view.panels),
        failures_of(view),
        _assist(view),
        lines_of(Panel(view.job.store_title.capitalize(), "table", _stored(view))),
    )
    lines = _head(view)
    for first, *rest in filter(None, sections):
        title, space, beside = first.partition(" ")
        lines += ["", heading(title) + clipped(space + beside, WIDTH - len(title))]
        lines += [clipped(line, WIDTH) for line in rest]
    return "\n".join(lines)


def brief(view: View) -> str:
    """How far it is and how fast, for a notice."""
    sections = (_head(view), _pools(view.seen.pools), _rates(view), failures_of(view))
    return "\n\n".join("\n".join(section) for section in sections if section)


def _head(view: View) -> list[str]:
    world = view.seen.facts.get("world", "a harvest")
    lines = [
        f"{_end_of(view.file)}: {plain(world)}",
        _whether_it_runs(view),
        _whether_it_is_paused(view),
        _whether_it_waits(view),
        _whether_a_file_is_read(view.seen),
        _share(view),
        _time_left(view),
    ]
    return [clipped(line, WIDTH) for line in lines if line]


def _whether_it_waits(view: View) -> str:
    moment = view.next_round
    return f"waits for its next round, which begins {date(moment)}" if moment else ""


def _share(view: View) -> str:
    seen = view.seen
    known, noun = sum(seen.known.values()), view.job.noun(seen.facts)
    done = seen.known.get("finished", 0) + seen.known.get("failed", 0)
    share = done / known if known else 0.0
    text = f"{done:,} of {known:,} {noun} done ({int(100 * share)}%)"
    room = max(0, min(BAR, WIDTH - len(text) - 3))
    return f"[{'#' * int(room * share):<{room}}] {text}"


def _whether_it_is_paused(view: View) -> str:
    if (since := view.paused_since) is None:
        some = pauses.spoken(view.paused_slots, pauses.slots_in(view.seen.facts))
        return as_typed_here(f"paused: {some}; `python main.py resume` goes on") if some else ""
    return as_typed_here(f"paused since {date(since)}; `python main.py resume` goes on")


def _whether_a_file_is_read(seen: Look) -> str:
    if seen.file is None:
        return ""
    lines = amount(seen.file.lines, "line")
    return f"the file is read: {lines}" if seen.file.pool == "finished" else f"{lines} read so far"


def _end_of(file: Path) -> str:
    """Of a long path the end says more."""
    text = plain(str(file))
    return text if width(text) <= WIDTH - 20 else "..." + text[-(WIDTH - 25) :]


def _whether_it_runs(view: View) -> str:
    assist = view.seen.assist
    seconds = assist.worked + view.course.since_known
    worked = f"{duration(seconds)} worked in {amount(assist.runs, 'run')}"
    if view.running is not None:
        since = f"runs since {date(view.running.since)} (process {view.running.pid})"
        return f"{since}; {worked}" if assist.runs else since
    last = assist.samples[-1].time if assist.samples else None
    state = f"as it was {ago(view.now - last)}" if last else ""
    if not view.is_snapshot:
        state = f"not running; last active {date(last)}" if last else "not running"
    return "; ".join(part for part in (state, worked if assist.runs else "") if part)


def _time_left(view: View) -> str:
    if not any(name.startswith(("to_", "on_")) and n for name, n in view.seen.pools.items()):
        return ""
    left = view.left
    if left.time is not None:
        low, likely, high = (roughly(each) for each in left.time)
        text = f"about {likely} ({low} to {high})" if likely != "0 s" else "nothing is left"
    elif left.least >= 60:
        text = f"{left.why} (at least {roughly(left.least)})"
    else:
        text = left.why
    return f"time left: {text}" + (_when(view) if left.time and left.time.likely > 0 else "")


def _when(view: View) -> str:
    if view.running is None:
        return ", once it runs again"
    return "" if view.paused_since is None else ", once it is resumed"


def _pools(pools: Mapping[str, int]) -> list[str]:
    known = sum(pools.values()) or 1
    rows = [
        (plain(name), f"{n:,}", "#" * max(round(POOL_BAR * n / known), n > 0))
        for name, n in pools.items()
    ]
    return titled("Pools", table(rows, left=(0, 2)))


def _rates(view: View) -> list[str]:
    course = view.course
    if len(course.samples) < 2:
        young = ["  not yet: it has only begun"]
        return titled("Rates", young if view.running else [])
    rows: list[Row] = [("", "so far", *SPANS)]
    counts = view.seen.counts
    for name, value, is_known, shown in series(view):
        spans = [course.rate(value, span, is_known) for span in SPANS.values()]
        last = course.samples[-1] if is_known else course.samples[-1]._replace(counts=counts)
        total = value(last)
        rows.append((name, shown(total), *(_rate_text(each, shown) for each in spans)))
    return beside("Rates", table(rows))


Shown = Callable[[float], str]


def series(view: View) -> list[tuple[str, Value, bool, Shown]]:
    """What is measured: its name, its value, if only samples know it, how it is written."""
    seen, titles = view.seen, view.job.stage_titles
    whole = view.job.whole_file if seen.file else None
    done = [each for each in seen.done if whole is None or each != whole.stage]
    counted = [(titles.get(each, plain(each)), rates.done(each)) for each in done]
    for title, key in view.job.series:
        if any(rates.is_of(key, name) for name in seen.tally):
            counted.append((title, rates.count_of(key)))
    rows: list[tuple[str, Value, bool, Shown]] = [(*each, False, _number) for each in counted]
    return [*rows, ("requests", rates.requests, True, _number), ("bytes", rates.size, True, size)]


def _number(value: float) -> str:
    return f"{value:,.0f}"


def _rate_text(rate: float | None, shown: Shown) -> str:
    if rate is None:
        return "-"
    return f"{size(rate)}/s" if shown is size else pace(rate)


def _hosts(hosts: Mapping[str, tuple[int, int]]) -> list[str]:
    """The most asked ones, the rest together."""
    rows = [(plain(name), *numbers) for name, numbers in hosts.items()]
    shown, rest = rows[:HOSTS], rows[HOSTS:]
    if rest:
        shown.append((amount(len(rest), "other"), sum(r[1] for r in rest), sum(r[2] for r in rest)))
    cells: list[Row] = [(name, f"{n:,}", size(bytes_)) for name, n, bytes_ in shown]
    return beside("Hosts", table([("", "requests", "bytes"), *cells])) if cells else []


def _stored(view: View) -> list[tuple[Cell, ...]]:
    return list((view.stored or {}).items())


def failures_of(view: View) -> list[str]:
    groups = view.seen.groups
    named = [uri for group in groups[:GROUPS] for uri, _ in group.examples]
    names = view.job.known_as(view.file, named) if named else {}
    digits = max((len(f"{group.number:,}") for group in groups), default=0)
    lines = []
    for group in groups[:GROUPS]:
        lines.append(f"  {group.number:>{digits},}  {plain(group.reason_group)}")
        examples = ", ".join(plain(names.get(uri, uri)) for uri, _ in group.examples)
        lines.append(f"  {'':{digits}}    {examples}")
    rest, more = groups[GROUPS:], view.seen.rare_groups
    if rest:
        number = sum(group.number for group in rest) + more.failures
        lines.append(
            f"  {number:>{digits},}  for {amount(len(rest) + more.groups, 'other reason')}"
        )
    return titled("Failures", lines)


def _assist(view: View) -> list[str]:
    if view.is_snapshot:
        return []
    clock_works = view.seen.assist.clock_works
    names = [
        *(name for name in CHORES if name in clock_works),
        *sorted(clock_works.keys() - set(CHORES)),
    ]
    rows = [(plain(name), text) for name in names for text in _chore(clock_works[name], view.now)]
    if "transport" not in clock_works:
        rows.append(("transport", "none so far"))
    if view.copies:
        newest, number = view.copies[-1], amount(len(view.copies), "snapshot")
        text = f"{number}, the newest {ago(view.now - newest.time)} ({size(newest.size)})"
        rows.append(("kept", text))
    return titled("Assist", table(rows, left=(0, 1), yielding=1))


def _chore(clock_work: ClockWork, now: float) -> list[str]:
    """The failure first, if it came after what went well."""
    lines = []
    if clock_work.failed_at is not None and clock_work.failed_at >= (clock_work.done_at or 0.0):
        lines.append(
            f"FAILED {ago(now - clock_work.failed_at)}: {plain(clock_work.failure or 'unknown')}"
        )
    if clock_work.done_at is not None:
        lines.append(f"{ago(now - clock_work.done_at)}: {plain(clock_work.done or 'done')}")
    return lines


def verdict_line(verdict: Verdict, now: float) -> str:
    """One line of a check."""
    name = plain(verdict.path.name)
    about = f"{size(verdict.size)}, {ago(now - verdict.time)}" if verdict.size else "no bytes"
    if verdict.trouble:
        return f"{name}  DAMAGED ({about}): {plain(verdict.trouble)}"
    uris = amount(verdict.uris, "URI")
    return f"{name}  sound, format {verdict.format}, {uris}, {about}"


def failed_line(uri: str, reason: str, attempts: int) -> str:
    return f"{plain(uri)}\t{plain(reason)}\t{attempts}"

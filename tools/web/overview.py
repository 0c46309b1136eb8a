"""The first page: stages, rates, pools, hosts, the job's own figures, newest files, disks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ..base.text import pace, size
from ..engine.panel import Panel
from ..journal.allowed import allowed_in
from ..journal.pauses import slots_in
from ..journal.sample import Sample
from ..reports import rates
from ..reports.text import Shown, series
from ..reports.view import SPANS, View
from .disks import disks_of
from .paces import Paces
from .site import Site

MOST_HOSTS = 12
MOST_POINTS, CLOSEST_S, HOUR_S = 300, 0.5, 3600.0
ERRORS = "failures"


class StageSeen(NamedTuple):
    """`workers` is how many there are, `paused` how many of them make a pause."""

    name: str
    title: str
    done: int
    at_work: int
    waiting: int
    pace: str
    workers: int
    paused: int

    @property
    def total(self) -> int:
        return self.done + self.at_work + self.waiting


class RateSeen(NamedTuple):
    title: str
    total: str
    spans: Sequence[str]


class HostSeen(NamedTuple):
    """`allowed` is what it is asked at most, in words."""

    name: str
    requests: int
    pace: str
    allowed: str
    bytes: int
    rests_until: float | None
    reason: str


def overview(site: Site) -> dict[str, Any]:
    view, counted = site.view(), site.last_stored()
    return {
        "stages": stages_of(view),
        "spans": list(SPANS),
        "rates": rates_of(view),
        "pools": view.seen.pools,
        "hosts": hosts_of(view, site.remembered("paces", Paces))[:MOST_HOSTS],
        "hosts_in_all": view.seen.assist.hosts_in_all,
        "panels": shown_panels(view),
        "newest": site.newest(),
        "disks": disks_of(site),
        "stored": (counted.value if counted else None) or {},
        "stored_as_of": counted.as_of(view.now) if counted else None,
        "store_trouble": site.store_trouble,
        "store_title": view.job.store_title,
        "failed": view.seen.pools.get("failed", 0),
    }


def stages_of(view: View) -> list[StageSeen]:
    pools, slots, paused = view.seen.pools, slots_in(view.seen.facts), view.paused_slots
    return [
        StageSeen(
            name,
            view.job.stage_titles.get(name, name),
            view.seen.done.get(name, 0),
            at_work_in(view, name),
            pools.get(f"to_{name}", 0) + pools.get(f"on_{name}", 0) - at_work_in(view, name),
            _pace(view, name),
            slots.get(name, 0),
            len(paused.get(name, ())),
        )
        for name in rates.stages(pools)
    ]


def at_work_in(view: View, stage: str) -> int:
    """Of what is handed out, as much as there is somebody for: the rest lies ready."""
    handed_out = view.seen.pools.get(f"on_{stage}", 0)
    places = slots_in(view.seen.facts).get(stage, handed_out)
    return min(handed_out, places + sum(each.places for each in view.nodes))


def _pace(view: View, stage: str) -> str:
    """Of late; of a stage that has nothing to do, none."""
    rate = view.course.rate(rates.done(stage), SPANS["last minute"])
    now = view.course.rate(rates.done(stage), None) if rate is None else rate
    is_busy = any(view.seen.pools.get(f"{where}_{stage}") for where in ("to", "on"))
    return pace(now) if now is not None and is_busy and view.running is not None else ""


def rates_of(view: View) -> list[RateSeen]:
    course = view.course
    if len(course.samples) < 2:
        return []
    found = []
    for title, value, is_known, shown in measured(view):
        last = course.samples[-1]._replace(counts=view.seen.counts)
        rated = [course.rate(value, span, is_known) for span in SPANS.values()]
        is_bytes = shown is size
        texts = ["-" if r is None else f"{size(r)}/s" if is_bytes else pace(r) for r in rated]
        found.append(RateSeen(title, shown(value(last)), texts))
    return found


def measured(view: View) -> list[tuple[str, rates.Value, bool, Shown]]:
    """What is in curves and in the table beside them."""
    return [*series(view), (ERRORS, rates.count_of("failed"), False, "{:,.0f}".format)]


def hosts_of(view: View, paces: Paces) -> list[HostSeen]:
    """The most asked ones first, but before them whoever is left alone."""
    resting, allowed = {each.name: each for each in view.rests}, allowed_in(view.seen.facts)
    known = {name: (0, 0) for name in resting} | view.seen.assist.hosts
    rates = _host_rates(view, paces)
    found = [
        HostSeen(
            name,
            requests,
            pace(rates[name]) if name in rates else "",
            allowed.get(name, allowed.get("", "")),
            received,
            resting[name].until if name in resting else None,
            resting[name].reason if name in resting else "",
        )
        for name, (requests, received) in known.items()
    ]
    return sorted(found, key=lambda each: (each.rests_until is None, -each.requests, each.name))


def _host_rates(view: View, paces: Paces) -> Mapping[str, float]:
    """Nobody is asked by one that does not run. Hosts are written down with each sample."""
    course = view.course
    if view.running is None or not course.known:
        return {}
    return paces.a_second(course.samples[course.known - 1], view.seen.assist.hosts)


def shown_panels(view: View) -> list[Panel]:
    """The job's own, but for curves: those are drawn."""
    return [each for each in view.panels if each.rows and each.kind != "curve"]


def curves(site: Site) -> dict[str, Any]:
    """How much a second of everything that is counted, between samples; None where two runs meet.
    Times are those of the wall clock."""
    view = site.view()
    samples = thinned(view.course.samples[: view.course.known])
    drawn = [(title, value) for title, value, _, shown in measured(view) if shown is not size]
    return {
        "times": [round(each.time, 1) for each in samples],
        "series": [{"title": title, "values": _a_second(samples, value)} for title, value in drawn],
    }


def _a_second(samples: Sequence[Sample], value: rates.Value) -> list[float | None]:
    found: list[float | None] = [None] if samples else []
    for before, after in pairwise(samples):
        seconds = after.elapsed - before.elapsed
        is_one_run = before.run == after.run and seconds > 0
        step = max(0.0, value(after) - value(before))
        found.append(round(step / seconds, 3) if is_one_run else None)
    return found


def thinned(samples: Sequence[Sample]) -> Sequence[Sample]:
    """All of the last hour, which may be looked at alone, and of the time before it not more than
    can be seen; none so close to the one before that chance alone speaks. The last one stays."""
    apart = [
        after
        for before, after in pairwise([None, *samples])
        if after is not None and not _is_close(before, after)
    ]
    hour = apart[-1].time - HOUR_S if apart else 0.0
    recent = next((at for at, each in enumerate(apart) if each.time >= hour), 0)
    return [*_some(apart[:recent]), *_some(apart[recent:])]


def _some(samples: Sequence[Sample]) -> Sequence[Sample]:
    step = -(-len(samples) // MOST_POINTS) or 1
    return samples[::-step][::-1]


def _is_close(before: Sample | None, after: Sample) -> bool:
    return (
        before is not None
        and before.run == after.run
        and after.elapsed - before.elapsed < CLOSEST_S
    )

"""Everything that a report of a harvest is made of."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..engine.description import Description
from ..engine.panel import Panel
from ..journal import facts, pauses
from ..journal.at_work import AtWork, at_work_in, number_at_work
from ..journal.check import Copy, copies
from ..journal.holder import Running, running
from ..journal.hosts import ALL
from ..journal.nodes import Node, nodes_in
from ..journal.processes import Process, processes_in
from ..journal.reader import Look, look
from ..journal.rests import Resting, rests_in, unnamed_in
from . import rates
from .forecast import Left, left
from .rates import Course

SPANS: Mapping[str, float | None] = {"last minute": 60.0, "last hour": 3600.0, "this run": None}
STRANGER = Description()


class View(NamedTuple):
    file: Path
    seen: Look
    stored: Mapping[str, int] | None
    running: Running | None
    is_snapshot: bool
    copies: Sequence[Copy]
    now: float
    job: Description = STRANGER

    @property
    def course(self) -> Course:
        since = self.running.since if self.running else None
        return rates.course(self.seen.assist.samples, self.seen.counts, since, self.now)

    @property
    def paused_since(self) -> float | None:
        return facts.paused_since(self.seen.facts, self.running.pid if self.running else None)

    @property
    def paused_slots(self) -> pauses.Paused:
        return pauses.paused_slots(self.seen.facts, self.running.pid if self.running else None)

    @property
    def nodes(self) -> Sequence[Node]:
        """Other machines that work for it."""
        return nodes_in(self.seen.facts, self.running.pid if self.running else None)

    @property
    def processes(self) -> Sequence[Process]:
        """That work for it now."""
        return processes_in(self.seen.facts, self.running.pid if self.running else None)

    @property
    def rests(self) -> Sequence[Resting]:
        """Who is left alone now."""
        found = rests_in(self.seen.facts, self.running.pid if self.running else None)
        return [each for each in found if each.until > self.now]

    @property
    def resting(self) -> int:
        """How many are left alone: the first of them have names."""
        pid = self.running.pid if self.running else None
        return len(self.rests) + unnamed_in(self.seen.facts, pid)

    @property
    def at_work(self) -> Sequence[AtWork]:
        """Who works on what now."""
        return at_work_in(self.seen.facts, self.running.pid if self.running else None)

    @property
    def number_at_work(self) -> int:
        """The first of them have names."""
        return number_at_work(self.seen.facts, self.running.pid if self.running else None)

    @property
    def next_round(self) -> float | None:
        """When it begins again, if it waits between two rounds."""
        return facts.next_round(self.seen.facts, self.running.pid if self.running else None)

    @property
    def panels(self) -> Sequence[Panel]:
        """The job's own."""
        return [*self.job.panels(self.seen.counts), *self.job.views(self.file, self.pace)]

    def pace(self, key: str) -> float | None:
        """How many of what is counted under a name come in a second, over the last minute."""
        return self.course.rate(rates.count_of(key), SPANS["last minute"])

    @property
    def left(self) -> Left:
        return left(self.course, self.seen.pools, limit_of(self.seen.facts))


def view_of(
    file: Path,
    job: Description,
    stored: Mapping[str, int] | None,
    *,
    has_failures: bool = True,
    most_hosts: int = ALL,
) -> View:
    """Whoever holds the folder is asked before the file: a harvest that ends in between has then
    written down everything."""
    is_state = file.name == "pools.db"
    holder = running(file.parent) if is_state else None
    kept = copies(file) if is_state else ()
    seen = look(file, job.whole_file, has_failures=has_failures, most_hosts=most_hosts)
    return View(file, seen, stored, holder, not is_state, kept, time.time(), job)


def limit_of(written: Mapping[str, str]) -> int | None:
    text = written.get("limit", "")
    return int(text) if text.isdecimal() else None

"""What the file of the pools holds that is no pool: facts about the harvest, how far it was when,
how much each host was asked, how the clock's work ended.

Limit: the base of `Pools`, whose lock and transactions it shares.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from threading import Condition
from types import MappingProxyType

from ..journal.facts import LEASE_RUN
from ..journal.timings import Outcome, timed
from .custody import Custody
from .rows import Register
from .stage import Task
from .statefile import as_json

NOTHING: Mapping[str, str] = MappingProxyType({})
EVERY_MINUTE_S = 7 * 86_400.0  # so long samples are kept as they are; then every tenth

REMEMBER = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
NEXT_LEASE_RUN = (
    "INSERT INTO meta VALUES (?, '1') "
    "ON CONFLICT (key) DO UPDATE SET value = value + 1 RETURNING value"
)
ADD_TO_HOST = (
    "INSERT INTO host VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
    "requests = requests + excluded.requests, bytes = bytes + excluded.bytes"
)
SAMPLE = (
    "INSERT OR REPLACE INTO sample SELECT ?, ?, ?, ?, "
    "coalesce(sum(requests), 0), coalesce(sum(bytes), 0) FROM host"
)
FORGET_SAMPLE = "DELETE FROM sample WHERE run = ? AND elapsed = ?"
THIN_OUT = "DELETE FROM sample WHERE time < ? AND CAST(elapsed / 60 AS INTEGER) % 10"
LAST_SEEN = "SELECT time FROM sample ORDER BY run DESC, elapsed DESC LIMIT 1"
LAST_RUN = "SELECT coalesce(max(run), 0) FROM sample"
WORKED = "SELECT total(longest) FROM (SELECT max(elapsed) AS longest FROM sample GROUP BY run)"
CHORE = {
    True: "INSERT INTO chore (name, done_at, done) VALUES (?, ?, ?) ON CONFLICT (name) "
    "DO UPDATE SET done_at = excluded.done_at, done = excluded.done",
    False: "INSERT INTO chore (name, failed_at, failure) VALUES (?, ?, ?) ON CONFLICT (name) "
    "DO UPDATE SET failed_at = excluded.failed_at, failure = excluded.failure",
}


class Notes(ABC):
    def __init__(self, register: Register) -> None:
        self.changed = Condition()
        self._register = register
        self.custody = Custody(self.changed, register)

    @abstractmethod
    def counts(self) -> dict[str, int]:
        """How many are in each pool."""

    def tally(self) -> dict[str, int]:
        """Everything that is counted, over all runs."""
        with self.changed:
            return dict(self._register.counts)

    def tallied(self, name: str) -> int:
        """What the job's tasks have counted under this name, over all runs."""
        return self._register.counts.get(name, 0)

    def remember(self, facts: Mapping[str, str]) -> None:
        """Write down what a later start must know about this harvest."""
        with self.changed, self._register.transaction():
            self._register.write(REMEMBER, *facts.items())

    def remembered(self) -> dict[str, str]:
        with self.changed:
            return dict(self._register.read("SELECT key, value FROM meta"))

    def next_run(self) -> int:
        """The number of this run, for its samples."""
        with self.changed:
            ((last,),) = self._register.read(LAST_RUN)
            return int(last) + 1

    def next_lease_run(self) -> int:
        """A number that no process before has had for its leases. It is on the disk before it is
        used: what was handed out with it to other machines outlives a power cut here."""
        with self.changed:
            ((number,),) = self._register.write_through(NEXT_LEASE_RUN, LEASE_RUN)
            return int(number)

    def seconds_worked(self) -> float:
        """In all runs so far, by their samples."""
        with self.changed:
            ((seconds,),) = self._register.read(WORKED)
            return float(seconds)

    def last_seen(self) -> float | None:
        """What the wall clock showed when the latest sample was taken."""
        with self.changed:
            return next((moment for (moment,) in self._register.read(LAST_SEEN)), None)

    def sample(
        self,
        run: int,
        elapsed: float,
        traffic: Mapping[str, tuple[int, int]],
        replaced: float | None = None,
        stays: bool = True,
        facts: Mapping[str, str] = NOTHING,
    ) -> None:
        """Write down how far it is now, and how many requests and bytes each host had since the
        last time; the sample of the moment `replaced` goes. One that stays is worth tidying up
        the old ones. With it are written `facts`."""
        with self.changed, self._register.transaction():
            now, counts = time.time(), self._register.counts | self.counts()
            hosts = [(host, *numbers) for host, numbers in traffic.items()]
            self._register.write(ADD_TO_HOST, *hosts)
            self._register.write(FORGET_SAMPLE, (run, replaced))
            self._register.write(SAMPLE, (run, elapsed, now, as_json(counts)))
            self._register.write(REMEMBER, *facts.items())
            if stays:  # it reads them all
                self._register.write(THIN_OUT, (now - EVERY_MINUTE_S,))

    def note_clock_work(self, name: str, ended: float, is_done: bool, text: str) -> None:
        """Write down how a piece of work of the clock ended."""
        with self.changed, self._register.transaction():
            self._register.write(CHORE[is_done], (name, ended, text))

    def _time(self, task: Task, outcome: Outcome) -> None:
        """Within a transaction; not of what nobody has begun."""
        if task.holder:
            seconds = time.monotonic() - task.begun if task.seconds is None else task.seconds
            self._register.count_up(timed(task.stage.name, outcome, seconds))

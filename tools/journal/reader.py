"""What a state file says, read from outside: without changing it or making anybody wait.

Promise: everything comes from one read transaction, so nothing contradicts anything; it is short
however many URIs there are.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import orjson

from ..base.program import as_typed_here
from ..base.sqlite import is_damage, reading
from ..errors import StateDamaged
from .hosts import ALL, Hosts, hosts_in, number_of_hosts
from .reasons import Failures, Group, RareGroups, failures_in
from .rests import named_in
from .sample import Sample
from .schema import FAILED
from .timings import is_timing

GO_ON = "; start again with --resume and a good snapshot, which `python history.py --check` names"
RECENT = 1500  # samples: more than a day of minutes
ALL_FAILED = (
    f"SELECT uri, coalesce(reason, 'unknown'), attempts FROM uri WHERE pool = {FAILED} "
    "ORDER BY reason, id"
)
WHOLE_FILE = (  # by the index: no other URI begins like that
    "SELECT iif(lease.id, replace(name, 'to_', 'on_'), name) FROM uri "
    "JOIN pool ON pool.id = uri.pool LEFT JOIN lease ON lease.id = uri.id "
    "WHERE uri >= ? AND uri < ? LIMIT 1"
)
SAMPLES = "SELECT run, elapsed, time, counts, requests, bytes FROM sample"
LATEST = f"{SAMPLES} ORDER BY run DESC, elapsed DESC LIMIT ?"
FIRST = f"{SAMPLES} WHERE run = (SELECT max(run) FROM sample) ORDER BY elapsed LIMIT 1"
# From run to run by the key: nobody reads a million samples to add up a few dozen numbers.
WORKED = """WITH RECURSIVE each_(run) AS (
    SELECT min(run) FROM sample
    UNION ALL SELECT (SELECT min(run) FROM sample WHERE run > each_.run) FROM each_
    WHERE each_.run IS NOT NULL)
SELECT count(run), coalesce(sum((SELECT max(elapsed) FROM sample WHERE run = each_.run)), 0)
FROM each_"""


class ClockWork(NamedTuple):
    """How a kind of work of the clock ended last, well and badly."""

    done_at: float | None
    done: str | None
    failed_at: float | None
    failure: str | None


class Assist(NamedTuple):
    """What the second format has more than the first."""

    hosts: Hosts
    """As many as were wanted, and those that were left alone."""
    clock_works: dict[str, ClockWork]
    samples: list[Sample]
    """The first of the last run and the latest ones."""
    runs: int
    worked: float
    """Seconds, in all runs."""
    hosts_in_all: int = 0


class WholeFile(NamedTuple):
    """What a job says of a task that reads a whole file, and so is none of its items."""

    begins: str  # how its URI begins, and no other
    stage: str
    lines: str  # under which name the lines are counted that are read


class File(NamedTuple):
    """Where the task is that reads a whole file, and how far."""

    pool: str
    lines: int


class Look(NamedTuple):
    """What a state file says at one moment."""

    pools: dict[str, int]
    """Without a file that has been read to its end: it is no item."""
    done: dict[str, int]
    failures: dict[str, int]
    """By reason, the most frequent ones. These and their groups are empty where nobody asked."""
    facts: dict[str, str]
    format: int
    tally: dict[str, int]
    """What the job's tasks have counted."""
    groups: list[Group]
    assist: Assist
    file: File | None = None
    rare_groups: RareGroups = RareGroups()

    @property
    def known(self) -> dict[str, int]:
        """The pools without the file, wherever it is."""
        found = self.file.pool if self.file and self.file.pool != "finished" else None
        return {name: count - (name == found) for name, count in self.pools.items()}

    @property
    def counts(self) -> dict[str, int]:
        """As a sample has them."""
        return {**self.pools, **{f"done_{key}": n for key, n in self.done.items()}, **self.tally}


def look(
    path: Path,
    whole_file: WholeFile | None = None,
    *,
    has_failures: bool = True,
    most_hosts: int = ALL,
) -> Look:
    """One moment of a state file or snapshot. `whole_file`: what its job says of such a task.
    Failures have to be gone through one by one, which takes long where they are very many; so
    does listing all hosts."""
    with moment(path) as db:
        (format_,) = db.execute("PRAGMA user_version").fetchone()
        counts = counts_in(db.execute("SELECT counts FROM tally").fetchone()[0])
        leased = dict(db.execute("SELECT stage, count(*) FROM lease GROUP BY stage"))
        file = _file(db, counts, whole_file) if whole_file else None
        failures = failures_in(db) if has_failures else Failures({}, [])
        facts = dict(db.execute("SELECT key, value FROM meta"))
        return Look(
            _pools(counts, leased, file),
            {key.removeprefix("done_"): n for key, n in counts.items() if key.startswith("done_")},
            failures.reasons,
            facts,
            format_,
            {key: n for key, n in counts.items() if _is_of_job(key)},
            failures.groups,
            _assist(db, facts, most_hosts) if format_ > 1 else Assist({}, {}, [], 0, 0.0),
            file,
            failures.rare_groups,
        )


def failures_at(path: Path) -> Failures:
    """Why what failed did."""
    with moment(path) as db:
        return failures_in(db)


def hosts_at(path: Path) -> Hosts:
    """All of them."""
    with moment(path) as db:
        return hosts_in(db) if _has_assist(db) else {}


def facts_in(path: Path) -> dict[str, str]:
    """What a state says of itself."""
    with moment(path) as db:
        return dict(db.execute("SELECT key, value FROM meta"))


def all_samples(path: Path) -> list[Sample]:
    with moment(path) as db:
        rows = db.execute(f"{SAMPLES} ORDER BY run, elapsed") if _has_assist(db) else ()
        return [_sample(row) for row in rows]


def failed(path: Path, wanted: str = "") -> list[tuple[str, str, int]]:
    """URI, reason and attempts of what failed, by reason and then in the order of discovery.

    `wanted` is a part of the reason, in large or small letters.
    """
    with moment(path) as db:
        rows = db.execute(ALL_FAILED)
        return [row for row in rows if wanted.casefold() in row[1].casefold()]


# --- inside ----------------------------------------------------------------------------------


@contextmanager
def moment(path: Path) -> Iterator[sqlite3.Connection]:
    """A read transaction; what is wrong with the file is told as damage, no text is refused."""
    try:
        with closing(reading(path)) as db:
            db.text_factory = _decoded
            db.execute("BEGIN")
            yield db
    except (sqlite3.DatabaseError, ValueError, TypeError) as error:  # TypeError: a row is missing
        advice = GO_ON if path.name == "pools.db" and is_damage(error) else ""
        raise StateDamaged(as_typed_here(f"{path} cannot be read: {error}{advice}")) from error


def _has_assist(db: sqlite3.Connection) -> bool:
    (format_,) = db.execute("PRAGMA user_version").fetchone()
    return bool(format_ > 1)


def _decoded(text: bytes) -> str:
    return text.decode(errors="replace")


def _is_pool(name: str) -> bool:
    return name in ("finished", "failed") or name.startswith(("to_", "on_"))


def _is_of_job(name: str) -> bool:
    return not (_is_pool(name) or name.startswith("done_") or is_timing(name))


def _file(db: sqlite3.Connection, counts: Mapping[str, int], whole: WholeFile) -> File | None:
    after = whole.begins[:-1] + chr(ord(whole.begins[-1]) + 1)
    row = db.execute(WHOLE_FILE, (whole.begins, after)).fetchone()
    return File(row[0], counts.get(whole.lines, 0)) if row else None


def _pools(
    counts: Mapping[str, int], leased: Mapping[str, int], file: File | None
) -> dict[str, int]:
    """The tally counts what is being worked on where it waits."""
    pools = {name: count for name, count in counts.items() if _is_pool(name)}
    for stage, count in leased.items():
        pools[f"to_{stage}"] = pools.get(f"to_{stage}", 0) - count
        pools[f"on_{stage}"] = pools.get(f"on_{stage}", 0) + count
    if file is not None and file.pool == "finished":
        pools["finished"] -= 1
    return pools


def _assist(db: sqlite3.Connection, facts: Mapping[str, str], most_hosts: int) -> Assist:
    runs, worked = db.execute(WORKED).fetchone()
    rows = {row[:2]: row for row in (*db.execute(FIRST), *db.execute(LATEST, (RECENT,)))}
    clock_works = db.execute("SELECT name, done_at, done, failed_at, failure FROM chore")
    return Assist(
        hosts_in(db, most_hosts, named_in(facts)),
        {row[0]: ClockWork(*row[1:]) for row in clock_works},
        [_sample(rows[key]) for key in sorted(rows)],
        runs,
        worked,
        number_of_hosts(db),
    )


def _sample(row: tuple[int, float, float, str, int, int]) -> Sample:
    run, elapsed, time, counts, requests, size = row
    return Sample(run, elapsed, time, counts_in(counts), requests, size)


def counts_in(text: str) -> dict[str, int]:
    counts = orjson.loads(text)
    if not isinstance(counts, dict) or not all(type(each) is int for each in counts.values()):
        raise ValueError("a tally is no table of numbers")
    return counts

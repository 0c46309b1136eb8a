"""How far a structure is: statuses, queues, parsers, exports and failures, read from outside.

Promise: nobody waits for it, and it is short however many documents there are: what is counted by
the pools is not counted again, and lists are read by their key.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from ..base.sqlite import stop_if_unwritable
from ..engine.statefile import as_json
from ..journal.reader import counts_in, moment
from ..journal.schema import FAILED, FINISHED
from .documents import FILE
from .queues import CLASSES, QUEUES, hash_of

STATUSES = {
    1: "new",
    2: "dispatched",
    3: "running",
    4: "download failed",
    5: "downloaded",
    6: "failed in parse",
    7: "parsed",
    8: "failed in export",
    9: "finished",
}
VIEW = f"""CREATE VIEW task AS SELECT uri.id, substr(uri, instr(uri, ' ') + 1) AS document,
CASE WHEN lease.id IS NOT NULL THEN 3
    WHEN pool > {FAILED} THEN 2
    WHEN pool = {FINISHED} THEN
        iif((SELECT value FROM meta WHERE key = 'export') = '', 7, 9)
    WHEN failed_in = (SELECT id FROM pool WHERE name = 'to_export') THEN 8
    ELSE 6 END AS status,
note ->> 0 AS source, note ->> 3 AS type, note ->> 4 AS length, note ->> 5 AS parser,
uri.priority, uri.attempts, uri.reason, uri.moved
FROM uri LEFT JOIN lease ON lease.id = uri.id WHERE note IS NOT NULL"""
HAS_VIEW = "SELECT sql FROM sqlite_master WHERE type = 'view' AND name = 'task'"
SOURCES = (
    "SELECT pool, count(*) FROM uri WHERE uri IN "
    "(SELECT substr(key, 10) FROM meta WHERE key LIKE 'position %') GROUP BY pool"
)
FAILED_IN = (
    "SELECT name, count(*) FROM uri JOIN pool ON pool.id = failed_in "
    f"WHERE uri.pool = {FAILED} GROUP BY failed_in"
)
WAITING = (
    "SELECT rank, count(*) FROM uri WHERE pool = (SELECT id FROM pool WHERE name = ?) "
    f"AND rank IS NOT NULL AND pool > {FAILED} GROUP BY rank"
)
RUNNING = "SELECT priority, count(*) FROM lease JOIN uri USING (id) WHERE stage = ? GROUP BY 1"
OLDEST = (
    "SELECT uri, moved FROM uri WHERE pool = (SELECT id FROM pool WHERE name = ?) AND rank = ? "
    f"AND rank IS NOT NULL AND pool > {FAILED} ORDER BY id LIMIT 1"
)
FAILURES = (
    "SELECT uri.id, uri, coalesce(reason, ''), attempts, name, note ->> 0 FROM uri "
    f"LEFT JOIN pool ON pool.id = failed_in WHERE uri.pool = {FAILED} "
    "AND (reason, uri.id) > (?, ?) ORDER BY reason, uri.id LIMIT ?"
)
SEEN_AT = "SELECT at FROM source WHERE hash = ? ORDER BY id LIMIT 1"
NAMES = (
    "SELECT uri, note ->> 0 FROM uri WHERE note IS NOT NULL "
    "AND uri IN (SELECT value FROM json_each(?))"
)
PARSERS = (
    "SELECT name, documents, seconds / documents, slowest, slowest_source, memory FROM parser "
    "ORDER BY 3 DESC LIMIT ?"
)
EXPORTS = (
    "SELECT id, document, exports.at, status, rows, problems, reason, coalesce(source, '') "
    "FROM exports LEFT JOIN document ON hash = document WHERE id < ? ORDER BY id DESC LIMIT ?"
)
LAST = 2**62


class Queue(NamedTuple):
    """`oldest` is when what waits longest came, by the wall clock, if that is known."""

    name: str
    waiting: int
    running: int
    oldest: float | None


class ParserFigures(NamedTuple):
    name: str
    documents: int
    mean_s: float
    slowest_s: float
    slowest: str
    memory: int


class ExportSeen(NamedTuple):
    id: int
    document: str
    at: float
    status: str
    rows: int
    problems: int
    reason: str | None
    source: str  # whose bytes were parsed; empty if they never were


class FailureSeen(NamedTuple):
    """`reason` and `id` of the last one of a list are the key of the next."""

    id: int
    document: str
    reason: str
    attempts: int
    stage: str
    source: str


def create_view(pools_file: Path) -> None:
    """`task` in the file of the pools: every document with its status, for whoever asks by SQL."""
    with stop_if_unwritable(str(pools_file)), closing(sqlite3.connect(pools_file)) as db:
        found = db.execute(HAS_VIEW).fetchone()
        if found != (VIEW,):
            db.executescript(f"BEGIN; DROP VIEW IF EXISTS task; {VIEW}; COMMIT;")


def statuses_in(pools_file: Path) -> dict[int, int]:
    """How many documents have each of the statuses that they have here."""
    with moment(pools_file) as db:
        tally = counts_in(db.execute("SELECT counts FROM tally").fetchone()[0])
        running = dict(db.execute("SELECT stage, count(*) FROM lease GROUP BY stage"))
        sources = dict(db.execute(SOURCES))  # which are no documents
        failed = dict(db.execute(FAILED_IN))
        export = db.execute("SELECT value FROM meta WHERE key = 'export'").fetchone()
    at_work = sum(running.get(stage, 0) for stage in QUEUES)
    finished = tally.get("finished", 0) - sources.get(FINISHED, 0)
    over = 9 if export and export[0] else 7
    return {
        2: sum(tally.get(f"to_{stage}", 0) for stage in QUEUES) - at_work,
        3: at_work,
        6: failed.get("to_parse", 0),
        7: 0,
        8: failed.get("to_export", 0),
        9: 0,
        over: finished,
    }


def queues_in(pools_file: Path) -> list[Queue]:
    """All eight, in the order of life, the highest class first."""
    found: list[Queue] = []
    with moment(pools_file) as db, _documents(pools_file.parent) as documents:
        for stage, name in QUEUES.items():
            there, running = (
                dict(db.execute(WAITING, (f"to_{stage}",))),
                dict(db.execute(RUNNING, (stage,))),
            )
            for rank, class_ in enumerate(CLASSES):
                active = running.get(rank, 0)
                waiting = there.get(rank, 0) - active
                oldest = _oldest(db, documents, f"to_{stage}", rank) if waiting > 0 else None
                found.append(Queue(f"{name}:{class_}", waiting, active, oldest))
    return found


def _oldest(
    db: sqlite3.Connection, documents: sqlite3.Connection | None, pool: str, rank: int
) -> float | None:
    """What has made no move came when its source was seen."""
    row = db.execute(OLDEST, (pool, rank)).fetchone()
    if row is None or row[1] is not None or documents is None:
        return row[1] if row else None
    seen = documents.execute(SEEN_AT, (hash_of(row[0]),)).fetchone()
    return seen[0] if seen else None


def parsers_in(state: Path, most: int = 20) -> list[ParserFigures]:
    """The slowest first, by their mean."""
    with _documents(state) as db:
        return [ParserFigures(*row) for row in db.execute(PARSERS, (most,))] if db else []


def exports_in(state: Path, most: int = 20, before: int = LAST) -> list[ExportSeen]:
    """The last ones first; further ones are those before the id of the last of these."""
    with _documents(state) as db:
        return [ExportSeen(*row) for row in db.execute(EXPORTS, (before, most))] if db else []


def failures_in(
    pools_file: Path, most: int = 50, after: tuple[str, int] = ("", 0)
) -> list[FailureSeen]:
    """By reason and then in the order of discovery, after such a key."""
    with moment(pools_file) as db:
        rows = db.execute(FAILURES, (*after, most)).fetchall()
    return [
        FailureSeen(id_, hash_of(uri), reason, attempts, (pool or "")[3:], source or uri)
        for id_, uri, reason, attempts, pool, source in rows
    ]


def sources_in(pools_file: Path, uris: Sequence[str]) -> dict[str, str]:
    """The source in which each of these documents was seen first."""
    with moment(pools_file) as db:
        return dict(db.execute(NAMES, (as_json(uris),)))


@contextmanager
def _documents(state: Path) -> Iterator[sqlite3.Connection | None]:
    """None if there are none yet."""
    file = state / FILE
    if not file.exists():
        yield None
        return
    with moment(file) as db:
        yield db

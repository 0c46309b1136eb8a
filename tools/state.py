"""The file behind the pools: its tables, opening and checking it, and copies of it.

Promise: the file appears whole or not at all; a damaged one is refused, never replaced.
A snapshot is a consistent copy that makes nobody wait.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from tools.errors import StateDamaged

FORMAT = 1
LOCK = "LOCK"
BUDGETS = "budgets"
CACHE_KB = 4096  # the system caches the file; a large cache of our own measured slower
FINISHED, FAILED = 0, 1  # fixed ids, because the partial indexes name them

SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;
CREATE TABLE pool (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE uri (
    id INTEGER PRIMARY KEY,             -- order of discovery
    uri TEXT NOT NULL UNIQUE,
    pool INTEGER NOT NULL REFERENCES pool,
    rank INTEGER,                       -- smaller is handed out first; null: by id alone
    depth INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    not_before REAL NOT NULL DEFAULT 0, -- wall clock; 0 is now
    reason TEXT
) STRICT;
CREATE INDEX ranked ON uri (pool, rank, id) WHERE rank IS NOT NULL AND pool > {FAILED};
CREATE INDEX delayed ON uri (pool, not_before) WHERE not_before > 0;
CREATE INDEX failures ON uri (reason) WHERE pool = {FAILED};
-- A row here lifts its URI from `to_x` into `on_x`: handing out stays cheap, and taking back what a
-- dead process held is emptying this table.
CREATE TABLE lease (id INTEGER PRIMARY KEY REFERENCES uri, stage TEXT NOT NULL) STRICT;
-- How many are in each pool (leased ones counted where they wait) and how many tasks each stage has
-- brought to an end: written with every move, so that a reader need not count millions.
CREATE TABLE tally (counts TEXT NOT NULL) STRICT;
INSERT INTO pool (id, name) VALUES ({FINISHED}, 'finished'), ({FAILED}, 'failed');
INSERT INTO tally VALUES ('{{}}');
PRAGMA user_version = {FORMAT};
"""


FAILURES = (
    f"SELECT coalesce(reason, 'unknown'), count(*) FROM uri WHERE pool = {FAILED} "
    "GROUP BY reason ORDER BY 2 DESC"
)


def open_state(path: Path) -> sqlite3.Connection:
    """The file of the pools, created whole or checked; a damaged one is refused, never replaced."""
    if not path.exists():
        if snapshots(path):
            raise StateDamaged(f"{path} is gone though there are snapshots of it; {_advice(path)}")
        _create_state(path)
    try:
        with closing(_reading(path)) as db:  # before anything could change it
            check_state(db, path)
        return _connect(path)
    except StateDamaged as error:
        raise StateDamaged(f"{error}; {_advice(path)}") from error
    except sqlite3.DatabaseError as error:
        raise StateDamaged(f"{path} is damaged ({error}); {_advice(path)}") from error


def _advice(path: Path) -> str:
    good = newest_good_snapshot(path)
    if good is None:
        return "there is no good snapshot; --fresh sets it aside and begins anew"
    return f"the newest good snapshot is {good}: start again with --resume {good}"


def check_state(db: sqlite3.Connection, path: Path) -> None:
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if found > FORMAT:
        raise StateDamaged(
            f"{path} was written by a newer Sheaf (format {found}, this one knows {FORMAT})"
        )
    (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if found < 1:
        raise StateDamaged(f"{path} is damaged or no state of a harvest")
    if verdict != "ok":
        raise StateDamaged(f"{path} is damaged ({' '.join(verdict.split())})")


def _reading(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA journal_mode = WAL")  # readers never wait for the harvest
    db.execute("PRAGMA synchronous = NORMAL")  # kill -9 loses nothing, power loss the last moments
    db.execute(f"PRAGMA cache_size = -{CACHE_KB}")
    db.execute("PRAGMA temp_store = MEMORY")  # else each larger statement writes a file of its own
    db.execute("PRAGMA wal_autocheckpoint = 0")  # a Checkpointer does it where nobody waits
    return db


def _create_state(path: Path) -> None:
    """Built beside and renamed, so that an empty or half file at `path` is always damage."""
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    db = sqlite3.connect(part, isolation_level=None)
    try:
        db.executescript(f"BEGIN; {SCHEMA} COMMIT;")
    finally:
        db.close()
    part.replace(path)


def snapshot(state: Path, keep: int = 24) -> Path:
    """Copy `pools.db` to `snapshots/<counter>-<time>.db` beside it and keep the newest `keep`.

    One read transaction on a connection of its own: in WAL mode nobody waits for it. The name is
    ordered by the counter, because clocks jump.
    """
    folder = state.parent / "snapshots"
    folder.mkdir(exist_ok=True)
    existing = snapshots(state)
    number = int(existing[-1].name.split("-")[0]) + 1 if existing else 1
    final = folder / f"{number:06}-{time.strftime('%Y-%m-%d_%H-%M-%S')}.db"
    part = final.with_suffix(".part")
    part.unlink(missing_ok=True)
    with closing(sqlite3.connect(state)) as source, closing(sqlite3.connect(part)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")
        check_state(target, part)
    _make_durable(part)
    part.replace(final)
    _make_durable(folder)
    for old in existing[: max(0, len(existing) + 1 - keep)]:
        old.unlink()
    return final


def snapshots(state: Path) -> list[Path]:
    """The snapshots of a state file, oldest first."""
    return sorted((state.parent / "snapshots").glob("[0-9]*-*.db"))


def newest_good_snapshot(state: Path) -> Path | None:
    for path in reversed(snapshots(state)):
        try:
            with closing(_reading(path)) as db:
                check_state(db, path)
        except (sqlite3.DatabaseError, StateDamaged):
            continue
        return path
    return None


def _make_durable(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def set_aside(folder: Path) -> Path | None:
    """Move everything of a harvest into `aside-<n>`; None if there was nothing. Its lock stays, and
    what was asked of providers today: that counts for the next harvest too."""
    stays = (LOCK, BUDGETS)
    return _move_aside(folder, [path for path in folder.iterdir() if path.name not in stays])


def set_pools_aside(path: Path) -> Path | None:
    """The file, its log and its snapshots; the next harvest begins anew."""
    return _move_aside(path.parent, [*_files(path), path.parent / "snapshots"])


def _files(path: Path) -> list[Path]:
    """What belongs together: a log left beside another file would be applied to it."""
    return [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm")]


def _move_aside(folder: Path, paths: Iterable[Path]) -> Path | None:
    old = [path for path in paths if path.exists() and not path.name.startswith("aside-")]
    if not old:
        return None
    aside = folder / f"aside-{1 + len(list(folder.glob('aside-*')))}"
    aside.mkdir()
    for path in old:
        path.rename(aside / path.name)
    return aside


def restore(snapshot_file: Path, path: Path) -> None:
    """Begin from a snapshot; what was there is set aside, the snapshot itself stays as it is."""
    try:
        with closing(_reading(snapshot_file)) as source:
            check_state(source, snapshot_file)
            part = path.with_name(path.name + ".part")
            part.unlink(missing_ok=True)
            with closing(sqlite3.connect(part)) as target:
                source.backup(target)
    except sqlite3.DatabaseError as error:
        raise StateDamaged(f"{snapshot_file} cannot be used: {error}") from error
    _move_aside(path.parent, _files(path))
    part.replace(path)


class Look(NamedTuple):
    """What a state file says at one moment."""

    pools: dict[str, int]
    done: dict[str, int]
    failures: dict[str, int]
    facts: dict[str, str]


def look(path: Path) -> Look:
    """Read a state file or snapshot without changing it or making anybody wait."""
    try:
        with closing(_reading(path)) as db:
            db.execute("BEGIN")  # one moment for everything
            counts = json.loads(db.execute("SELECT counts FROM tally").fetchone()[0])
            leased = dict(db.execute("SELECT stage, count(*) FROM lease GROUP BY stage"))
            failures = dict(db.execute(FAILURES))
            facts = dict(db.execute("SELECT key, value FROM meta"))
    except sqlite3.DatabaseError as error:
        raise StateDamaged(f"{path} cannot be read: {error}") from error
    done = {key.removeprefix("done_"): n for key, n in counts.items() if key.startswith("done_")}
    pools = {key: n for key, n in counts.items() if not key.startswith("done_")}
    for stage, count in leased.items():
        pools[f"to_{stage}"] -= count
        pools[f"on_{stage}"] += count
    return Look(pools, done, failures, facts)

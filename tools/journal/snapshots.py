"""The state of a harvest on disk: opening it, copies of it, setting it aside.

Promise: a damaged state is refused, never replaced. A snapshot is a consistent copy that makes
nobody wait.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from threading import get_ident

from ..base.files import sync, whole_file, write_whole
from ..base.sqlite import reading
from ..errors import StateDamaged, StopHarvest
from .migration import bring_along
from .schema import FORMAT, check_state, connect, create_state, files_of
from .wal import is_from_before_boot, lost_commits

logger = logging.getLogger(__name__)

LOCK = "LOCK"
BUDGETS = "budgets"
JUDGED = "judged.jsonl"
TOKEN, WAY_IN = "serve-token", "serve-open.html"
OF_PAGE = (TOKEN, WAY_IN)
"""How the names begin of what a live page has here while it runs."""


def open_state(path: Path) -> sqlite3.Connection:
    """The file of the pools, created whole or checked; a damaged one is refused, never replaced,
    an older one brought along."""
    if not path.exists() and snapshots(path):
        raise StateDamaged(f"{path} is gone though there are snapshots of it; {_advice(path)}")
    try:
        if not path.exists():
            create_state(path)
        with closing(reading(path)) as db:  # before anything could change it
            found = check_state(db, path)
            check_log(path)
        return connect(path) if found == FORMAT else bring_along(path)
    except StateDamaged as error:
        raise StateDamaged(f"{error}; {_advice(path)}") from error
    except (sqlite3.OperationalError, OSError) as error:  # the disk, not what is written there
        raise _unusable(path, error) from error
    except sqlite3.DatabaseError as error:
        raise StateDamaged(f"{path} is damaged ({error}); {_advice(path)}") from error


def _unusable(path: Path, error: Exception) -> StopHarvest:
    return StopHarvest(f"{path} cannot be used ({error}): see to it, then start again")


def check_log(path: Path) -> None:
    """After a power cut the last moments may be missing; after a kill, of the last move a part, in
    the place of an older one. Else a log is whole, or damaged."""
    lost = lost_commits(path)
    if lost and is_from_before_boot(path):
        logger.warning("%s-wal lost its end in a power cut: the last moves are made again", path)
    elif lost == 1:
        logger.warning("%s-wal ends in half a move, which is made again", path)
    elif lost:
        raise StateDamaged(f"{path}-wal is damaged: {lost} or more moves in it cannot be read")


def _advice(path: Path) -> str:
    good = newest_good_snapshot(path)
    if good is None:
        return "there is no good snapshot; --fresh sets it aside and begins anew"
    return f"the newest good snapshot is {good}: start again with --resume {good}"


def snapshot(state: Path, keep: int = 24) -> Path:
    """Copy `pools.db` to `snapshots/<counter>-<time>.db` beside it and keep the newest `keep`.

    One read transaction on a connection of its own: in WAL mode nobody waits for it. The name is
    ordered by the counter, because clocks jump.
    """
    folder = state.parent / "snapshots"
    try:
        folder.mkdir(exist_ok=True)
        existing = snapshots(state)
        number = int(existing[-1].name.split("-")[0]) + 1 if existing else 1
        final = folder / f"{number:06}-{time.strftime('%Y-%m-%d_%H-%M-%S')}.db"
        part = final.with_suffix(f".{get_ident()}.part")  # another may hang, and be written still
        with whole_file(final, durable=True, part=part):
            _copy(state, part)
        for old in existing[: max(0, len(existing) + 1 - keep)]:
            old.unlink()
    except (OSError, sqlite3.Error) as error:
        raise StopHarvest(f"no snapshot can be written to {folder}: {error}") from error
    return final


def _copy(state: Path, part: Path) -> None:
    """What fails leaves nothing behind: it may hold the room that is lacking."""
    try:
        with closing(reading(state)) as source, closing(sqlite3.connect(part)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")
            check_state(target, part)
    except BaseException:
        _remove(part)
        raise


def remove_unfinished(state: Path) -> None:
    """What a process left behind that was killed amid a snapshot."""
    for part in (state.parent / "snapshots").glob("*.part"):
        logger.warning("%s was not finished and is removed", part)
        _remove(part)


def _remove(part: Path) -> None:
    """With its journals; itself last, so that a kill leaves no journal without it."""
    for path in sorted(part.parent.glob(f"{part.name}*"), reverse=True):
        path.unlink(missing_ok=True)


def snapshots(state: Path) -> list[Path]:
    """The snapshots of a state file, oldest first."""
    return sorted((state.parent / "snapshots").glob("[0-9]*-*.db"))


def newest_good_snapshot(state: Path) -> Path | None:
    for path in reversed(snapshots(state)):
        try:
            with closing(reading(path)) as db:
                check_snapshot(db, path)
        except (sqlite3.DatabaseError, StateDamaged):
            continue
        return path
    return None


def check_snapshot(db: sqlite3.Connection, path: Path) -> int:
    """Its format. SQLite itself does not mind if a part of the last page is missing."""
    found = check_state(db, path)
    (pages,), (size,) = (db.execute(f"PRAGMA page_{each}").fetchone() for each in ("count", "size"))
    if path.stat().st_size != pages * size:
        raise StateDamaged(f"{path} is cut short")
    return found


def set_aside(folder: Path) -> Path | None:
    """Move everything of a harvest into `aside-<n>`; None if there was nothing. Its lock stays, and
    what was asked of providers today: that counts for the next harvest too. So do the judgements of
    people, which nobody makes anew; whoever goes back finds a copy of them. What a live page has
    there, finished or not, is of no harvest."""
    stays = (LOCK, BUDGETS, JUDGED)
    moves = [
        path
        for path in folder.iterdir()
        if path.name not in stays and not path.name.startswith(OF_PAGE)
    ]
    aside = _move_aside(folder, moves)
    if aside and (folder / JUDGED).exists():
        write_whole(aside / JUDGED, (folder / JUDGED).read_bytes(), durable=True)
    return aside


def set_pools_aside(path: Path) -> Path | None:
    """The file, its log and its snapshots; the next harvest begins anew."""
    return _move_aside(path.parent, [*files_of(path), path.parent / "snapshots"])


def _move_aside(folder: Path, paths: Iterable[Path]) -> Path | None:
    old = [path for path in paths if path.exists() and not path.name.startswith("aside-")]
    if not old:
        return None
    aside = _new_aside(folder)
    for path in old:
        path.rename(aside / path.name)
    return aside


def _new_aside(folder: Path) -> Path:
    aside = folder / f"aside-{1 + len(list(folder.glob('aside-*')))}"
    aside.mkdir()
    return aside


def restore(snapshot_file: Path, path: Path) -> None:
    """Begin from a snapshot; what was there is set aside, the snapshot itself stays as it is."""
    try:
        with closing(reading(snapshot_file)) as source:
            check_snapshot(source, snapshot_file)
            with whole_file(path, durable=True) as part:
                with closing(sqlite3.connect(part, isolation_level=None)) as target:
                    source.backup(target)
                    target.execute("DELETE FROM lease")  # nobody died while these were at work
                connect(part).close()  # switched later, a kill would leave a journal in the way
                sync(part)  # a disk that refuses it must do so before the old log is moved
                if path.exists():
                    _copy_aside(path)
    except sqlite3.DatabaseError as error:
        raise StateDamaged(f"{snapshot_file} cannot be used: {error}") from error
    except OSError as error:
        raise _unusable(path, error) from error


def _copy_aside(path: Path) -> None:
    """At no moment is there no state: a start in between would begin anew. The log goes first,
    because it must never meet the new file."""
    aside = _new_aside(path.parent)
    for file in filter(Path.exists, reversed(files_of(path))):
        os.link(file, aside / file.name)
        if file != path:
            file.unlink()

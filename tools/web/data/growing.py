"""Keeps `search.db` like the graph: a pass goes through the keys of the graph in order, and makes
the same stretch of keys here the same.

Promise: a step is one transaction; after `kill -9` the next one goes on where the last one ended.
Limit: what came since the pass went by is found by the next pass, which begins when the graph has
changed.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from threading import Event, Thread
from typing import Any, NamedTuple

from ...add import relation_type
from ...base.sqlite import is_damage, transaction
from ...errors import HarvestError
from ...graphs.reader import File, Name, Reader
from ...media.credits import licence_name
from ...uri import language as language_of
from ...uri import parse_assertion
from .folding import folded, words
from .sidecar import Sidecar

STEP = 500  # rows of the graph: some ten milliseconds, seldom some hundred
REST = 19.0  # times as long as a step took, while everything is there already: 5 % of a core
LONGEST_REST_S, IDLE_S = 2.0, 1.0
SIDES = ((400, "small"), (1000, "medium"))  # pixels of the longer side
SECONDS = ((2.0, "small"), (10.0, "medium"))
TRAITS = ("kind", "provider", "licence", "language", "type", "size", "remark")
HASH_DIGITS = 15  # 60 bits: an index of numbers is a fifth of one of texts
SAME_BEGINNING = 20  # files looked at for one hash

Row = tuple[Any, ...]

log = logging.getLogger(__name__)


class Progress(NamedTuple):
    what: str
    is_whole: bool  # everything has been gone through once


class Grower:
    def __init__(self, reader: Reader, sidecar: Sidecar) -> None:
        self._reader, self._sidecar = reader, sidecar
        self._stretches: dict[str, Callable[[str], str]] = {
            "concepts": self._concepts,
            "files": self._files,
        }
        self._stop = Event()
        self._thread: Thread | None = None

    def step(self) -> bool:
        """Bring one stretch up to date; False if nothing was left to do."""
        file = self._sidecar.file
        try:
            return self._step()
        except sqlite3.DatabaseError as error:  # what is wrong with the graph is no such error
            if not is_damage(error):
                raise
            self._sidecar.renew(file)
            return True

    def _step(self) -> bool:
        mark = self._reader.change_mark()
        for what, stretch in self._stretches.items():
            with self._writing() as db:
                after, began, whole = _pass(db.execute(HOW_FAR, (what,)).fetchall())
                if not after and whole == mark:
                    continue
                began = began if after else mark
                last = stretch(after)
                row = (what, last, began, whole if last else began)
                db.execute("INSERT OR REPLACE INTO pass VALUES (?, ?, ?, ?)", row)
            return True
        return False

    def progress(self) -> list[Progress]:
        passes = {what: _pass(self._sidecar.rows(HOW_FAR, what)) for what in self._stretches}
        return [Progress(what, bool(whole)) for what, (_, _, whole) in passes.items()]

    def is_whole(self) -> bool:
        return all(each.is_whole for each in self.progress())

    # --- beside a server -----------------------------------------------------------------------

    def start(self) -> None:
        self._thread = Thread(target=self._run, name="search", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(10)

    def _run(self) -> None:
        rest = 0.0
        while not self._stop.wait(rest):
            rest = self._rested_step()

    def _rested_step(self) -> float:
        """How long to rest after it. A graph that cannot be read now is asked again later."""
        began = time.monotonic()
        try:
            if not self.step():
                return IDLE_S
            took = time.monotonic() - began
            return min(LONGEST_REST_S, took * (REST if self.is_whole() else 0.5))
        except (HarvestError, sqlite3.Error) as error:
            log.warning("the search cannot be kept up to date now: %s", error)
            return LONGEST_REST_S

    # --- a stretch -----------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._sidecar.writing, transaction(self._sidecar.db):
            yield self._sidecar.db

    def _concepts(self, after: str) -> str:
        """The URI it came to, empty at the end."""
        db, found = self._sidecar.db, self._reader.entity_page(after, STEP)
        last = found[-1].uri if len(found) == STEP else ""
        known = {row[0]: row for row in _stretch(db, KNOWN_CONCEPTS, after, last)}
        wanted = {each.uri: each for each in found}
        gone = [row for uri, row in known.items() if uri not in wanted]
        changed = [each for each in found if each != known.get(each.uri, ())[:4]]
        _forget_words(db, [*gone, *(known[each.uri] for each in changed if each.uri in known)])
        db.executemany("DELETE FROM concept WHERE uri = ?", [(row[0],) for row in gone])
        db.executemany(WRITE_CONCEPT, [(*each, folded(each.name)) for each in changed])
        _learn_words(db, changed)
        return last

    def _files(self, after: str) -> str:
        db, found = self._sidecar.db, self._reader.file_page(after, STEP)
        last = found[-1].media.path if len(found) == STEP else ""
        known = {row[0]: row for row in _stretch(db, KNOWN_FILES, after, last)}
        buckets = _Buckets(db)
        wanted = {each.media.path: buckets.row(each) for each in found}
        gone = [row for path, row in known.items() if path not in wanted]
        changed = [row for path, row in wanted.items() if row != known.get(path)]
        for row in [*gone, *(known[row[0]] for row in changed if row[0] in known)]:
            buckets.count(row[1], -1)
        for row in changed:
            buckets.count(row[1], 1)
        db.executemany("DELETE FROM file WHERE path = ?", [(row[0],) for row in gone])
        db.executemany(WRITE_FILE, changed)
        buckets.write()
        return last


HOW_FAR = "SELECT after, mark, whole FROM pass WHERE what = ?"
KNOWN_CONCEPTS = "SELECT uri, name, language, degree, id FROM concept WHERE uri > ?1"
KNOWN_FILES = "SELECT path, bucket, fetched, hash FROM file WHERE path > ?1"
WRITE_CONCEPT = """INSERT INTO concept (uri, name, language, degree, folded) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (uri) DO UPDATE SET (name, language, degree, folded)
    = (excluded.name, excluded.language, excluded.degree, excluded.folded)"""
WRITE_FILE = """INSERT INTO file (path, bucket, fetched, hash) VALUES (?, ?, ?, ?)
    ON CONFLICT (path) DO UPDATE SET (bucket, fetched, hash)
    = (excluded.bucket, excluded.fetched, excluded.hash)"""


def _pass(rows: Sequence[Row]) -> Row:
    """How far it is, the graph when it began, and when the last whole one did."""
    return rows[0] if rows else ("", "", "")


def _stretch(db: sqlite3.Connection, query: str, after: str, last: str) -> list[Row]:
    """What stands here between two keys; no last one means to the end."""
    key = query.split()[1].rstrip(",")
    until = f" AND {key} <= ?2" if last else ""
    return db.execute(query + until, (after, last) if last else (after,)).fetchall()


def _forget_words(db: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """An index without contents must be told what it forgets."""
    texts = [(row[4], words(row[1])) for row in rows]
    db.executemany("INSERT INTO word (word, rowid, words) VALUES ('delete', ?, ?)", texts)


def _learn_words(db: sqlite3.Connection, names: Sequence[Name]) -> None:
    texts = [(each.uri, words(each.name)) for each in names]
    learn = "INSERT INTO word (rowid, words) SELECT id, ?2 FROM concept WHERE uri = ?1"
    db.executemany(learn, texts)


class _Buckets:
    """The buckets that a stretch needs, and how many files came or went."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._ids: dict[tuple[str, ...], int] = {}
        self._numbers: dict[int, int] = {}

    def row(self, file: File) -> Row:
        media = file.media
        return media.path, self._id(traits(file)), fetched_at(media.time), hash_key(media.sha256)

    def _id(self, key: tuple[str, ...]) -> int:
        if key not in self._ids:
            columns, values = ", ".join(TRAITS), ", ".join("?" * len(TRAITS))
            new = f"INSERT OR IGNORE INTO bucket ({columns}, number) VALUES ({values}, 0)"
            self._db.execute(new, key)
            found = f"SELECT id FROM bucket WHERE ({columns}) = ({values})"
            self._ids[key] = self._db.execute(found, key).fetchone()[0]
        return self._ids[key]

    def count(self, bucket: int, by: int) -> None:
        self._numbers[bucket] = self._numbers.get(bucket, 0) + by

    def write(self) -> None:
        changed = [(by, bucket) for bucket, by in self._numbers.items() if by]
        self._db.executemany("UPDATE bucket SET number = number + ? WHERE id = ?", changed)


def traits(file: File) -> tuple[str, ...]:
    """What a gallery can filter by, in the order of `TRAITS`."""
    media, type_ = file.media, relation_type(file.owner)
    return (
        media.kind,
        media.provider or "",
        licence_name(media.license) if media.license else "",
        _language(file.owner, type_),
        type_,
        size_class(media.width, media.height, media.duration),
        "yes" if media.remark else "",
    )


def _language(owner: str, type_: str) -> str:
    try:
        concept = parse_assertion(owner)[1] if type_ else owner
    except ValueError:
        return ""
    return language_of(concept) or ""


def size_class(width: int | None, height: int | None, duration: float | None) -> str:
    """Of a picture by its longer side, of a sound by its length.

    >>> size_class(640, 480, None), size_class(None, None, 12.5), size_class(None, None, None)
    ('medium', 'large', '')
    """
    if width and height:
        return next((name for most, name in SIDES if max(width, height) < most), "large")
    if duration is not None:
        return next((name for most, name in SECONDS if duration < most), "large")
    return ""


def fetched_at(time_: str | None) -> int:
    """
    >>> fetched_at("1970-01-01T00:01:00Z"), fetched_at("yesterday"), fetched_at(None)
    (60, 0, 0)
    """
    try:
        return int(datetime.fromisoformat(time_).timestamp()) if time_ else 0
    except (ValueError, OverflowError):
        return 0


def hash_key(sha256: str) -> int:
    """
    >>> hash_key("ff" * 32) == 2**60 - 1, hash_key("strange")
    (True, -1)
    """
    try:
        return int(sha256[:HASH_DIGITS], 16)
    except ValueError:
        return -1

"""Raw answers of layers that keep them: WARC files, and which request each belongs to.

Promise: a row of the index names only bytes that are in the archive; what a crash left behind is
cut off at the next start. The same answer to the same request is kept once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from ..archive.answer import Answered, exchange_of
from ..archive.origin import Origin
from ..archive.record import Place, mime_of, pack
from ..archive.store import Archive
from ..archive.travelling import answered_of, answered_said
from ..base.sqlite import reading
from ..documents.address import absolute, host_of, identity
from ..errors import StopHarvest
from ..network.response import Response

FOLDER, INDEX = "archive", "kept.db"
SCHEMA = """
CREATE TABLE IF NOT EXISTS answer (
    request TEXT NOT NULL, digest TEXT NOT NULL, address TEXT NOT NULL, time TEXT NOT NULL,
    status INTEGER NOT NULL, type TEXT, file TEXT NOT NULL, offset INTEGER NOT NULL,
    length INTEGER NOT NULL, PRIMARY KEY (request, digest)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS file (name TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
"""
ADD = "INSERT OR IGNORE INTO answer VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
SET_END = (
    "INSERT INTO file VALUES (?, ?) ON CONFLICT (name) "
    "DO UPDATE SET bytes = max(bytes, excluded.bytes)"
)
NEW_END = (
    "UPDATE file SET bytes = (SELECT coalesce(max(offset + length), 0) FROM answer "
    "WHERE answer.file = file.name) WHERE name = ?"
)
# What stands beside a max() is of the row that has it.
LATEST = """SELECT *, max(time || file || printf('%020d', offset)) FROM answer
    WHERE request > ? GROUP BY request ORDER BY request
    LIMIT 500"""


class Answer(NamedTuple):
    """What was answered to a request, packed by whoever asked."""

    request: str
    answered: Answered


class KeptAnswer(NamedTuple):
    """Where one is in the archive, for whoever reads it."""

    request: str
    digest: str
    address: str
    time: str
    status: int
    type: str | None
    file: str
    offset: int
    length: int


def answer_of(request: str, response: Response, asked_at: float) -> Answer:
    moment = datetime.fromtimestamp(asked_at, UTC).isoformat(timespec="seconds")
    packed = pack(exchange_of(response, asked_at), notes={"request": request})
    domain, mime = host_of(identity(response.url)), mime_of(response.headers)
    answered = Answered(domain, response.url, moment, response.status, mime, packed)
    return Answer(request, answered)


def table_of(answer: Answer) -> dict[str, Any]:
    """As it travels; its request is known where it comes."""
    return answered_said(answer.answered)


def answer_told(request: str, said: Any, most: int) -> Answer:
    """What a stranger says was answered, in at most so many bytes; ValueError if that cannot be
    right. The domain names a file: it is that of the address, whatever he says."""
    answered = answered_of(said, "", most)
    if absolute(answered.address) is None:
        raise ValueError("an answer without an address")
    return Answer(request, replace(answered, domain=host_of(identity(answered.address))))


def kept_in(state: Path) -> Iterator[KeptAnswer]:
    """All that a task has kept, by request; none if it keeps nothing."""
    index = state / INDEX
    if index.exists():
        with closing(reading(index)) as db:
            for row in db.execute("SELECT * FROM answer ORDER BY request, time"):
                yield KeptAnswer(*row)


def latest_in(state: Path, after: str = "") -> Iterator[KeptAnswer]:
    """Of each request behind that one the last answer, by request. Nobody is held up by whoever
    takes his time with them."""
    while (state / INDEX).exists():
        with closing(reading(state / INDEX)) as db:
            rows = db.execute(LATEST, (after,)).fetchall()
        yield from (KeptAnswer(*row[:-1]) for row in rows)
        if not rows:
            return
        after = rows[-1][0]


class Kept:
    """Limit: one writer, the committer."""

    def __init__(self, state: Path, origin: Origin, max_file_bytes: int) -> None:
        self._archive = Archive(state / FOLDER, origin, max_file_bytes=max_file_bytes)
        self._db = sqlite3.connect(state / INDEX, isolation_level=None, check_same_thread=False)
        self._db.executescript(f"PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; {SCHEMA}")
        self._lock = Lock()
        ends = dict(self._db.execute("SELECT name, bytes FROM file"))
        self._archive.claim(known=len(ends))
        for short in self._archive.cut_back(ends).short:
            self._forget_end(short.file, short.bytes)
        self._archive.cut_back(dict(self._db.execute("SELECT name, bytes FROM file")))

    def _forget_end(self, file: str, size: int) -> None:
        """What a power cut took is no longer named; its pages are kept when they are next asked."""
        self._db.execute("DELETE FROM answer WHERE file = ? AND offset + length > ?", (file, size))
        self._db.execute(NEW_END, (file,))

    def add(self, answers: Sequence[Answer]) -> None:
        """All of them, or an error and none."""
        appended: list[Place] = []
        with self._lock:
            try:
                rows = [self._placed(each, appended) for each in answers if not self._has(each)]
                if appended:
                    self._archive.sync(durable=False)
                    self._write(rows, appended)
            except Exception:
                self._archive.take_back(appended)
                raise

    def _has(self, answer: Answer) -> bool:
        key = answer.request, answer.answered.packed.digest
        question = "SELECT 1 FROM answer WHERE request = ? AND digest = ?"
        return self._db.execute(question, key).fetchone() is not None

    def _placed(self, answer: Answer, appended: list[Place]) -> tuple[object, ...]:
        request, of = answer
        places = self._archive.append(of.domain, of.packed)
        appended += places
        about = of.address, of.time, of.status, of.mime
        return (request, of.packed.digest, *about, *places[0])

    def _write(self, rows: Sequence[tuple[object, ...]], appended: Sequence[Place]) -> None:
        ends = [(place.file, place.offset + place.length) for place in appended]
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(ADD, rows)
            self._db.executemany(SET_END, ends)
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._db.rollback()
            raise StopHarvest(f"{INDEX} cannot be written: {error}") from error

    def close(self) -> None:
        with self._lock:
            self._archive.sync(durable=True)
            self._archive.close()
            self._db.close()

"""The embedded graph: one SQLite file with the records of `add.py`.

Promise: every write is one transaction and gives the same graph when repeated; other processes can
read the file at any time. Limit: one writer at a time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import orjson

from ..add import KINDS, Counts, Entity, Media, Relation, by_kind, unseen, with_ends
from ..base.checkpoint import Checkpointer
from ..base.sqlite import reading, stop_if_unwritable, transaction, writing
from ..errors import StateDamaged, StopHarvest, UsageError
from . import members
from .fields import TABLES, names

SCHEMA = """
CREATE TABLE IF NOT EXISTS entity (
    uri TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    language TEXT NOT NULL,
    term TEXT NOT NULL,     -- the concept without its sense
    sense TEXT,
    image TEXT,             -- JSON lists of media paths; absent when there are none
    audio TEXT,
    visual TEXT
) WITHOUT ROWID, STRICT;
CREATE INDEX IF NOT EXISTS entity_name ON entity (name);
CREATE TABLE IF NOT EXISTS relation (
    uri TEXT PRIMARY KEY,
    type TEXT NOT NULL,
    start_uri TEXT NOT NULL REFERENCES entity,
    end_uri TEXT NOT NULL REFERENCES entity,
    weight REAL NOT NULL,
    surfaceText TEXT,
    license TEXT,
    dataset TEXT,
    image TEXT,
    audio TEXT,
    visual TEXT
) WITHOUT ROWID, STRICT;
CREATE INDEX IF NOT EXISTS relation_start ON relation (start_uri, type);
CREATE INDEX IF NOT EXISTS relation_end ON relation (end_uri, type);
CREATE TABLE IF NOT EXISTS media (
    path TEXT PRIMARY KEY,
    owner TEXT NOT NULL,    -- the entity or relation it shows
    kind TEXT NOT NULL,
    mime TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    width INTEGER,
    height INTEGER,
    duration REAL,
    license TEXT,
    license_url TEXT,
    author TEXT,
    page TEXT,
    source TEXT,
    provider TEXT,
    title TEXT,
    phash TEXT,
    time TEXT,
    remark TEXT
) WITHOUT ROWID, STRICT;
CREATE INDEX IF NOT EXISTS media_owner ON media (owner, kind);
"""
CACHE_KB = 32_768  # with 4,096 a walk was 6 % slower
CHECKPOINT_EVERY = 4000  # rows written
PAGE = 5000  # rows read at once: a longer read would keep the log from being carried over

# A batch goes in as one JSON list and one statement: each row of an executemany would hand the
# interpreter to another thread and wait to get it back.
# A relation reaches us from both of its ends; the second time nothing changed, nothing is written.
_ENTITY, _RELATION = (names(TABLES[each])[: -len(KINDS)] for each in ("entities", "relations"))
_RELATION = tuple({"start": "start_uri", "end": "end_uri"}.get(each, each) for each in _RELATION)
_MEDIA = names(TABLES["media"])
_CHANGING = ", ".join(_RELATION[4:])
_CHANGED = ", ".join(f"excluded.{each}" for each in _RELATION[4:])


def _insert(table: str, columns: Sequence[str]) -> str:
    values = ", ".join(f"value ->> {at}" for at in range(len(columns)))
    return f"INTO {table} ({', '.join(columns)}) SELECT {values} FROM json_each(?) WHERE true"


WRITE_ENTITIES = f"INSERT {_insert('entity', _ENTITY)} ON CONFLICT DO NOTHING"
WRITE_RELATIONS = f"""INSERT {_insert("relation", _RELATION)}
    ON CONFLICT (uri) DO UPDATE SET ({_CHANGING}) = ({_CHANGED})
    WHERE ({_CHANGING}) IS NOT ({_CHANGED})"""
WRITE_MEDIA = f"INSERT OR REPLACE {_insert('media', _MEDIA)}"
DELETE_OLD_MEDIA = "DELETE FROM media WHERE owner IN (SELECT value FROM json_each(?))"
LIST_MEDIA = [
    f"""UPDATE {table} SET (image, audio, visual) = (new.image, new.audio, new.visual)
        FROM (SELECT value ->> 0 AS owner, value ->> 1 AS image, value ->> 2 AS audio,
            value ->> 3 AS visual FROM json_each(?)) AS new
        WHERE uri = new.owner"""
    for table in ("entity", "relation")
]
COUNTS = """SELECT (SELECT count(*) FROM entity), (SELECT count(*) FROM relation),
    (SELECT count(*) FROM media)"""
READ_ENTITY = f"SELECT {', '.join(_ENTITY)} FROM entity WHERE"
READ_RELATION = f"SELECT {', '.join(_RELATION)} FROM relation WHERE"
READ_OWNERS = [
    f"""SELECT uri, {", ".join(KINDS)} FROM json_each(?) JOIN {table} ON uri = value
        WHERE coalesce({", ".join(KINDS)}) IS NOT NULL"""
    for table in ("entity", "relation")
]
READ_MEDIA = f"""SELECT {", ".join(f"m.{field}" for field in Media._fields)}
    FROM json_each(?) AS place JOIN media AS m ON m.path = place.value ORDER BY place.key"""


class SqliteGraph:
    def __init__(self, path: Path, writable: bool = True) -> None:
        self._path = path
        self.members = members.SqliteMembers(path)
        self._checkpointer: Checkpointer | None = None
        try:
            self._db = self._open_to_write() if writable else self._open_to_read()
        except (sqlite3.OperationalError, OSError) as error:
            raise StopHarvest(f"the graph {path} cannot be written: {error}") from error
        except sqlite3.DatabaseError as error:
            raise StateDamaged(f"the graph {path} is damaged or no graph: {error}") from error

    def _open_to_write(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        db = writing(self._path, CACHE_KB)
        db.executescript(SCHEMA)
        db.execute(members.SCHEMA)
        _add_missing_columns(db)
        self._checkpointer = Checkpointer(self._path, CHECKPOINT_EVERY)
        return db

    def _open_to_read(self) -> sqlite3.Connection:
        db = reading(self._path)
        try:
            db.execute("SELECT 1 FROM entity, relation, media LIMIT 0")
        except sqlite3.OperationalError as error:
            db.close()
            raise UsageError(f"{self._path} is no graph that can be read: {error}") from error
        return db

    def write(self, entities: Iterable[Entity], relations: Iterable[Relation]) -> int:
        links = list(relations)
        all_entities, all_relations = _as_json(with_ends(entities, links)), _as_json(links)
        with self._transaction():
            self._db.execute(WRITE_ENTITIES, (all_entities,))
            return self._db.execute(WRITE_RELATIONS, (all_relations,)).rowcount

    def attach(self, media: Mapping[str, Sequence[Media]]) -> None:
        files = [(each.path, owner, *each[1:]) for owner, files in media.items() for each in files]
        lists = [(owner, *by_kind(files).values()) for owner, files in media.items()]
        with self._transaction():
            self._db.execute(DELETE_OLD_MEDIA, (_as_json(media),))
            self._db.execute(WRITE_MEDIA, (_as_json(files),))
            for query in LIST_MEDIA:
                self._db.execute(query, (_as_json(lists),))

    @contextmanager
    def still(self) -> Iterator[SqliteGraph]:
        """One read transaction on a connection of its own. Until it ends the log of whoever writes
        cannot begin again and grows."""
        with closing(SqliteGraph(self._path, writable=False)) as moment:
            moment._db.execute("BEGIN")
            moment._db.execute("SELECT 1 FROM entity LIMIT 1").fetchone()  # the moment is this one
            yield moment

    def counts(self) -> Counts:
        return Counts(*self._db.execute(COUNTS).fetchone())

    def relations_by_type(self) -> dict[str, int]:
        rows = self._db.execute(
            "SELECT type, count(*) FROM relation GROUP BY type ORDER BY 2 DESC, 1"
        )
        return dict(rows)

    def neighbours(self, concept: str) -> list[Relation]:
        rows = self._db.execute(
            f"{READ_RELATION} start_uri = ?1 UNION {READ_RELATION} end_uri = ?1 ORDER BY 5 DESC, 1",
            (concept,),
        )
        return [Relation(*row) for row in rows]

    def entities(self) -> Iterator[Entity]:
        return (Entity(*row) for row in self._pages(READ_ENTITY))

    def relations(self) -> Iterator[Relation]:
        return (Relation(*row) for row in self._pages(READ_RELATION))

    def media_of(self, owners: Sequence[str]) -> dict[str, list[Media]]:
        asked = _as_json(owners)
        rows = [row for query in READ_OWNERS for row in self._db.execute(query, (asked,))]
        return {owner: self._media_at(listed(lists)) for owner, *lists in rows}

    def _media_at(self, paths: Sequence[str]) -> list[Media]:
        return [Media(*row) for row in self._db.execute(READ_MEDIA, (_as_json(paths),))]

    def _pages(self, select: str) -> Iterator[tuple[Any, ...]]:
        after = ""
        page = f"{select} uri > ? ORDER BY uri LIMIT {PAGE}"
        while rows := self._db.execute(page, (after,)).fetchall():
            yield from rows
            after = rows[-1][0]

    def holds(
        self,
        entities: Sequence[Entity] = (),
        relations: Sequence[Relation] = (),
        media: Sequence[Media] = (),
    ) -> int:
        return (
            self._count_of("entity", "uri", [each.uri for each in entities])
            + self._count_of("relation", "uri", [each.uri for each in relations])
            + self._count_of("media", "path", [each.path for each in media])
        )

    def _count_of(self, table: str, key: str, keys: Sequence[str]) -> int:
        wanted = f"SELECT count(*) FROM {table} WHERE {key} IN (SELECT value FROM json_each(?))"
        number: int = self._db.execute(wanted, (_as_json(keys),)).fetchone()[0]
        return number

    def clear(self, deleted: Callable[[int], object] = unseen) -> None:
        with self._transaction():
            self._db.execute(members.DELETE)
            for table in ("media", "relation", "entity"):
                deleted(self._db.execute(f"DELETE FROM {table}").rowcount)

    def close(self) -> None:
        """Everything is on the disk. If it is not, SQLite itself would not tell."""
        try:
            if self._checkpointer is not None:
                self._checkpointer.close()
                with stop_if_unwritable(f"the graph {self._path}"):
                    self._checkpointer.written(0, self._db)
                    self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        changes = self._db.total_changes
        with stop_if_unwritable(f"the graph {self._path}"):
            with transaction(self._db):
                yield
            if self._checkpointer is not None:
                self._checkpointer.written(self._db.total_changes - changes, self._db)


def _add_missing_columns(db: sqlite3.Connection) -> None:
    """A graph of an earlier version knew less about media."""
    known = {row[1] for row in db.execute("PRAGMA table_info(media)")}
    for name in [each for each in Media._fields if each not in known]:
        db.execute(f"ALTER TABLE media ADD COLUMN {name} TEXT")


def _as_json(records: Iterable[object]) -> str:
    return orjson.dumps(list(records), default=tuple).decode()


def listed(lists: Iterable[str | None]) -> list[str]:
    """The paths in an owner's lists of media, as they were attached."""
    return [path for each in lists if each for path in orjson.loads(each)]


def look(path: Path) -> Counts:
    """The counts of a graph somebody else may be writing; nothing is changed or held up."""
    with closing(reading(path)) as db:
        return Counts(*db.execute(COUNTS).fetchone())

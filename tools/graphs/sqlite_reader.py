"""The embedded graph as pages read it. Every question goes by an index that the graph has.

Limit: what a question holds open is one statement, so that the log of whoever writes can begin
again between two of them; only while all is counted it grows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import orjson

from ..add import KINDS, Counts, Entity, Media, Relation
from ..base.sqlite import is_damage, reading
from ..base.text import storable
from ..errors import StateDamaged, Unavailable, UsageError
from .reader import HEAVIEST, File, Key, Link, MediaNumbers, Name, Numbers, Side, TypeNumbers
from .sqlite import COUNTS, READ_ENTITY, READ_OWNERS, READ_RELATION, SqliteGraph, listed

ENDS = {True: "start_uri", False: "end_uri"}
FILE = ", ".join(f"m.{field}" for field in Media._fields)
HAS = ", ".join(f"total({kind} IS NOT NULL)" for kind in KINDS)
HAS_ANY = f"total(coalesce({', '.join(KINDS)}) IS NOT NULL)"

SIDES = "SELECT type, count(*) FROM relation WHERE {end} = ? GROUP BY type"
BY_WEIGHT = f"""{READ_RELATION} {{end}} = ?1 AND type = ?2
    AND (weight < ?3 OR weight = ?3 AND uri > ?4) ORDER BY weight DESC, uri LIMIT ?5"""
BY_URI = f"{READ_RELATION} {{end}} = ?1 AND type = ?2 AND uri > ?4 ORDER BY uri LIMIT ?5"
# Every relation's URI begins with its type, and the key of the table is the URI.
OF_TYPE = f"{READ_RELATION} uri > ? AND uri < ? ORDER BY uri LIMIT ?"
HEAVIEST_OF_TYPE = """SELECT uri FROM relation WHERE uri > ? AND uri < ? AND type = ?
    ORDER BY weight DESC, uri LIMIT ?"""
LINKS = """SELECT {here}, {there} AS there, uri, type, weight FROM relation
    WHERE {here} = ?1{wanted} LIMIT ?4"""
OF_TYPES = " AND type IN (SELECT value FROM json_each(?2))"
AMONG = "SELECT * FROM ({links}) WHERE there IN (SELECT value FROM json_each(?3))"
NAMES = """SELECT uri, name, language,
    (SELECT count(*) FROM relation WHERE start_uri = e.uri)
    + (SELECT count(*) FROM relation WHERE end_uri = e.uri)
    FROM entity AS e WHERE uri > ? ORDER BY uri LIMIT ?"""
FILES = f"SELECT m.owner, {FILE} FROM media AS m WHERE path > ? ORDER BY path LIMIT ?"
FILES_AT = f"""SELECT m.owner, {FILE} FROM json_each(?) AS place
    JOIN media AS m ON m.path = place.value"""

# Of weights that are infinite in both directions there is no mean.
TYPES = f"""SELECT type, count(*), min(weight), ifnull(avg(weight), 0), max(weight),
    {HAS}, {HAS_ANY} FROM relation GROUP BY type ORDER BY 2 DESC, 1"""
MEDIA = """SELECT kind, provider, license, count(*), sum(bytes) FROM media
    GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3"""
FILES_AN_OWNER = """SELECT files, count(*) FROM
    (SELECT count(*) AS files FROM media GROUP BY owner) GROUP BY files"""
DEGREES = """SELECT degree, count(*) FROM (SELECT sum(number) AS degree FROM (
    SELECT start_uri AS uri, count(*) AS number FROM relation GROUP BY start_uri
    UNION ALL SELECT end_uri, count(*) FROM relation GROUP BY end_uri) GROUP BY uri)
    GROUP BY degree"""


class SqliteReader:
    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise UsageError(f"there is no graph at {path}")
        self._path = path
        SqliteGraph(path, writable=False).close()  # says what is wrong with it
        self._db = reading(path, any_thread=True)

    def close(self) -> None:
        self._db.close()

    def counts(self) -> Counts:
        return Counts(*self._all(COUNTS)[0])

    def change_mark(self) -> str:
        """Of the file and of the log beside it."""
        return " ".join(_stat(self._path.with_name(self._path.name + end)) for end in ("", "-wal"))

    def entities_at(self, uris: Sequence[str]) -> dict[str, Entity]:
        wanted = f"{READ_ENTITY} uri IN (SELECT value FROM json_each(?))"
        return {row[0]: Entity(*row) for row in self._all(wanted, _json(uris))}

    def relations_at(self, uris: Sequence[str]) -> dict[str, Relation]:
        wanted = f"{READ_RELATION} uri IN (SELECT value FROM json_each(?))"
        return {row[0]: Relation(*row) for row in self._all(wanted, _json(uris))}

    def media_of(self, owners: Sequence[str]) -> dict[str, list[Media]]:
        asked = _json(list(dict.fromkeys(owners)))
        rows = [row for query in READ_OWNERS for row in self._all(query, asked)]
        paths = {owner: _paths(lists) for owner, *lists in rows}
        files = self.files_at([path for each in paths.values() for path in each])
        return {  # what was replaced between two questions is left out
            owner: [files[path].media for path in each if path in files]
            for owner, each in paths.items()
        }

    def files_at(self, paths: Sequence[str]) -> dict[str, File]:
        rows = self._all(FILES_AT, _json(paths))
        return {row[1]: File(row[0], Media(*row[1:])) for row in rows}

    def senses(self, name: str, limit: int) -> list[Entity]:
        rows = self._all(f"{READ_ENTITY} name = ? ORDER BY uri LIMIT ?", name, limit)
        return [Entity(*row) for row in rows]

    def degree_by_side(self, concept: str) -> list[Side]:
        return [
            Side(type_, is_outward, number, ())
            for is_outward, end in ENDS.items()
            for type_, number in self._all(SIDES.format(end=end), concept)
        ]

    def sides(self, concept: str, each: int, is_by_weight: bool) -> list[Side]:
        first = (float("inf"), "")
        return [
            side._replace(
                relations=self.side(concept, side.type, side.is_outward, each, is_by_weight, first)
            )
            for side in self.degree_by_side(concept)
        ]

    def side(
        self, concept: str, type_: str, is_outward: bool, limit: int, is_by_weight: bool, after: Key
    ) -> list[Relation]:
        query = (BY_WEIGHT if is_by_weight else BY_URI).format(end=ENDS[is_outward])
        weight, uri = after
        return [Relation(*row) for row in self._all(query, concept, type_, weight, uri, limit)]

    def of_type(self, type_: str, limit: int, after: str) -> list[Relation]:
        begin, end = _uris_of(type_)
        rows = self._all(OF_TYPE, max(begin, after), end, limit)
        return [Relation(*row) for row in rows if row[1] == type_]

    def links(
        self,
        concepts: Sequence[str],
        each: int,
        types: Sequence[str] = (),
        among: Sequence[str] = (),
    ) -> list[Link]:
        filters = _json(types), _json(among)
        queries = {out: _links(out, bool(types), bool(among)) for out in ENDS}
        return [
            Link(row[0], row[1], row[2], row[3], row[4], is_outward)
            for concept in concepts
            for is_outward, query in queries.items()
            for row in self._all(query, concept, *filters, each)
        ]

    def entity_page(self, after: str, limit: int) -> list[Name]:
        return [Name(*row) for row in self._all(NAMES, after, limit)]

    def file_page(self, after: str, limit: int) -> list[File]:
        return [File(row[0], Media(*row[1:])) for row in self._all(FILES, after, limit)]

    def numbers(self) -> Numbers:
        with self._explained(), closing(reading(self._path)) as db:  # others go on asking meanwhile
            db.execute("PRAGMA temp_store = MEMORY")
            db.execute("BEGIN")  # all of one moment: else fewer concepts than are connected
            return _numbers(db)

    def _all(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        clean = [storable(each) if isinstance(each, str) else each for each in values]
        with self._explained():
            return self._db.execute(query, clean).fetchall()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What SQLite raises, as what to do next."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                raise StateDamaged(
                    f"the graph {self._path} is damaged ({error}): bring back a copy of it, or set"
                    " it aside and harvest it anew by --fresh"
                ) from error
            if isinstance(error, sqlite3.OperationalError):
                raise Unavailable(f"the graph {self._path} cannot be read now: {error}") from error
            raise


def _links(is_outward: bool, has_types: bool, has_ends: bool) -> str:
    here, there = ENDS[is_outward], ENDS[not is_outward]
    found = LINKS.format(here=here, there=there, wanted=OF_TYPES if has_types else "")
    return AMONG.format(links=found) if has_ends else found


def _numbers(db: sqlite3.Connection) -> Numbers:
    counts = Counts(*db.execute(COUNTS).fetchone())
    *by_kind, with_any = db.execute(f"SELECT {HAS}, {HAS_ANY} FROM entity").fetchone()
    degrees = dict(db.execute(DEGREES))
    if lonely := counts.entities - sum(degrees.values()):
        degrees = {0: lonely} | degrees
    return Numbers(
        counts,
        {
            kind: int(number)
            for kind, number in zip((*KINDS, "any"), (*by_kind, with_any), strict=True)
        },
        dict(db.execute("SELECT language, count(*) FROM entity GROUP BY 1 ORDER BY 2 DESC, 1")),
        [
            TypeNumbers._make((*row[:5], *map(int, row[5:]), _heaviest(db, row[0])))
            for row in db.execute(TYPES).fetchall()
        ],
        [MediaNumbers(*row) for row in db.execute(MEDIA)],
        dict(db.execute(FILES_AN_OWNER)),
        degrees,
    )


def _uris_of(type_: str) -> tuple[str, str]:
    """Between these they lie."""
    return f"/a/[/r/{type_}/,", f"/a/[/r/{type_}/-"  # "-" is what comes after ","


def _heaviest(db: sqlite3.Connection, type_: str) -> list[str]:
    rows = db.execute(HEAVIEST_OF_TYPE, (*_uris_of(type_), type_, HEAVIEST))
    return [uri for (uri,) in rows]


def _paths(lists: Sequence[str | None]) -> list[str]:
    """Of lists that a stranger wrote into the file, what is one."""
    try:
        return [each for each in listed(lists) if isinstance(each, str)]
    except (ValueError, TypeError):
        return []


def _stat(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return "-"
    if not found.st_size:  # a log that whoever reads has made
        return "-"
    return f"{found.st_ino}.{found.st_size}.{found.st_mtime_ns}"


def _json(values: Sequence[str]) -> str:
    return orjson.dumps([storable(each) for each in values]).decode()

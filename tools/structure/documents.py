"""documents.db: the JSON of every document, which source has which bytes, how exports ended.

Promise: the file appears whole or not at all, and one that is damaged or of another kind is
refused; a batch is one transaction. Limit: one writer, the committer; anybody reads meanwhile.

The owner of bytes that several sources have is the one that was seen first of all who have them
now: the rows of the document are stored in its name.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock, local

import zstandard

from ..base.checkpoint import Checkpointer
from ..base.files import whole_file
from ..base.sqlite import reading, stop_if_unwritable, transaction, writing
from ..engine.statefile import as_json
from ..errors import StateDamaged
from .export_line import ExportLine
from .parse import ParsedDocument, UnparsedDocument
from .raw import raw_of
from .sighted import Known, Sighted

FILE = "documents.db"
FORMAT = 1
CACHE_KB = 4096
CHECKPOINT_EVERY = 10_000  # rows written
SMALL = 2000  # bytes of JSON; unpacking less costs as much as walking through it
UNSURE = 2**60  # as a stretch: nobody knows whether the pools know what was seen there
CHECKED_WHOLE = 100_000_000  # bytes; a larger file is not read to its end at every start

SCHEMA = f"""
CREATE TABLE document (
    hash TEXT PRIMARY KEY,              -- of the raw bytes
    name TEXT NOT NULL,                 -- of the job
    source TEXT NOT NULL,               -- from which they were read
    parser TEXT NOT NULL,
    parser_hash TEXT NOT NULL,
    at REAL NOT NULL,                   -- wall clock
    seconds REAL NOT NULL,
    bytes INTEGER NOT NULL,             -- of the raw document
    json BLOB NOT NULL                  -- packed with zstd, unless it is small
) STRICT;
CREATE INDEX parsed_by ON document (parser, parser_hash);
CREATE TABLE failure (
    hash TEXT PRIMARY KEY, source TEXT NOT NULL, parser TEXT NOT NULL, parser_hash TEXT NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID, STRICT;
CREATE TABLE source (
    id INTEGER PRIMARY KEY,             -- order of sighting
    name TEXT NOT NULL UNIQUE,
    hash TEXT NOT NULL,                 -- of the bytes it has now
    before TEXT,                        -- of those it had until then
    version TEXT NOT NULL,
    stretch INTEGER NOT NULL,           -- known to the pools if they have counted as many
    at REAL NOT NULL,
    part_of TEXT NOT NULL,              -- the source of the job in which it was seen
    note TEXT NOT NULL                  -- where its bytes are
) STRICT;
CREATE INDEX had_by ON source (hash, id);
CREATE TABLE exports (
    id INTEGER PRIMARY KEY, document TEXT NOT NULL, at REAL NOT NULL, status TEXT NOT NULL,
    rows INTEGER NOT NULL, problems INTEGER NOT NULL, reason TEXT
) STRICT;
CREATE TABLE parser (
    name TEXT PRIMARY KEY, documents INTEGER NOT NULL, seconds REAL NOT NULL,
    slowest REAL NOT NULL, slowest_source TEXT NOT NULL, memory INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
PRAGMA user_version = {FORMAT};
"""
IN = "IN (SELECT value FROM json_each(?))"
ADD = "INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
FORGET_FAILURE = f"DELETE FROM failure WHERE hash {IN}"
ADD_FAILURE = "INSERT OR REPLACE INTO failure VALUES (?, ?, ?, ?, ?)"
ADD_EXPORT = (
    "INSERT INTO exports (document, at, status, rows, problems, reason) VALUES (?, ?, ?, ?, ?, ?)"
)
ADD_TO_PARSER = """INSERT INTO parser VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET
documents = documents + excluded.documents, seconds = seconds + excluded.seconds,
slowest_source = iif(excluded.slowest > slowest, excluded.slowest_source, slowest_source),
slowest = max(slowest, excluded.slowest), memory = max(memory, excluded.memory)"""
SIGHT = """INSERT INTO source (name, hash, before, version, stretch, at, part_of, note)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET hash = excluded.hash,
before = excluded.before, version = excluded.version, stretch = excluded.stretch, at = excluded.at,
part_of = excluded.part_of, note = excluded.note"""
DOUBT = f"UPDATE source SET stretch = {UNSURE} WHERE part_of = ? AND stretch >= ?"
KNOWN = f"SELECT name, hash, before, version, stretch FROM source WHERE name {IN}"
HAVING = f"SELECT hash, name FROM source WHERE hash {IN} ORDER BY hash, id"
PARSED = f"SELECT hash, parser_hash FROM document WHERE hash {IN}"
PLACES = "SELECT note FROM source WHERE hash = ? ORDER BY id LIMIT 3"
JSON_OF = (  # in the order of the list
    "SELECT hash, document.json, source FROM json_each(?) JOIN document ON hash = value"
)


def create_documents(path: Path) -> None:
    with whole_file(path, durable=False) as part, closing(writing(part, CACHE_KB)) as db:
        db.executescript(f"BEGIN; {SCHEMA} COMMIT;")


class Documents:
    def __init__(self, path: Path, name: str) -> None:
        """It must be there."""
        self.path, self._name = path, name
        self._db = _opened(path)
        self._checkpointer = Checkpointer(path, CHECKPOINT_EVERY)
        self._turn = Lock()
        self._stretches: dict[str, int] = {}  # the last that was written, by source of the job
        self._packer = zstandard.ZstdCompressor()
        self._of_thread = local()
        self._readers: list[sqlite3.Connection] = []

    def close(self) -> None:
        with self._turn:
            for reader in self._readers:
                reader.close()
            self._checkpointer.close()
            self._db.close()

    # --- for the committer -----------------------------------------------------------------

    def add(
        self, parsed: Sequence[ParsedDocument], failures: Sequence[UnparsedDocument] = ()
    ) -> None:
        with self._writing():
            self._db.executemany(ADD, map(self._row, parsed))
            self._db.execute(FORGET_FAILURE, (as_json([each.hash for each in parsed]),))
            self._db.executemany(ADD_TO_PARSER, _figures(parsed))
            self._db.executemany(ADD_FAILURE, failures)

    def _row(self, parsed: ParsedDocument) -> tuple[object, ...]:
        hash_, source, parser, parser_hash, at, seconds, length, json, _ = parsed
        packed = self._packer.compress(json) if len(json) > SMALL else json
        return hash_, self._name, source, parser, parser_hash, at, seconds, length, packed

    def sight(self, sighted: Sighted, now: float) -> None:
        """Write down who has which bytes now."""
        rows = [
            (*row, now, raw_of(note).of, note)
            for row, note in zip(sighted.rows, sighted.notes, strict=True)
        ]
        if not rows:
            return
        stretch, part_of = rows[0][4], rows[0][6]
        with self._writing():
            if stretch <= self._stretches.get(part_of, 0):  # it could not be brought home before
                self._db.execute(DOUBT, (part_of, stretch))
            self._db.executemany(SIGHT, rows)
        self._stretches[part_of] = stretch

    def doubt_after(self, part_of: str, stretches: int) -> None:
        """At the start: what was seen in later stretches did not reach the pools. What the next one
        sees may be something else."""
        with self._writing():
            self._db.execute(DOUBT, (part_of, stretches + 1))
        self._stretches[part_of] = stretches

    def log_exports(self, lines: Sequence[ExportLine]) -> None:
        with self._writing():
            self._db.executemany(ADD_EXPORT, lines)

    # --- for everybody ---------------------------------------------------------------------

    def known(self, names: Iterable[str], stretches: int) -> dict[str, Known]:
        """What the pools know of these sources, whose stretches they have counted. What a later
        stretch wrote is not believed: but that it had other bytes before is true."""
        found: dict[str, Known] = {}
        rows = self._reader.execute(KNOWN, (as_json([*names]),))
        for name, hash_, before, version, stretch in rows:
            if stretch <= stretches:
                found[name] = Known(hash_, before, version)
            elif before is not None:
                found[name] = Known(before, None, "")
        return found

    def has(self, hashes: Iterable[str]) -> dict[str, str]:
        """Those that were parsed, each with the hash of its parser."""
        return dict(self._reader.execute(PARSED, (as_json([*hashes]),)))

    def holders(self, hashes: Iterable[str]) -> dict[str, list[str]]:
        """The sources that have these bytes now, the owner first."""
        found: dict[str, list[str]] = {}
        for hash_, name in self._reader.execute(HAVING, (as_json([*hashes]),)):
            found.setdefault(hash_, []).append(name)
        return found

    def notes_of(self, hash_: str) -> list[str]:
        """Where such bytes were seen last, should they be gone from where they were first."""
        return [note for (note,) in self._reader.execute(PLACES, (hash_,))]

    def json_of(self, hash_: str) -> tuple[bytes, str] | None:
        """And the source whose bytes were parsed."""
        for _, packed, source in self.packed([hash_]):
            return self.unpacked(packed), source
        return None

    def packed(self, hashes: Iterable[str]) -> Iterator[tuple[str, bytes, str]]:
        """Hash, JSON to be unpacked and source of those that were parsed."""
        try:
            yield from self._reader.execute(JSON_OF, (as_json([*hashes]),))
        except sqlite3.DatabaseError as error:
            raise _damaged(self.path, error) from error

    def unpacked(self, packed: bytes) -> bytes:
        if not packed.startswith(zstandard.FRAME_HEADER):
            return packed
        unpacker: zstandard.ZstdDecompressor | None = getattr(self._of_thread, "unpacker", None)
        if unpacker is None:
            unpacker = self._of_thread.unpacker = zstandard.ZstdDecompressor()
        return unpacker.decompress(packed)

    def select(self, question: str, *values: object) -> Iterator[tuple[object, ...]]:
        """Rows of a query of ours, as they are read."""
        with closing(reading(self.path)) as db:
            yield from db.execute(question, values)

    # --- inside ----------------------------------------------------------------------------

    @property
    def _reader(self) -> sqlite3.Connection:
        """A connection for each thread: they need not take turns."""
        db: sqlite3.Connection | None = getattr(self._of_thread, "db", None)
        if db is None:
            db = self._of_thread.db = reading(self.path, any_thread=True)
            self._readers.append(db)
        return db

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._turn, stop_if_unwritable(str(self.path)):
            before = self._db.total_changes
            with transaction(self._db):
                yield
            self._checkpointer.written(self._db.total_changes - before, self._db)


def _opened(path: Path) -> sqlite3.Connection:
    """StateDamaged if it is not what it should be."""
    try:
        with closing(reading(path)) as db:
            ((format_,),) = db.execute("PRAGMA user_version").fetchall()
            if format_ != FORMAT:
                raise StateDamaged(
                    f"{path} is damaged or no store of documents (format {format_}, this Sheaf "
                    f"knows {FORMAT}): bring it back from a copy, or begin anew with --fresh"
                )
            if path.stat().st_size <= CHECKED_WHOLE:
                ((verdict,),) = db.execute("PRAGMA quick_check(1)").fetchall()
                if verdict != "ok":
                    raise sqlite3.DatabaseError(" ".join(verdict.split()))
        return writing(path, CACHE_KB)
    except sqlite3.DatabaseError as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> StateDamaged:
    return StateDamaged(
        f"{path} cannot be read ({error}): bring back a copy, or begin anew with --fresh"
    )


def _figures(parsed: Iterable[ParsedDocument]) -> list[tuple[object, ...]]:
    """By parser: how many, how long in all, how long at most and where, how much memory."""
    by_parser: dict[str, list[ParsedDocument]] = {}
    for each in parsed:
        by_parser.setdefault(each.parser, []).append(each)
    found: list[tuple[object, ...]] = []
    for name, those in by_parser.items():
        slowest = max(those, key=lambda each: each.seconds)
        seconds, memory = sum(each.seconds for each in those), max(each.memory for each in those)
        found.append((name, len(those), seconds, slowest.seconds, slowest.source, memory))
    return found

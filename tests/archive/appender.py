"""A small harvest for the tests that kill it: appends answers, commits their places to a table."""

from __future__ import annotations

import itertools
import sqlite3
import sys
from pathlib import Path
from random import Random

from tests.archive.scene import answer, archive_in
from tools.archive.record import pack
from tools.archive.recovery import Recovery
from tools.archive.store import Archive

DOMAINS = [f"host{number}.example" for number in range(6)]


def table_in(folder: Path) -> sqlite3.Connection:
    table = sqlite3.connect(folder / "table.db", timeout=20)
    table.execute("PRAGMA journal_mode = wal")
    columns = "number INTEGER, file TEXT, offset INTEGER, length INTEGER, kind TEXT"
    table.execute(f"CREATE TABLE IF NOT EXISTS captures ({columns})")
    return table


def opened(folder: Path, table: sqlite3.Connection) -> tuple[Archive, Recovery]:
    ((known,),) = table.execute("SELECT count(*) FROM captures")
    archive = archive_in(folder / "archive", known=known, max_file_bytes=20_000, most_open=3)
    ends = "SELECT file, max(offset + length) FROM captures GROUP BY file"
    return archive, archive.cut_back(dict(table.execute(ends)))


def run(folder: Path, seed: int) -> None:
    chance = Random(seed)
    table = table_in(folder)
    archive, _ = opened(folder, table)
    print("begins", flush=True)
    for _ in itertools.count():
        with table:
            ((last,),) = table.execute("SELECT coalesce(max(number), 0) FROM captures").fetchall()
            for number in range(last + 1, last + 1 + chance.randint(1, 4)):
                packed = pack(answer(payload=b"%d " % number + chance.randbytes(2000)))
                places = archive.append(chance.choice(DOMAINS), packed)
                rows = [
                    (number, *place, part.kind)
                    for place, part in zip(places, packed.parts, strict=True)
                ]
                table.executemany("INSERT INTO captures VALUES (?, ?, ?, ?, ?)", rows)
            archive.sync(durable=False)


if __name__ == "__main__":
    run(Path(sys.argv[1]), int(sys.argv[2]))

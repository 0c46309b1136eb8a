"""Documents into tables: what they cost the processor, beside dlt and sqlite-utils.

Ours are the commands as their user types them, with queues, documents and every move on disk; the
peers (`structure_dlt.py`, `structure_sqlite_utils.py`) keep none of these. All are processes of
their own, run in turn on the same documents, timed from start to end with their children; what a
server spends is added. An absolute bar is for a machine on which dlt takes as long as it took when
the bar was set: what is seen is scaled by what dlt takes in the same run.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.report import RUNS, Bar, Row, Say, shown
from bench.spent import Spent, timed
from bench.structure_documents import EXPORT, TABLES, documents, rows_of, write_csv, write_lines
from bench.structure_peers import DLT, SQLITE_UTILS, command, install, processor_of
from bench.structure_status import measure_status
from tests.support import mariadb_server, postgres_server
from tools.tables.address import PASSWORD_VARIABLE

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = 100_000
JOB = """about = "farms"
source = "csv:farms.csv?body=raw&key=id"
export = "farms.json"
[[parsers]]
parser = "json"
"""
SETTINGS = "[structure]\nmost_waiting = 1000000\n"
OPEN = ("/usr/bin/env", "PATH=/nowhere")
"""Without bubblewrap: nobody is told what a process has spent that ends with its own world."""
DLT_FIRST_S, DLT_AGAIN_S = 24.1, 26.0  # when the bars were set, into SQLite
DLT_POSTGRES_S = 28.4, 33.2
BARS = {"SQLite": 12.5, "PostgreSQL": 16.0, "MariaDB": 22.0}
PARSE_MS = 0.6


class Place(NamedTuple):
    """A database: how ours and dlt name it, who spends its time, and how rows are counted."""

    url: str
    dlt: str
    spent: Callable[[], float]
    count: Callable[[str], int]


class Seen(NamedTuple):
    """Of one run: each with what its server spent."""

    parse: Spent
    ours: dict[str, tuple[Spent, Spent]]
    dlt: dict[str, tuple[Spent, Spent]]
    sqlite_utils: tuple[Spent, Spent]


def measure(scale: float, say: Say) -> Iterator[Row]:
    install(say)
    os.environ[PASSWORD_VARIABLE] = mariadb_server.PASSWORD
    count = round(DOCUMENTS * scale)
    with TemporaryDirectory(prefix="bench-") as name:
        made = Made(Path(name), count)
        runs = [one_run(made, number, say) for number in range(1, RUNS + 1)]
    yield from rows_into(runs, count)
    yield _parse_row([each.parse for each in runs], count)
    yield from measure_status(round(10 * count), round(2 * count), say)


class Made:
    """The documents, as ours and the peers want them, and the rows that must come of them."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self.count = folder, count
        self.lines = folder / "farms.jsonl"
        write_lines(count, self.lines)
        structures = folder / "structures"
        structures.mkdir()
        write_csv(documents(count), structures / "farms.csv")
        (structures / "farms.toml").write_text(JOB)
        (structures / "farms.json").write_text(json.dumps(EXPORT))
        self.rows = dict.fromkeys(TABLES, 0)
        for document in documents(count):
            for key, farm in document.items():
                for table, _ in rows_of(key, farm):
                    self.rows[table] += 1


def one_run(made: Made, number: int, say: Say) -> Seen:
    with TemporaryDirectory(prefix="bench-") as name, ExitStack() as stack:
        folder = Path(name)
        (folder / "sheaf.toml").write_text(SETTINGS)
        say(f"structure, run {number}: dispatch and parse")
        _ours(made, folder, "dispatch")
        parse = _ours(made, folder, "parse")
        shutil.copytree(folder / "state-structure", folder / "parsed")
        ours, theirs = {}, {}
        for kind, opened in {"SQLite": sqlite, "PostgreSQL": postgres, "MariaDB": mariadb}.items():
            place = stack.enter_context(opened(folder))
            shutil.rmtree(folder / "state-structure")
            shutil.copytree(folder / "parsed", folder / "state-structure")
            if place.dlt:
                say(f"structure, run {number}: dlt into {kind}")
                theirs[kind] = _dlt(made, place, "append"), _dlt(made, place, "merge")
            say(f"structure, run {number}: ours into {kind}")
            ours[kind] = _export(made, folder, place), _export(made, folder, place, "--again")
        say(f"structure, run {number}: sqlite-utils")
        other = _sqlite_utils(made, folder, "insert"), _sqlite_utils(made, folder, "upsert")
        return Seen(parse, ours, theirs, other)


def _ours(made: Made, folder: Path, *words: str) -> Spent:
    structures = ("--folder", str(made.folder / "structures"), "--quiet")
    typed = [*OPEN, sys.executable, str(ROOT / "main.py"), "structure", words[0], "farms"]
    return timed([*typed, *words[1:], *structures], folder, lambda: made.count)


def _export(made: Made, folder: Path, place: Place, *words: str) -> Spent:
    spent = _with_server(place, lambda: _ours(made, folder, "export", "--to", place.url, *words))
    found = {table: place.count(table) for table in TABLES}
    if found != made.rows:
        raise RuntimeError(f"{place.url} has {found}, not {made.rows}")
    return spent


def _dlt(made: Made, place: Place, way: str) -> Spent:
    """Each into a dataset that is empty."""
    with TemporaryDirectory(prefix="bench-") as name:
        where = place.dlt.replace("WAY", way).replace("FOLDER", name)
        run = command(DLT, made.lines, way, where)
        return _with_server(place, lambda: timed(run, Path(name), lambda: made.count))


def _sqlite_utils(made: Made, folder: Path, way: str) -> Spent:
    return timed(command(SQLITE_UTILS, made.lines, way, "u.db"), folder, lambda: made.count)


def _with_server(place: Place, run: Callable[[], Spent]) -> Spent:
    before = place.spent()
    spent = run()
    return spent._replace(cpu=spent.cpu + place.spent() - before)


# --- databases -----------------------------------------------------------------------------


@contextmanager
def sqlite(folder: Path) -> Iterator[Place]:
    path = folder / "rows.db"

    def count(table: str) -> int:
        with closing(sqlite3.connect(path)) as db:
            return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

    yield Place(f"sqlite:{path}", "sqlite:///FOLDER/d.db", lambda: 0.0, count)


@contextmanager
def postgres(folder: Path) -> Iterator[Place]:
    with postgres_server.postgres_server() as server:
        for name in ("ours", "append", "merge"):
            server.query("postgres", f"CREATE DATABASE {name}")
        main = int((server.home / "data" / "postmaster.pid").read_text().split()[0])

        def count(table: str) -> int:
            return int(server.query("ours", f"SELECT count(*) FROM {table}")[0][0])

        user = f"{postgres_server.USER}:{postgres_server.PASSWORD.replace(' ', '%20')}"
        peer = f"postgresql://{user}@localhost/WAY?host={server.home}"
        yield Place(server.address("ours"), peer, lambda: processor_of(main), count)


@contextmanager
def mariadb(folder: Path) -> Iterator[Place]:
    with mariadb_server.mariadb_server() as server:
        server.query("CREATE DATABASE ours")
        main = int((server.home / "pid").read_text())

        def count(table: str) -> int:
            return int(server.query(f"SELECT count(*) FROM ours.{table}")[0][0])

        yield Place(server.address("ours"), "", lambda: processor_of(main), count)


# --- rows ----------------------------------------------------------------------------------


def rows_into(runs: Sequence[Seen], count: int) -> Iterator[Row]:
    for kind, bar in BARS.items():
        for at, what in enumerate(("first", "the same again")):
            ours = [each.ours[kind][at] for each in runs]
            peer, then = _dlt_beside(runs, kind, at)
            scaled = [mine.cpu * then / other.cpu for mine, other in zip(ours, peer, strict=True)]
            yield Row(
                f"{count:,} documents into {kind}, {what}: CPU where dlt takes {then} s",
                scaled,
                " s",
                1,
                Bar("<", bar, " s"),
                told(ours),
                f"dlt{' into SQLite' if kind == 'MariaDB' else ''}: {told(peer)}",
            )
    for at, what in enumerate(("first", "the same again")):
        mine, other = ([each[at] for each in side] for side in _beside_sqlite_utils(runs))
        ratios = [a.cpu / b.cpu for a, b in zip(mine, other, strict=True)]
        name = f"{count:,} documents into SQLite, {what}: CPU beside sqlite-utils"
        yield Row(name, ratios, "", 2, None, told(mine), told(other))
    most = [max(spent.mb for spent in each.ours["SQLite"]) for each in runs]
    yield Row("memory of an export into SQLite", most, " MB", 0, Bar("<", 150, " MB"))


def _dlt_beside(runs: Sequence[Seen], kind: str, at: int) -> tuple[list[Spent], float]:
    """What it took in each run, and then."""
    if kind == "PostgreSQL":
        return [each.dlt[kind][at] for each in runs], DLT_POSTGRES_S[at]
    return [each.dlt["SQLite"][at] for each in runs], (DLT_FIRST_S, DLT_AGAIN_S)[at]


def _beside_sqlite_utils(
    runs: Sequence[Seen],
) -> tuple[list[tuple[Spent, Spent]], list[tuple[Spent, Spent]]]:
    return [each.ours["SQLite"] for each in runs], [each.sqlite_utils for each in runs]


def _parse_row(spent: Sequence[Spent], count: int) -> Row:
    each = [1000 * one.cpu / count for one in spent]
    what = f"{count:,} documents parsed as JSON: CPU a document, over all processes"
    return Row(what, each, " ms", 2, Bar("<", PARSE_MS, " ms"), told(spent))


def told(spent: Sequence[Spent]) -> str:
    cpu, mb = shown([each.cpu for each in spent], 1, " s"), median(each.mb for each in spent)
    return f"{cpu}, {median(each.wall for each in spent):.0f} s in all, {mb:.0f} MB"

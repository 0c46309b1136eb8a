"""Declared tables: what a row costs the processor, beside SQLAlchemy that is handed tuples.

The peer stores the same values in the same table with the same statement, and checks nothing; its
tuples come from the same rows. Servers' own work is not counted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from sqlalchemy import Engine

from bench.report import RUNS, Bar, Say
from bench.report import Row as Line
from tests.support import mariadb_server, postgres_server
from tools.tables.address import PASSWORD_VARIABLE
from tools.tables.declared import tables_of
from tools.tables.rows import Brought, Row
from tools.tables.target import Target, open_target

IN_A_TRANSACTION = 2000  # pages, as a stage brings them home at most
PRODUCT = {
    "key": ["sku"],
    "columns": {"sku": "VARCHAR(20)", "name": "TEXT", "category": "TEXT", "price": "DECIMAL(10,2)",
                "stock": "INTEGER"},
}  # fmt: skip
TABLES = tables_of({"product": PRODUCT})
SEEN, MOMENT = 1_700_000_000.0, "2023-11-14 22:13:20"


class Figures(NamedTuple):
    ours: float
    peer: float


def measure(scale: float, say: Say) -> Iterator[Line]:
    count = round(100_000 * scale)
    pages = made_up_pages(count)
    for kind, opened in {"SQLite": sqlite, "PostgreSQL": postgres, "MariaDB": mariadb}.items():
        runs: dict[str, list[Figures]] = {"written": [], "the same again": []}
        for number in range(1, RUNS + 1):
            say(f"tables {count:,} rows into {kind}, run {number}")
            for what, figures in zip(runs, one_run(opened, pages), strict=True):
                runs[what].append(figures)
        for what, figures_of in runs.items():
            yield line(f"{count:,} rows into {kind}: {what}", figures_of)


def line(what: str, runs: Sequence[Figures]) -> Line:
    ours, peer = ([f"{each:.2f}" for each in side] for side in zip(*runs, strict=True))
    return Line(
        f"{what}, CPU beside SQLAlchemy with tuples",
        [run.ours / run.peer for run in runs],
        bar=Bar("<", 1.3),
        ours=f"{', '.join(ours)} s",
        peer=f"{', '.join(peer)} s",
    )


def one_run(opened: Callable[[], Any], pages: Sequence[Brought]) -> list[Figures]:
    """First, and again; the two take turns, so that both meet the same neighbours."""
    with opened() as (ours, other):
        for target in (ours, other):
            target.prepare(TABLES)
        figures = [
            Figures(spent(store, ours, pages), spent(hand_over, other, pages)) for _ in range(2)
        ]
        if ours.counts() != other.counts() or ours.counts()["product"].rows != len(pages):
            raise RuntimeError("the two do not hold the same rows")
        return figures


def spent(way: Callable[[Target, Sequence[Brought]], None], target: Target, pages: Any) -> float:
    begun = time.process_time()
    for at in range(0, len(pages), IN_A_TRANSACTION):
        way(target, pages[at : at + IN_A_TRANSACTION])
    return time.process_time() - begun


def store(target: Target, pages: Sequence[Brought]) -> None:
    target.write(pages)


def hand_over(target: Target, pages: Sequence[Brought]) -> None:
    """What anybody would write for this one table."""
    database, table = target._database, TABLES["product"]
    statement = f"{database.into(table)} VALUES ({database.marks(table)}){database.upsert(table)}"
    rows = [
        (*row.values.values(), page.source, number, MOMENT, page.activity)
        for page in pages
        for number, row in enumerate(page.rows)
    ]
    engine: Engine | None = database._writer
    if engine is None:
        raise RuntimeError("opened to be read only")
    with engine.begin() as db:
        db.exec_driver_sql(statement, rows)


def made_up_pages(count: int) -> list[Brought]:
    return [
        Brought(
            f"detail GET http://shop.example/products/{number}",
            [
                Row(
                    "product",
                    sku=f"TEA-{number:06}",
                    name=f"A tea of the kind {number % 977}, 绿茶",
                    category=f"category {number % 7}",
                    price=f"{number % 5000 / 100:.2f}",
                    stock=number % 400,
                )
            ],
            ["product"],
            1,
            SEEN,
        )
        for number in range(count)
    ]


@contextmanager
def sqlite() -> Iterator[tuple[Target, Target]]:
    """The peer's file carries its log over as SQLite does by itself; ours has a thread for it."""
    addresses = [f"sqlite:{each}.db" for each in "ab"]
    with (
        TemporaryDirectory(prefix="bench-") as folder,
        both(addresses, Path(folder)) as (ours, other),
    ):
        with other._database.transaction() as db:
            db.exec_driver_sql("PRAGMA wal_autocheckpoint = 1000")
        yield ours, other


@contextmanager
def postgres() -> Iterator[tuple[Target, Target]]:
    with postgres_server.postgres_server() as server:
        for name in "ab":
            server.query("postgres", f"CREATE DATABASE {name}")
        with both([server.address(name) for name in "ab"]) as targets:
            yield targets


@contextmanager
def mariadb() -> Iterator[tuple[Target, Target]]:
    os.environ[PASSWORD_VARIABLE] = mariadb_server.PASSWORD
    with mariadb_server.mariadb_server() as server:
        for name in "ab":
            server.query(f"CREATE DATABASE {name}")
        with both([server.address(name) for name in "ab"]) as targets:
            yield targets


@contextmanager
def both(addresses: Sequence[str], folder: Path = Path()) -> Iterator[tuple[Target, Target]]:
    ours, other = (open_target(address, folder) for address in addresses)
    with closing(ours), closing(other):
        yield ours, other

"""Sources, pools and a store of documents, as the job puts them together."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tools.engine.pools import Pools
from tools.engine.stage import Done, Found, Stage
from tools.structure.dispatch import Dispatch
from tools.structure.sighted import Known, Sighted
from tools.structure.sources.source import Source

DISPATCH = Stage("dispatch", 1)
PARSE = Stage("parse", 2, order="priority")
EXPORT = Stage("export", 2, order="priority")
NAME = "shop"


class Rule(NamedTuple):
    parser: str = "html"
    priority: int | None = None


class Rules:
    """The same for everything, but what ends in one of these."""

    def __init__(self, rule: Rule | None = None, without: tuple[str, ...] = ()) -> None:
        self.rule = rule or Rule()
        self.without = without

    def rule_for(self, source: str, type: str | None) -> Rule | None:
        return None if self.without and source.endswith(self.without) else self.rule


class Documents:
    """The table of sources of documents.db, and which hashes were parsed."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.executescript(
            "CREATE TABLE IF NOT EXISTS source (name TEXT PRIMARY KEY, hash TEXT, before TEXT,"
            " version TEXT, stretch INTEGER, note TEXT);"
            "CREATE INDEX IF NOT EXISTS source_hash ON source (hash);"
        )
        self.parsed: dict[str, str] = {}
        self.asked = 0

    def known(self, names: Sequence[str], stretches: int) -> Mapping[str, Known]:
        self.asked += 1
        marks = ",".join("?" * len(names))
        rows = self.db.execute(
            f"SELECT name, hash, before, version, stretch FROM source WHERE name IN ({marks})",
            names,
        ).fetchall()
        counted = {n: Known(h, b, v) for n, h, b, v, stretch in rows if stretch <= stretches}
        broken = {
            n: Known(b, None, "") for n, _, b, _, stretch in rows if stretch > stretches and b
        }
        return counted | broken

    def has(self, hashes: Sequence[str]) -> Mapping[str, str]:
        return {each: self.parsed[each] for each in hashes if each in self.parsed}

    def holders(self, hashes: Sequence[str]) -> Mapping[str, Sequence[str]]:
        question = "SELECT name FROM source WHERE hash = ? ORDER BY rowid LIMIT 2"
        return {h: [name for (name,) in self.db.execute(question, (h,))] for h in hashes}

    def write(self, sighted: Sighted) -> None:
        rows = [(*row, note) for row, note in zip(sighted.rows, sighted.notes, strict=True)]
        self.db.execute("BEGIN")
        self.db.executemany(
            "INSERT INTO source VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET"
            " hash = excluded.hash, before = excluded.before, version = excluded.version,"
            " stretch = excluded.stretch, note = excluded.note",
            rows,
        )
        self.db.execute("COMMIT")


class Scene:
    """One job; `again` is a new process on the same files."""

    def __init__(self, folder: Path, *sources: Source, **more: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.sources = {each.uri: each for each in sources}
        self.documents = Documents(folder / "documents.db")
        self.pools = Pools(folder / "pools.db", [DISPATCH, PARSE, EXPORT])
        self.more = more
        self.dispatch = Dispatch(
            NAME,
            self.sources,
            self.documents,
            more.pop("rules", Rules()),
            waiting=lambda: self.pools.ranks("to_parse"),
            tallied=self.pools.tallied,
            remembered=self.pools.remembered,
            **more,
        )
        self.pools.discover(Found("dispatch", list(self.sources)))
        self.reopened: list[str] = []

    def call(self) -> tuple[Any, Done]:
        (task,) = self.pools.lease(DISPATCH)
        try:
            return task, self.dispatch(task)
        except BaseException:
            self.pools.retry_later(task, "tested", spent=False)
            raise

    def store(self, done: Done) -> None:
        if isinstance(done.records, Sighted):
            self.documents.write(done.records)
            names = [f"{NAME} {each}" for each in done.records.again]
            self.pools.reopen_named(EXPORT, names)
            self.reopened += done.records.again

    def stretch(self) -> Done:
        task, done = self.call()
        self.store(done)
        self.pools.advance((task, done))
        return done

    def round(self) -> None:
        """Until every source has been read to its end."""
        self.pools.reopen_named(DISPATCH, list(self.sources))
        while self.pools.count("to_dispatch"):
            self.stretch()

    def uris(self) -> list[str]:
        return list(self.pools.uris("to_parse"))

    def finish(self) -> int:
        """Every document is parsed and exported; how many."""
        number = 0
        for stage in (PARSE, EXPORT):
            while tasks := self.pools.lease(stage, 100):
                to = "to_export" if stage is PARSE else "finished"
                self.pools.advance(*((task, Done(to)) for task in tasks))
                number += len(tasks) * (stage is EXPORT)
        return number

    def close(self) -> None:
        self.pools.close()
        self.documents.db.close()

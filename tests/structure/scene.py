"""Sources, pools and a store of documents, as the job puts them together."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tools.engine.pools import Pools
from tools.engine.stage import Done, Found, Stage
from tools.structure.dispatch import Dispatch, stretches_of
from tools.structure.documents import FILE, Documents, create_documents
from tools.structure.registry import Rule
from tools.structure.sighted import Sighted
from tools.structure.sources.source import Source

DISPATCH = Stage("dispatch", 1)
PARSE = Stage("parse", 2, order="priority")
EXPORT = Stage("export", 2, order="priority")
NAME = "shop"


class Rules:
    """The same for everything, but what ends in one of these."""

    def __init__(self, rule: Rule | None = None, without: tuple[str, ...] = ()) -> None:
        self.rule = rule or Rule("*", "html")
        self.without = without

    def rule_for(self, source: str, type: str | None) -> Rule | None:
        return None if self.without and source.endswith(self.without) else self.rule


class Scene:
    """One job; `again` is a new process on the same files."""

    def __init__(self, folder: Path, *sources: Source, **more: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.sources = {each.uri: each for each in sources}
        if not (folder / FILE).exists():
            create_documents(folder / FILE)
        self.documents = Documents(folder / FILE, NAME)
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
        for each in self.sources:
            self.documents.doubt_after(each, self.pools.tallied(stretches_of(each)))
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
            self.documents.sight(done.records, time.time())
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
        self.documents.close()

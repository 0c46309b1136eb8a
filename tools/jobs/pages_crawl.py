"""One crawl: who it is, where it began, and what belongs to it.

Promise: a table or an archive that is lost, emptied or another crawl's is never made anew; what a
crash left behind is put right before anything is asked. A larger depth, another scope or further
seeds need no download of what is there.
"""

from __future__ import annotations

import logging
import time
import uuid
from argparse import Namespace
from collections.abc import Sequence
from typing import Self
from urllib.parse import urlsplit

import orjson

from ..archive.recovery import Recovery
from ..archive.store import Archive
from ..documents.address import DropParameters, as_seed, identity
from ..engine.pools import Pools
from ..engine.stage import Stage
from ..errors import StateDamaged, UsageError
from ..pages.control import Control
from ..pages.page import Child, Link
from ..pages.table import PageTable
from ..settings import Settings
from ..tables.address import is_postgres, sqlite_path
from .ownership import ID, Past

logger = logging.getLogger(__name__)

SAMPLE, REAL = "the built-in site", "the web"
SEEDS, DEPTH, SCOPE = "seeds", "depth", "scope_rules"
"""What a state remembers of its crawl."""
MOST_HOPS = 10


class Crawl:
    def __init__(self, settings: Settings, past: Past, world: str, drop: DropParameters) -> None:
        """Nothing is made or changed here."""
        self._settings = settings
        self._past = past
        self._drop = drop
        self.world = world
        self.id = past.harvest or uuid.uuid4().hex
        known = orjson.loads(past.facts.get(SEEDS, "[]"))
        self._typed = texts = list(dict.fromkeys([*known, *settings.pages.seeds]))
        self.seeds = [address for text in texts if (address := as_seed(text)) is not None]
        self.links = [Link(identity(each, drop), each, "seed") for each in self.seeds]
        self.plain = frozenset(
            identity(address, drop)
            for text in texts
            if "//" not in text and (address := as_seed(text)) is not None
        )

    @classmethod
    def of(cls, settings: Settings, arguments: Namespace, drop: DropParameters) -> Self:
        here = Past.of(settings.pools_file)
        past = here if arguments.resume is None else Past.of(arguments.resume)
        if here.harvest and past.harvest not in (None, here.harvest):
            raise StateDamaged(
                f"{arguments.resume} is a snapshot of another crawl than the one in "
                f"{settings.state}: give a snapshot of this one, or the --state of the other"
            )
        crawl = cls(settings, past, SAMPLE if arguments.sample else REAL, drop)
        crawl.check()
        return crawl

    @property
    def hosts(self) -> list[str]:
        """Named by the user: they may be anywhere."""
        return [urlsplit(seed).netloc for seed in self.seeds]

    @property
    def worked(self) -> int:
        return self._past.counts.get("finished", 0) + self._past.counts.get("to_control", 0)

    def check(self) -> None:
        """Before a table is opened, which would make one that is not there."""
        if not self.seeds:
            raise UsageError("this crawl has no seed: give --seeds FILE or --seed URL")
        pages = self._settings.pages
        before = self._past.facts.get(DEPTH)
        if before is not None and pages.depth < int(before):
            raise UsageError(
                f"this crawl went {before} links deep already: give --depth {before} or more, or "
                "begin anew with --fresh"
            )
        if self.worked and not is_postgres(pages.database):
            path = sqlite_path(pages.database, self._settings.state)
            if not path.exists():
                raise self._lost(f"{path} is gone")

    def check_table(self, table: PageTable) -> None:
        owner = table.owner()
        if self.worked and owner != self.id:
            what = "knows nothing of this crawl" if owner is None else "is another crawl's"
            raise self._lost(f"the table of {self._settings.pages.database} {what}")

    def _lost(self, what: str) -> StateDamaged:
        return StateDamaged(
            f"{what}, though {self.worked:,} pages are finished: bring back the table that this "
            "crawl went into, or begin anew with --fresh"
        )

    # --- the start -------------------------------------------------------------------------

    def claim(self, pools: Pools, table: PageTable, archive: Archive) -> None:
        """Table and archive are ours, or neither of them is. The pools know it first: whoever is
        killed in between finds his own."""
        pools.remember({ID: self.id})
        table.check_owner(self.id)
        archive.claim(known=len(table.ends_of_files()))
        table.claim(self.id)

    def begin(
        self,
        pools: Pools,
        stages: Sequence[Stage],
        table: PageTable,
        archive: Archive,
        control: Control,
    ) -> None:
        """Afterwards archive, table and pools agree, and the seeds have their rows."""
        self._stages = {stage.name: stage for stage in stages}
        self._put_right(pools, table, archive)
        table.admit([Child(link.url, link.address) for link in self.links])
        for link in self.links:
            self._follow(link, table, control)
        pages = self._settings.pages
        if (age := pages.refetch_after_s) is not None:
            again = pools.reopen(self._stages["download"], before=time.time() - age)
            logger.info("%d pages are asked whether they have changed", again)
        self._widen(pools)  # what is asked again comes to its links by itself
        texts = orjson.dumps(self._typed).decode()
        facts = {SEEDS: texts, DEPTH: str(pages.depth), SCOPE: self._scope}
        pools.remember(facts)

    def _put_right(self, pools: Pools, table: PageTable, archive: Archive) -> None:
        found = self._cut_back(table, archive)
        for short in found.short:
            urls = table.cut_back(short.file, short.bytes)
            again = pools.reopen_named(self._stages["download"], urls)
            logger.warning(
                "%s has lost its last %d bytes: %d pages of it are asked for again",
                short.file,
                short.expected - short.bytes,
                again,
            )
        if found.short:
            self._cut_back(table, archive)

    def _cut_back(self, table: PageTable, archive: Archive) -> Recovery:
        files = table.files()
        closed = [file.name for file in files if file.closed_at]
        shipped = [file.name for file in files if file.shipped_at]
        return archive.cut_back({file.name: file.bytes for file in files}, closed, shipped)

    def _follow(self, link: Link, table: PageTable, control: Control) -> None:
        """Where a seed was sent in an earlier run, the crawl goes on there."""
        url = link.url
        for _ in range(MOST_HOPS):
            page = table.page(url)
            if page is None or page.redirect is None:
                return
            url = identity(page.redirect, self._drop)
            control.join(url, page.redirect)

    @property
    def _scope(self) -> str:
        pages = self._settings.pages
        rules = [pages.scope, pages.include, pages.exclude, pages.nofollow, pages.limit_per_host]
        return orjson.dumps([*rules, sorted(self.seeds)]).decode()

    def _widen(self, pools: Pools) -> None:
        """What is finished is looked at again where more of it may be wanted now."""
        facts, depth = self._past.facts, self._settings.pages.depth
        before = int(facts.get(DEPTH, depth))
        if facts.get(SCOPE, self._scope) != self._scope:
            pools.reopen(self._stages["control"])
            logger.info("other pages belong to the crawl now: known links are looked at again")
        elif depth > before:
            again = pools.deepen(self._stages["control"], before, depth)
            logger.info("%d pages are looked at again: the depth is %d now", again, depth)

"""Do graph and media folder belong to this harvest?

What is finished is not harvested again, so its records must be in the graph and its files in the
media folder; and a harvest would write over the media of another. A harvest has an id, which its
graph and its media folder carry: one that was lost, emptied or replaced is never made anew. Its
runs have numbers, which its graph carries too: an older copy is not taken for the whole one.

Limit: a copy that was made since the last start has the same number.
"""

from __future__ import annotations

import logging
import sqlite3
import uuid
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import orjson

from ..add import Graph
from ..base.place import Place
from ..base.sqlite import reading
from ..engine.pools import Pools
from ..errors import StateDamaged
from ..graphs.open import is_embedded, is_same, is_there, sqlite_path
from ..media.ledger import Ledger
from ..media.ledger_lines import BOOKS
from ..settings import Settings
from ..shipping.outbox import FOLDER as OUTBOX

logger = logging.getLogger(__name__)

ID, GRAPH = "harvest", "graph"
RUN = "graph_run"  # the number of the last run that wrote into the graph
ELSEWHERE = "media_elsewhere"  # nodes of a cluster have, or had, media of it
IN_GRAPH, FILLED = "in_graph", "graph_filled"  # it knows the id; it has held a relation


class Past(NamedTuple):
    """What a state file says about its harvest."""

    facts: Mapping[str, str]
    counts: Mapping[str, int]

    @classmethod
    def of(cls, file: Path) -> Past:
        """Nothing, if it is not there; nor if it is damaged, which whoever opens it reports."""
        try:
            with closing(reading(file)) as db:
                facts = dict(db.execute("SELECT key, value FROM meta"))
                ((tally,),) = db.execute("SELECT counts FROM tally").fetchall()
            return cls(facts, orjson.loads(tally))
        except (sqlite3.Error, ValueError):
            return cls({}, {})

    @property
    def harvest(self) -> str | None:
        return self.facts.get(ID)

    @property
    def run(self) -> int:
        return int(self.facts.get(RUN, 0))

    @property
    def worked(self) -> int:
        """How many have records in the graph, as far as they had any."""
        return self.counts.get("finished", 0) + self.counts.get("to_extend", 0)


class Belongings:
    """Of one harvest, from before its start to its end."""

    def __init__(self, settings: Settings, snapshot: Path | None = None) -> None:
        """Nothing is made or changed here. `snapshot` is what it begins from."""
        self._settings = settings
        self._url = settings.graph_url
        here = Past.of(settings.pools_file)
        self._past = here if snapshot is None else Past.of(snapshot)
        if here.harvest and self._past.harvest not in (None, here.harvest):
            raise StateDamaged(
                f"{snapshot} is a snapshot of another harvest than the one in {settings.state}: "
                "give a snapshot of this one, or the --state of the other"
            )
        self.harvest = self._past.harvest or here.harvest or uuid.uuid4().hex
        self._file = sqlite_path(self._url) if is_embedded(self._url) else None
        if self._past.worked and not is_there(self._url):
            raise self._lost(f"{self._file} is gone")

    def check(self, graph: Graph) -> None:
        """Before anything of it is written."""
        if self._past.worked:
            self._check_graph(graph)
        if self._settings.extend.is_wanted and ELSEWHERE not in self._past.facts:
            ledger = Ledger(self._settings.media)
            _check_media(ledger, self.harvest, self._past.counts, self._settings)

    def _check_graph(self, graph: Graph) -> None:
        facts, known = self._past.facts, graph.members.known()
        is_known = self.harvest in known
        if not is_known and IN_GRAPH in facts:
            raise self._lost(f"{self._url} does not know this harvest")
        if (not is_known or FILLED in facts) and not graph.counts().entities:
            raise self._lost(f"{self._url} is empty")
        if is_known and known[self.harvest] < self._past.run:
            raise self._lost(f"{self._url} is an older copy of the graph")

    def _lost(self, what: str) -> StateDamaged:
        before = self._past.facts.get(GRAPH, self._url)
        way = "bring back the graph that this harvest went into"
        if not is_same(before, self._url):
            way = f"copy the graph first (python main.py copy --from {before} --graph {self._url})"
        return StateDamaged(
            f"{what}, though {self._past.worked:,} are finished: {way}, or begin anew with --fresh"
        )

    def take(self, pools: Pools, ledger: Ledger, is_elsewhere: bool = False) -> None:
        """Afterwards the books hold what is finished, and nothing else. With `is_elsewhere` other
        machines keep books and files."""
        self._pools, self._ledger = pools, ledger
        pools.remember({ID: self.harvest})
        if is_elsewhere:
            pools.remember({ELSEWHERE: "yes"})
        elif self._settings.extend.is_wanted and ELSEWHERE not in self._past.facts:
            check_media(pools, ledger, self._settings)

    def enter(self, graph: Graph, written: Callable[[], int]) -> None:
        """The graph is ours from now on. First it knows it, then the pools do: a crash in between
        is made good by the next start, whose number is above both."""
        self._members, self._written = graph.members, written
        self._is_filled = FILLED in self._past.facts
        run = 1 + max(self._past.run, self._members.known().get(self.harvest, 0))
        self._members.admit(self.harvest, run)
        before = self._past.facts.get(GRAPH, self._url)
        if not is_same(before, self._url):
            text = "this harvest went into %s so far, from now on into %s"
            logger.warning(text, before, self._url)
        self._pools.remember({GRAPH: self._url, IN_GRAPH: self.harvest, RUN: str(run)})
        self._place = Place(self._file, name=self._file) if self._file else None

    # --- while it runs ---------------------------------------------------------------------

    def look(self) -> None:
        """Often: are they still the ones we began with?"""
        if self._place is not None:
            self._place()
        self._ledger.check_place()

    def ask(self) -> None:
        """By the minute, in a thread of its own: does the graph still know us?"""
        self._members.confirm(self.harvest)
        if self._written() and not self._is_filled:
            self._pools.remember({FILLED: "yes"})
            self._is_filled = True


def check_media(pools: Pools, ledger: Ledger, settings: Settings) -> None:
    """Make the folder that of this harvest. Afterwards the books hold what is finished, and nothing
    else."""
    harvest = pools.remembered().get(ID) or uuid.uuid4().hex
    pools.remember({ID: harvest})
    _check_media(ledger, harvest, Past.of(settings.pools_file).counts, settings)
    ledger.claim(harvest)
    ledger.keep_finished(lambda owner: pools.pool_of(owner) == "finished")


def _check_media(
    ledger: Ledger, harvest: str, counts: Mapping[str, int], settings: Settings
) -> None:
    done = counts.get("done_extend", 0)
    if ledger and ledger.harvest != harvest:
        raise StateDamaged(
            f"{settings.media} holds the media of a harvest that {settings.state} knows nothing of:"
            f" give its --state, or another --media, or --fresh to set it aside"
        )
    if done and not ledger:
        raise StateDamaged(
            f"{settings.media} is gone or empty, though {done:,} are finished with their media: "
            "bring it back, or give its --media, or begin anew with --fresh"
        )
    lost = [book for book in BOOKS if not (settings.media / book).exists()]
    if lost and _has_files(counts) and not (settings.media / OUTBOX).exists():
        raise StateDamaged(
            f"{settings.media} has lost {' and '.join(lost)}, though {done:,} are finished with "
            "their media: bring it back, for it says whose the files are, or begin anew with "
            "--fresh"
        )


def _has_files(counts: Mapping[str, int]) -> bool:
    """Have any ever been in the books? Where media are shipped, these go with them."""
    return any(count for name, count in counts.items() if name.startswith("media "))

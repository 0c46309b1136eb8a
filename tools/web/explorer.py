"""The graph behind the pages, opened when the first of them asks, and kept open.

Promise: what takes long is done aside: `search.db` grows in a thread of its own, and figures are
counted in one. A graph that is not there yet is looked for again; one that was set aside for a new
one is let go. A server that is silent is asked by one at a time, and half of the time at most.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING

from ..base.seldom import Aside
from ..conceptnet.graph import open_reader
from ..errors import HarvestError
from ..graphs.open import is_embedded, sqlite_path
from ..graphs.reader import Reader
from .data import statistics
from .data.growing import Grower
from .data.sidecar import NAME, Sidecar
from .data.statistics import Statistics

if TYPE_CHECKING:
    from .site import Site


logger = logging.getLogger(__name__)
MARK_S = 2.0  # so often at most it is looked whether the graph has changed


class Explorer:
    def __init__(self, site: Site) -> None:
        self._site, self._lock = site, Lock()
        self._graph: Reader | None = None
        self._search: tuple[Sidecar, Grower] | None = None  # of this graph
        self._files: Sequence[tuple[int, int] | None] = ()  # as they were opened
        self._failure: tuple[HarvestError, float] | None = None  # and until when it counts
        self._counting: Thread | None = None
        self._rest_until = 0.0  # no count is begun by itself before
        self._mark = Aside(lambda: self.reader.change_mark(), MARK_S)
        self.trouble = ""  # why the figures could not be counted

    @property
    def media(self) -> Path:
        folder: Path = self._site.sources.settings.media
        return folder

    @property
    def state(self) -> Path:
        return self._site.state

    @property
    def reader(self) -> Reader:
        with self._lock:
            return self._opened()

    @property
    def sidecar(self) -> Sidecar:
        return self._searched()[0]

    def is_whole(self) -> bool:
        """Has everything been gone through once, so that what is not found is not there?"""
        return self._searched()[1].is_whole()

    def close(self) -> None:
        with self._lock:
            if self._search is not None:
                sidecar, grower = self._search
                grower.stop()
                sidecar.close()
            if self._graph is not None:
                self._graph.close()
            self._graph = self._search = None

    def _searched(self) -> tuple[Sidecar, Grower]:
        """Tried again as often as somebody asks: there may be room now."""
        with self._lock:
            reader = self._opened()
            if self._search is None:
                self._search = self._new_search(reader)
                self._files = self._files_now()
            return self._search

    def _opened(self) -> Reader:
        """With the lock in hand. Most pages need no `search.db`; those that do say why it is not
        there."""
        if self._graph is not None and self._files != self._files_now():
            self._let_go()
        if self._graph is None:
            self._graph = self._new_graph()
            with suppress(HarvestError):
                self._search = self._new_search(self._graph)
            self._files = self._files_now()
        return self._graph

    def _new_graph(self) -> Reader:
        if self._failure is not None and time.monotonic() < self._failure[1]:
            raise self._failure[0].with_traceback(None)
        settings, began = self._site.sources.settings, time.monotonic()
        try:
            return open_reader(settings.graph_url, settings.neo4j.password)
        except HarvestError as error:
            now = time.monotonic()
            self._failure = error, now + (now - began)
            raise

    def _new_search(self, reader: Reader) -> tuple[Sidecar, Grower]:
        sidecar = Sidecar(self.state / NAME)
        grower = Grower(reader, sidecar)
        grower.start()
        return sidecar, grower

    def _let_go(self) -> None:
        """Not closed: whoever reads it still ends that, and it is closed with the last of them."""
        if self._search is not None:
            self._search[1].stop()
        self._graph = self._search = None

    def _files_now(self) -> list[tuple[int, int] | None]:
        url = self._site.sources.settings.graph_url
        graph = [sqlite_path(url)] if is_embedded(url) else []
        return [_identity(each) for each in (*graph, self.state / NAME)]

    # --- figures -----------------------------------------------------------------------------

    def figures(self) -> Statistics | None:
        """As they were counted last. Whoever looks has them counted, if they never were, or again
        if the graph has changed: seldom enough for a harvest that changes it all the time."""
        found = statistics.kept(self.state)
        if time.monotonic() >= self._rest_until and self._is_to_be_counted(found):
            self.count()
        return found

    def _is_to_be_counted(self, found: Statistics | None) -> bool:
        return found is None or (
            statistics.is_rested(found, time.time()) and self.has_changed(found)
        )

    def has_changed(self, figures: Statistics) -> bool:
        """Since they were counted, as far as is known: nobody waits for a graph that is silent."""
        with suppress(HarvestError):
            self._mark.known()
        return self._mark.last is not None and self._mark.last.value != figures.mark

    def count(self) -> None:
        """Aside, and by one at a time."""
        reader = self.reader
        with self._lock:
            if self._counting is None or not self._counting.is_alive():
                work = Thread(target=self._count, args=(reader,), name="figures", daemon=True)
                self._counting = work
                work.start()

    @property
    def is_counting(self) -> bool:
        return self._counting is not None and self._counting.is_alive()

    def _count(self, reader: Reader) -> None:
        began = time.monotonic()
        try:
            statistics.keep(statistics.count(reader, self.state), self.state)
            self.trouble = ""
        except (HarvestError, OSError, sqlite3.Error) as error:
            self.trouble = str(error)
        except Exception as error:
            logger.exception("the figures cannot be counted")
            self.trouble = f"a mistake of ours, {type(error).__name__}: `serve` has written it down"
        finally:
            now = time.monotonic()
            self._rest_until = now + statistics.rest_after(now - began)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino

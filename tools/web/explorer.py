"""The graph behind the pages, opened when the first of them asks, and kept open.

Promise: what takes long is done aside: `search.db` grows in a thread of its own, and figures are
counted in one. A graph that is not there yet is looked for again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING

from ..conceptnet.graph import open_reader
from ..errors import HarvestError
from ..graphs.open import is_embedded
from ..graphs.reader import Reader
from .data import statistics
from .data.growing import Grower
from .data.sidecar import NAME, Sidecar
from .data.statistics import Statistics

if TYPE_CHECKING:
    from .site import Site


class Explorer:
    def __init__(self, site: Site) -> None:
        self._site, self._lock = site, Lock()
        self._open: tuple[Reader, Sidecar, Grower] | None = None
        self._counting: Thread | None = None
        self.trouble = ""  # why the figures could not be counted

    @property
    def media(self) -> Path:
        folder: Path = self._site.sources.settings.media
        return folder

    @property
    def state(self) -> Path:
        return self._site.state

    @property
    def is_embedded(self) -> bool:
        return is_embedded(self._site.sources.settings.graph_url)

    @property
    def reader(self) -> Reader:
        return self._opened()[0]

    @property
    def sidecar(self) -> Sidecar:
        return self._opened()[1]

    def is_whole(self) -> bool:
        """Has everything been gone through once, so that what is not found is not there?"""
        return self._opened()[2].is_whole()

    def close(self) -> None:
        with self._lock:
            if self._open is not None:
                reader, sidecar, grower = self._open
                grower.stop()
                sidecar.close()
                reader.close()
                self._open = None

    def _opened(self) -> tuple[Reader, Sidecar, Grower]:
        with self._lock:
            if self._open is None:
                settings = self._site.sources.settings
                reader = open_reader(settings.graph_url, settings.neo4j.password)
                sidecar = _or_close(reader, lambda: Sidecar(self.state / NAME))
                grower = Grower(reader, sidecar)
                grower.start()
                self._open = reader, sidecar, grower
            return self._open

    # --- figures -----------------------------------------------------------------------------

    def figures(self) -> Statistics | None:
        """As they were counted last; the first to ask has them counted."""
        found = statistics.kept(self.state)
        if found is None:
            self.count()
        return found

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
        try:
            statistics.keep(statistics.count(reader, self.state), self.state)
            self.trouble = ""
        except (HarvestError, OSError) as error:
            self.trouble = str(error)


def _or_close(reader: Reader, make: Callable[[], Sidecar]) -> Sidecar:
    try:
        return make()
    except BaseException:
        reader.close()
        raise

"""What a harvest of ConceptNet has kept, for its user, when it has come to an end."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path

from ..add import Counts, Graph
from ..conceptnet.graph import open_reader
from ..engine.harvest import Harvest
from ..engine.panel import Panel
from ..errors import HarvestError, Unavailable
from ..media.ledger import Ledger
from ..reports.progress import bar
from ..settings import Settings
from .conceptnet_description import TITLES

logger = logging.getLogger(__name__)


class Results:
    def __init__(self, graph: Graph, settings: Settings, quiet: bool) -> None:
        self._graph, self._settings, self._quiet = graph, settings, quiet
        self._page: Path | None = None

    def write_pages(self, harvest: Harvest) -> None:
        """To look at, if there is something new; whatever goes wrong costs only the pages: the last
        shipping and the summary are still to come."""
        extend = self._settings.extend
        if not extend.is_wanted or not extend.sheets or not harvest.has_worked:
            return
        try:
            self._page = latest_sheets(self._settings, self._quiet)
        except Exception as error:
            reason = error if isinstance(error, HarvestError) else repr(error)
            logger.warning("no pages to look at (%s): python main.py sheet tries again", reason)

    @cached_property
    def counts(self) -> Counts | None:
        return self._counted[0]

    @cached_property
    def _counted(self) -> tuple[Counts | None, dict[str, int]]:
        """The harvest has ended well even if its graph went away in the last moment."""
        try:
            return self._graph.counts(), self._graph.relations_by_type()
        except Unavailable as error:
            logger.warning("%s", error)
            return None, {}

    def panels(self, media: Mapping[str, int], refused: Mapping[str, int]) -> Sequence[Panel]:
        """`media` by kind and `refused` by reason are of this run."""
        counts, by_type = self._counted
        kept = [(name, media.get(kind, 0)) for kind, name in TITLES.items()] if media else []
        return (
            Panel("Graph", "table", _graph_rows(counts) if counts else []),
            Panel("Media of this run", "table", kept),
            Panel("Files refused in this run", "table", list(refused.items())),
            Panel("Relations by type", "bars", list(by_type.items())),
        )

    def places(self) -> dict[str, str | Path]:
        settings = self._settings
        found: dict[str, str | Path] = {"graph": settings.graph_url}
        if settings.extend.is_wanted:
            found["media"] = settings.media
        if settings.transport.host:
            found["shipped to"] = f"{settings.transport.host}:{settings.transport.folder}"
        return found if self._page is None else {**found, "to look at": self._page}


def latest_sheets(settings: Settings, quiet: bool) -> Path | None:
    """Pages of the seeds, of what is next to them and of what got media last, and their index; None
    if nothing got any."""
    from ..sheets.write import around, index  # it takes Pillow and Jinja with it

    count = settings.extend.sheets
    latest = Ledger(settings.media).latest(count)
    if not latest:
        return None
    with closing(open_reader(settings.graph_url, settings.neo4j.password)) as reader:
        near = around(reader, settings.seeds, count)
        concepts = list(dict.fromkeys([*near, *latest]))[:count]
        with bar("pages", len(concepts), quiet) as show:
            return index(reader, settings.media, concepts, settings.sheets, show, settings.seeds)


def _graph_rows(graph: Counts) -> list[tuple[str, int]]:
    rows = [("concepts", graph.entities), ("relations", graph.relations)]
    return [*rows, ("media", graph.media)] if graph.media else rows

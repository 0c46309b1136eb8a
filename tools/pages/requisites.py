"""What belongs to a page besides itself: images, style sheets, scripts, fonts. They are kept in the
archive, one hop from their page and from any host, and are no pages: they have no row.
"""

from __future__ import annotations

from ..documents.address import DropParameters
from ..documents.robots_tags import header_wishes
from ..engine.stage import Done
from ..network.client import TRY_AGAIN
from .brought import Brought
from .found import MARK, requisites_found
from .keeper import Keeper, mime_of
from .lookup import StateLookup
from .notes import hops_in
from .page import FETCHED, Captured, HostNews, Record
from .visit import Visit, Visitor, sent_to

MOST_HOPS = 5  # of redirects
KEPT = "requisites "  # before a type, in the name of a count


class Requisites:
    """Worker, for those of the download that are no pages."""

    def __init__(
        self,
        visitor: Visitor,
        keeper: Keeper,
        table: StateLookup,
        drop: DropParameters,
        max_bytes: int,
    ) -> None:
        self._visitor = visitor
        self._keeper = keeper
        self._table = table
        self._drop = drop
        self._max_bytes = max_bytes

    def __call__(self, visit: Visit) -> Done:
        url = visit.task.uri.removesuffix(MARK)
        known = self._table.known([url]).get(url)
        if known is not None and known.state == FETCHED:  # as a page of the crawl
            return Done("finished")
        response = self._visitor.ask(visit, visit.address, self._max_bytes)
        if response.status in TRY_AGAIN:
            raise self._visitor.away(visit, f"HTTP {response.status}")
        self._visitor.answered(visit)
        if "noarchive" not in header_wishes(response.headers):
            self._keeper.keep(visit, response)
        hops, target = hops_in(visit.task.note), sent_to(response)
        further = [target] if target and hops < MOST_HOPS else []
        size = len(response.payload)
        records: list[Record] = [Captured(captures=()), HostNews(name=visit.lane, bytes=size)]
        return Done(
            "finished",
            found=list(requisites_found(further, self._drop, visit.task.depth, hops + 1)),
            records=Brought(records, visit.answers),
            tally={KEPT + (mime_of(response) or "unknown"): 1},
        )

"""A step of the download: a host's robots.txt is read before the first page of it is asked for.

The page that caused it goes back to its pool and waits for the host's next turn, like every other.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..documents.address import DropParameters, identity, lane_of, resolve
from ..engine.stage import Done
from ..network.request import MAX_REDIRECTS
from ..network.response import Response
from ..network.robots import MOST_OF_A_FILE, Rules
from .brought import Brought
from .found import found_of
from .keeper import Keeper
from .notes import is_requisite
from .page import Captured, Child, Controlled, Link, Record
from .robots_rules import RobotsRules
from .visit import Visit, Visitor, sent_to

MOST_BYTES = 20 * MOST_OF_A_FILE  # a larger one is none


class RobotsTxt:
    def __init__(
        self,
        visitor: Visitor,
        keeper: Keeper,
        known: RobotsRules,
        drop: DropParameters,
        reads_sitemaps: bool,
    ) -> None:
        self._visitor = visitor
        self._keeper = keeper
        self._known = known
        self._drop = drop
        self._reads_sitemaps = reads_sitemaps

    def rules(self, visit: Visit) -> Rules | None:
        """None: they are to be read first."""
        return self._known.of(visit.lane)

    def read(self, visit: Visit) -> Done:
        response = self._answer(visit)
        self._visitor.answered(visit)
        is_there = 200 <= response.status < 300
        text = response.body[:MOST_OF_A_FILE].decode("utf-8-sig", "replace") if is_there else ""
        rules, news = self._known.learn(visit.lane, text)
        is_near = visit.task.depth == 0 and not is_requisite(visit.task.note)
        sitemaps = self._sitemaps(visit.address, rules) if is_near else []
        rows = [Child(link.url, link.address) for link in sitemaps]
        records: list[Record] = [Captured(captures=()), news]
        records.append(Controlled(url=visit.task.uri, children=rows))
        brought = Brought(records, visit.answers)
        return Done(visit.task.stage.waiting, found=list(found_of(sitemaps)), records=brought)

    def _answer(self, visit: Visit) -> Response:
        address = resolve(visit.address, "/robots.txt") or visit.address
        for _ in range(MAX_REDIRECTS):
            response = self._visitor.ask_rules(visit, address, MOST_BYTES)
            self._keeper.keep(visit, response)
            target = sent_to(response)
            if target is None or target == address:
                break
            address = target
        return response

    def sitemaps_of(self, seeds: Iterable[str]) -> list[Link]:
        """Named by the hosts of these, as far as their rules are known: a crash may have come
        between that and what follows from it."""
        known = {lane_of(identity(each)): each for each in seeds}
        rules = ((each, self._known.so_far(lane)) for lane, each in known.items())
        return [link for each, found in rules if found for link in self._sitemaps(each, found)]

    def _sitemaps(self, address: str, rules: Rules) -> list[Link]:
        """What they list are seeds, so only those that a seed's own host names are read."""
        if not self._reads_sitemaps:
            return []
        found = (resolve(address, name) for name in rules.sitemaps)
        return [Link(identity(each, self._drop), each, "sitemap") for each in found if each]

"""Worker: one page -> its answer, whatever it is, packed for the archive.

Promise: nothing is asked that robots.txt forbids, or before it was read. Every answer is kept, also
one that says no. What is not the same page is another one: a redirect there is a link.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..archive.record import REVISIT
from ..documents.address import DropParameters, address_of, identity, lane_of
from ..documents.html import is_html, read
from ..documents.robots_tags import header_wishes
from ..engine.stage import Done, Task
from ..errors import GiveUp, RetryLater
from ..network.client import TRY_AGAIN
from ..network.large_answers import LARGE
from ..network.response import Response
from .analyse import Analyse, Body, tally_of
from .archived import NOT_PAGES
from .brought import Brought
from .keeper import Keeper, mime_of
from .lookup import KnownPage, PageLookup, SameCounted
from .notes import address_in, is_requisite, is_sitemap
from .page import FETCHED, Failed, Fetched, HostNews, Link, Record, Unchanged, moment
from .robots_txt import RobotsTxt
from .visit import Visit, Visitor, sent_to

PIECE = 1_000_000  # bytes
MOST_HOPS = 5  # of redirects that lead to the same page
BYTES, STATUS = "page bytes", "status "
"""A count, and how the names of the counts of answers begin."""
UNCHANGED, SAME = "revisits that the host told", "revisits found by their digest"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What may come back, and how often it is asked for. `types` are kept, all if there are none;
    `refetches`: a page that is fetched already is asked whether it has changed; `plain` are seeds
    that were typed without a scheme."""

    max_bytes: int
    attempts: int
    types: frozenset[str] = frozenset()
    refetches: bool = False
    plain: frozenset[str] = frozenset()


class Download:
    """Without `robots` nobody's robots.txt is read."""

    def __init__(
        self,
        visitor: Visitor,
        keeper: Keeper,
        table: PageLookup,
        analyse: Analyse,
        robots: RobotsTxt | None,
        traps: SameCounted,
        drop: DropParameters,
        wanted: Wanted,
        requisites: Callable[[Visit], Done],
    ) -> None:
        self._visitor = visitor
        self._keeper = keeper
        self._table = table
        self._analyse = analyse
        self._robots = robots
        self._traps = traps
        self._drop = drop
        self._wanted = wanted
        self._requisites = requisites

    def __call__(self, task: Task) -> Done:
        address = address_in(task.note) if task.note else address_of(task.uri, "https")
        is_plain = task.uri in self._wanted.plain
        visit = Visit(task, address, lane_of(task.uri), may_be_plain=is_plain)
        with visit.turn:
            if self._robots is not None:
                rules = self._robots.rules(visit)
                if rules is None:
                    return self._robots.read(visit)
                if (rule := rules.rule_for(address)) is not None:
                    raise GiveUp(f"robots.txt: {rule}")
            return self._requisites(visit) if is_requisite(task.note) else self._page(visit)

    def _page(self, visit: Visit) -> Done:
        known = self._table.page(visit.task.uri) if self._wanted.refetches else None
        earlier = known if known is not None and known.state == FETCHED else None
        response = self._answer(visit, earlier)
        status = response.status
        if status in TRY_AGAIN:
            return self._trouble(visit, response)
        self._visitor.answered(visit)
        if status == 304 and earlier is not None:
            return self._unchanged(visit, response)
        if (target := sent_to(response)) is not None:
            return self._redirected(visit, response, target, earlier)
        if status >= 400:
            return self._refused(visit, response, f"HTTP {status}")
        return self._fetched(visit, response, earlier)

    def _answer(self, visit: Visit, earlier: KnownPage | None) -> Response:
        """After redirects that lead to the same page, such as one from http to https."""
        for _ in range(MOST_HOPS):
            response = self._visitor.ask(visit, visit.address, self._wanted.max_bytes, earlier)
            target = sent_to(response)
            if target is None:
                return response
            if target == visit.address:
                raise GiveUp("redirected to itself")
            if identity(target, self._drop) != visit.task.uri:
                return response
            self._keeper.keep(visit, response)
            visit.address = target
        raise GiveUp("redirected too often")

    # --- what an answer means --------------------------------------------------------------

    def _fetched(self, visit: Visit, response: Response, earlier: KnownPage | None) -> Done:
        mime, types = mime_of(response), self._wanted.types
        if types and mime not in types and not is_sitemap(visit.task.note):
            raise GiveUp(f"its type is not wanted: {mime or 'none'}")
        body = Body(response.url, response.headers, response.body)
        if "noarchive" in _wishes(response):  # it is read now or never
            return self._read_now(visit, response, earlier, body)
        self._keeper.keep(visit, response)
        record = _fetched(visit, response, earlier)
        if response.status in NOT_PAGES:  # a redirect to nowhere, or unchanged since never
            return _done(visit, response, "to_control", replace(record, final=True))
        answer = visit.answers[-1]
        self._traps.fetched(answer.domain, answer.packed.digest)
        if len(body.content) > LARGE:  # too heavy to be carried on
            return self._read_now(visit, response, earlier, body)
        return _done(visit, response, "to_analyse", record, luggage=body)

    def _read_now(
        self, visit: Visit, response: Response, earlier: KnownPage | None, body: Body
    ) -> Done:
        analysed = self._analyse.read(visit.task, body)
        done = _done(visit, response, "to_control", _fetched(visit, response, earlier), analysed)
        return replace(done, tally={**done.tally, **tally_of(analysed)})

    def _redirected(
        self, visit: Visit, response: Response, target: str, earlier: KnownPage | None
    ) -> Done:
        self._keeper.keep(visit, response)
        link = Link(identity(target, self._drop), target, "redirect")
        record = _fetched(visit, response, earlier)
        record = replace(record, redirect=target, final=True, links=[link])
        return _done(visit, response, "to_control", record, luggage=(link,))

    def _unchanged(self, visit: Visit, response: Response) -> Done:
        self._keeper.keep_unchanged(visit, response)
        record = Unchanged(url=visit.task.uri, fetched_at=moment(visit.begun))
        return _done(visit, response, "to_control", record)

    def _refused(self, visit: Visit, response: Response, reason: str) -> Done:
        """The answer is kept, and its page has failed."""
        self._keeper.keep(visit, response)
        now = moment(visit.begun)
        record = Failed(
            url=visit.task.uri,
            remark=reason,
            status=response.status,
            fetched_at=now,
            stale_before=now if self._wanted.refetches else None,
        )
        return replace(_done(visit, response, "failed", record), reason=reason)

    def _trouble(self, visit: Visit, response: Response) -> Done:
        """The last attempt is kept; before that nobody knows yet what the page is."""
        reason = f"HTTP {response.status}"
        error = self._visitor.away(visit, reason)
        if not isinstance(error, RetryLater) or visit.task.attempts + 1 < self._wanted.attempts:
            raise error
        return self._refused(visit, response, f"{reason} (after {self._wanted.attempts} attempts)")


def _wishes(response: Response) -> frozenset[str]:
    """Of the host; and of the page itself, if it seems to say something."""
    wishes = header_wishes(response.headers)
    kind = response.header("Content-Type") or None
    if _says(response.body, b"noarchive") and is_html(kind, response.body):
        wishes |= read(response.body, kind, response.url).meta_robots
    return wishes


def _says(body: bytes, word: bytes) -> bool:
    """In any case of its letters; by pieces, because each is copied."""
    ends = range(PIECE, len(body) + PIECE, PIECE)
    return any(word in body[end - PIECE : end + len(word)].lower() for end in ends)


def _fetched(visit: Visit, response: Response, earlier: KnownPage | None) -> Fetched:
    return Fetched(
        url=visit.task.uri,
        fetched_at=moment(visit.begun),
        address=visit.address,
        status=response.status,
        content_type=mime_of(response),
        bytes=len(response.body),
        digest=visit.answers[-1].packed.digest if visit.answers else None,
        etag=response.header("ETag") or None,
        last_modified=response.header("Last-Modified") or None,
        stale_before=moment(visit.begun) if earlier is not None else None,
    )


def _done(
    visit: Visit, response: Response, to: str, *records: Record, luggage: object = None
) -> Done:
    size, is_failure = len(response.payload), to == "failed"
    news = HostNews(
        name=visit.lane,
        scheme=visit.address.partition(":")[0],
        pages=int(not is_failure),
        failures=int(is_failure),
        bytes=size,
        seconds=time.time() - visit.begun,
    )
    tally = {f"{STATUS}{response.status}": 1, BYTES: size}
    if visit.answers and visit.answers[-1].packed.kind == REVISIT:
        tally[UNCHANGED if response.status == 304 else SAME] = 1
    return Done(to, records=Brought([*records, news], visit.answers), tally=tally, luggage=luggage)

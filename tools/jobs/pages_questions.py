"""What nodes may look up in a crawl's table, and how they ask.

Promise: an answer is a table, so that none at all is not taken for one; who asks while nobody
answers asks again for a while. Of all who want a robots.txt that is old by now one is told so and
reads it; the others keep to what it said.
Limit: that one is believed to be at work for a minute.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Event, Lock
from typing import Any, NamedTuple

from ..cluster.post import Post
from ..documents.address import LONGEST
from ..errors import ComeBack, Interrupted, Unavailable
from ..pages.page import Capture
from ..pages.robots_rules import AGAIN_S, KEPT_S, MOST_HELD, RobotsRules
from ..pages.table import Known, PageTable

PAGE, STATE, CAPTURES, DIGEST, ROBOTS = "page", "state", "captures", "digest", "robots"
MOST_CAPTURES = 1000  # of one page: the last ones
PATIENCE_S, ANSWER_S, ASK_AGAIN_S = 120.0, 15.0, 1.0


# --- where the table is ------------------------------------------------------------------------


class Questions:
    """Any thread may ask."""

    def __init__(self, table: PageTable) -> None:
        self._table = table
        self._lock = Lock()
        self._robots: OrderedDict[str, tuple[float, str]] = OrderedDict()  # read lately

    def all(self) -> Mapping[str, Callable[..., Any]]:
        return {
            PAGE: self.page,
            STATE: self.state,
            CAPTURES: self.captures,
            DIGEST: self.digest,
            ROBOTS: self.robots,
        }

    def page(self, url: Any) -> dict[str, Any]:
        page = self._table.page(_text(url))
        return {PAGE: None if page is None else [page.state, page.etag, page.last_modified]}

    def state(self, url: Any) -> dict[str, Any]:
        known = self._table.known([_text(url)]).get(url)
        return {STATE: None if known is None else [*known]}

    def captures(self, url: Any) -> dict[str, Any]:
        found = self._table.captures(_text(url))
        return {CAPTURES: [[*each] for each in found[-MOST_CAPTURES:]]}

    def digest(self, digest: Any) -> dict[str, Any]:
        capture = self._table.digest_known(_text(digest))
        return {DIGEST: None if capture is None else [*capture]}

    def robots(self, lane: Any) -> dict[str, Any]:
        """How old it is, and its text, stored or not yet."""
        host, now = self._table.host(_text(lane)), time.time()
        with self._lock:
            known = self._robots.get(lane, (0.0, ""))
            if host is not None and host.robots is not None and (host.robots_at or 0.0) > known[0]:
                known = host.robots_at or 0.0, host.robots
            if not known[0]:
                return {ROBOTS: None}
            if now - known[0] >= KEPT_S:
                self._hold(lane, now - KEPT_S + AGAIN_S, known[1])
        return {ROBOTS: [max(0.0, now - known[0]), known[1]]}

    def learn(self, lane: str, text: str, read_at: float) -> None:
        with self._lock:
            self._hold(lane, read_at, text)

    def _hold(self, lane: str, read_at: float, text: str) -> None:
        self._robots[lane] = read_at, text
        self._robots.move_to_end(lane)
        while len(self._robots) > MOST_HELD:
            self._robots.popitem(last=False)


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST:
        raise ValueError("no name of anything")
    return value


# --- on a node ---------------------------------------------------------------------------------


class AskedPage(NamedTuple):
    state: int
    etag: str | None
    last_modified: str | None


class AskedHost(NamedTuple):
    robots: str
    robots_at: float


class AskedTable:
    """The table as a node knows it: every question goes to the coordinator. Unanswered, a task
    comes back and has cost nothing."""

    def __init__(self, post: Post, stop: Event) -> None:
        self._post = post
        self._stop = stop

    def page(self, url: str) -> AskedPage | None:
        found = self._asked(PAGE, url)
        return None if found is None else AskedPage(*found)

    def known(self, urls: Sequence[str]) -> dict[str, Known]:
        found = ((url, self._asked(STATE, url)) for url in urls)
        return {url: Known(*each) for url, each in found if each is not None}

    def captures(self, url: str) -> list[Capture]:
        return [Capture(*each) for each in self._asked(CAPTURES, url)]

    def digest_known(self, digest: str) -> Capture | None:
        found = self._asked(DIGEST, digest)
        return None if found is None else Capture(*found)

    def host(self, name: str) -> AskedHost | None:
        found = self._asked(ROBOTS, name)
        return None if found is None else AskedHost(found[1], time.time() - found[0])

    def _asked(self, what: str, name: str) -> Any:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                answer = self._post.look_up(what, name, seconds=ANSWER_S)
            except Unavailable:
                answer = None
            if isinstance(answer, dict) and what in answer:
                return answer[what]
            if time.monotonic() > deadline:
                raise ComeBack("the coordinator does not answer", 0.0)
            if self._stop.wait(ASK_AGAIN_S):
                raise Interrupted("this node stops")


class AskedRules(RobotsRules):
    """Those that are old by now are asked for anew: another node may have read them since, or reads
    them now."""

    def _known(self, lane: str) -> Any:
        with self._lock:
            held = self._held.get(lane)
            if held is not None and time.time() - held[0] >= KEPT_S:
                del self._held[lane]
        return super()._known(lane)

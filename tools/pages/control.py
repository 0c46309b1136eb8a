"""Worker: one analysed page -> which of its links are pages of this crawl, and how deep.

It reads only what is stored, so that a shorter path, a larger depth or another scope needs no
network. How deep a page is, is the length of its shortest path: a fact about the site, whoever was
quicker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from threading import Lock

from ..documents.address import host_of
from ..documents.links import FOLLOWED
from ..documents.scope import Scope
from ..documents.traps import HostTraps, trap_of
from ..engine.stage import Done, Found, Task
from .brought import Brought
from .found import found_of
from .page import WALKS_NO_LINK, Child, Controlled, Link, PagePath
from .table import PageTable

LINKS = "links "  # before a verdict, in the name of a count
OF_SITEMAPS = frozenset({"sitemap", "sitemap entry"})
"""What a sitemap lists is as near as the seeds."""
REMEMBERED = 20_000  # addresses; some 5 MB
LEADS_ON = FOLLOWED | WALKS_NO_LINK | OF_SITEMAPS


class Control:
    """`seeds` are their urls; where one is sent elsewhere, that place joins the scope."""

    def __init__(
        self,
        table: PageTable,
        scope: Scope,
        seeds: Iterable[str],
        traps: HostTraps,
        depth: int,
        obeys_nofollow: bool = True,
    ) -> None:
        self.scope = scope
        self._table = table
        self._seeds = set(seeds)
        self._traps = traps
        self._depth = depth
        self._obeys_nofollow = obeys_nofollow
        self._lock = Lock()  # of scope and seeds
        self._places: dict[str, str | None] = {}  # by address, why it is no page of this crawl

    def __call__(self, task: Task) -> Done:
        luggage = task.luggage
        links = luggage if isinstance(luggage, tuple) else self._table.links_of(task.uri)
        path = self._table.path_of(task.uri)
        self._follow_seed(task.uri, links)
        verdicts: Counter[str] = Counter()
        children = self._children(task.uri, path, links, verdicts)
        rows = [Child(link.url, link.address, path) for link, path in children.values()]
        return Done(
            "finished",
            found=list(_found(children.values())),
            records=Brought([Controlled(url=task.uri, children=rows)]),
            tally={LINKS + verdict: number for verdict, number in verdicts.items()},
        )

    def join(self, url: str, address: str) -> None:
        """A seed was sent there: its place is part of the crawl."""
        with self._lock:
            self._seeds.add(url)
            self.scope = self.scope.with_seed(address)
            self._places = {}

    def _follow_seed(self, url: str, links: Sequence[Link]) -> None:
        if url in self._seeds:
            for link in links:
                if link.kind == "redirect" and not self.scope.allows(link.address):
                    self.join(link.url, link.address)

    def _children(
        self, url: str, path: PagePath, links: Sequence[Link], verdicts: Counter[str]
    ) -> dict[str, tuple[Link, PagePath]]:
        """By url, each with its shortest path by this page."""
        found: dict[str, tuple[Link, PagePath]] = {}
        ways = {kind: _way(url, path, kind) for kind in {link.kind for link in links} & LEADS_ON}
        for link in links:
            if link.kind not in ways or link.url == url:
                continue
            way = ways[link.kind]
            verdict = self._verdict(link, path, way)
            verdicts[verdict or "followed"] += 1
            if verdict is None and (link.url not in found or len(way) < len(found[link.url][1])):
                found[link.url] = link, way
        return self._let_in(found, verdicts) if self._traps.has_limit else found

    def _verdict(self, link: Link, path: PagePath, way: PagePath) -> str | None:
        """Why it is no child; None if it is one."""
        if link.nofollow and self._obeys_nofollow:
            return "nofollow"
        if len(way) > self._depth:
            return "too deep"
        if link.url in path:  # nearer to the seed than this page
            return "on the way here"
        try:
            verdict = self._places[link.address]
        except KeyError:
            verdict = self._judged(link)
        if verdict is None and self._traps.has_same:
            trap = self._traps.same_again(host_of(link.url))
            return f"trap: {trap}" if trap else None
        return verdict

    def _judged(self, link: Link) -> str | None:
        """Most links lead where many others lead, too."""
        places, scope = self._places, self.scope
        if len(places) >= REMEMBERED:
            places.clear()
        if not scope.allows(link.address):
            verdict: str | None = "outside"
        else:
            trap = trap_of(link.url)
            verdict = f"trap: {trap}" if trap else None
        places[link.address] = verdict
        return verdict

    def _let_in(
        self, found: dict[str, tuple[Link, PagePath]], verdicts: Counter[str]
    ) -> dict[str, tuple[Link, PagePath]]:
        """Only as many new pages of a host as are wanted; those that are known stay."""
        known = self._table.known([*found])
        kept = {}
        for url, child in found.items():
            reason = None if url in known else self._traps.let_in(host_of(url))
            if reason is None:
                kept[url] = child
            else:
                verdicts["followed"] -= 1
                verdicts[f"trap: {reason}"] += 1
        return kept


def _way(url: str, path: PagePath, kind: str) -> PagePath:
    if kind in OF_SITEMAPS:
        return ()
    return path if kind in WALKS_NO_LINK else (*path, url)


def _found(children: Iterable[tuple[Link, PagePath]]) -> Iterator[Found]:
    by_depth: dict[int, list[Link]] = {}
    for link, way in children:
        by_depth.setdefault(len(way), []).append(link)
    for depth, links in by_depth.items():
        yield from found_of(links, depth)

"""A robots.txt that a node has read, and what belongs to a page, looked at."""

from __future__ import annotations

from collections.abc import Sequence

from ..archive.answer import Answered
from ..archive.reader import Kept
from ..archive.record import RESPONSE
from ..documents.address import address_of, resolve
from ..engine.stage import Done, Task
from ..network.robots import MOST_OF_A_FILE, Rules
from ..pages.brought import Brought
from ..pages.found import found_of, requisites_found
from ..pages.keeper import MIME
from ..pages.notes import address_in, hops_in, is_requisite
from ..pages.page import Captured, Controlled, HostNews, Link
from ..pages.requisites import KEPT, MOST_HOPS
from ..pages.robots_txt import MOST_BYTES
from .pages_wishes import Wishes, body_of, lane, of_kind, require, require_sent


def check_robots(
    wishes: Wishes, task: Task, done: Done, brought: Brought, kept: Sequence[Kept]
) -> None:
    """ValueError unless it says what the answer says."""
    require(wishes.reads_robots and len(brought.records) == 3, "nobody reads a robots.txt")
    of_kind(brought.records[0], Captured)
    news, rows = of_kind(brought.records[1], HostNews), of_kind(brought.records[2], Controlled)
    require(kept and news.robots is not None, "it is no robots.txt")
    text = news.robots or ""
    rules = Rules(text.encode("utf-8", "replace"))
    delay, read_at = rules.crawl_delay, news.robots_at
    own = HostNews(name=lane(task), robots=text, robots_at=read_at, crawl_delay=delay)
    require(news == own, "it says other things of its host")
    require(text == _text_of(kept[-1], text), "its text is not that of the answer")
    links = [Link(each.url, each.address, "sitemap") for each in rows.children]
    _check_sitemaps(wishes, task, rules, links)
    require(not any(each.path for each in rows.children), "its sitemaps are elsewhere")
    require(rows.url == task.uri, "it is another page")
    require(done == Done(done.to, list(found_of(links)), None, {}), "it finds other things")


def _check_sitemaps(wishes: Wishes, task: Task, rules: Rules, links: Sequence[Link]) -> None:
    is_near = task.depth == 0 and not is_requisite(task.note)
    require(not links or (is_near and wishes.reads_sitemaps), "it has sitemaps")
    ways = [address_in(task.note)] if task.note else []
    ways += [address_of(task.uri, scheme) for scheme in ("http", "https")]
    named = {resolve(way, each) for way in ways for each in rules.sitemaps} if links else set()
    for link in links:
        wishes.require_identity(link)
        require(link.address in named, "its rules name other sitemaps")


def _text_of(kept: Kept, told: str) -> str:
    """Of a robots.txt; what another record holds is not looked up."""
    if not 200 <= (kept.status or 0) < 300:
        return ""
    body = body_of("", kept, MOST_BYTES) if kept.kind == RESPONSE else None
    return told if body is None else body.content[:MOST_OF_A_FILE].decode("utf-8-sig", "replace")


def check_requisite(
    wishes: Wishes, task: Task, done: Done, brought: Brought, kept: Sequence[Kept]
) -> None:
    require(len(brought.records) == 2 and len(brought.answers) <= 1, "it has other records")
    of_kind(brought.records[0], Captured)
    news = of_kind(brought.records[1], HostNews)
    require(news.bytes <= wishes.max_bytes, "it is too large")
    require(news == HostNews(name=lane(task), bytes=news.bytes), "it says other things of its host")
    require(done.to == "finished" and done.reason is None, "it goes elsewhere")
    hops = hops_in(task.note) + 1
    further = [address_in(note or "") for group in done.found for note in group.notes or ()]
    require(len(further) <= 1 and (not further or hops <= MOST_HOPS), "it leads too far")
    found = requisites_found(further, wishes.drop, task.depth, hops)
    require([*done.found] == [*found], "it finds other things")
    if kept and hops <= MOST_HOPS:
        require_sent(kept[0], brought.answers[0].address, further[0] if further else None)
    require([*done.tally.values()] == [1], "it counts other things")
    require(_is_its_count(next(iter(done.tally)), brought.answers), "it counts other things")


def _is_its_count(name: str, answers: Sequence[Answered]) -> bool:
    kind = name.removeprefix(KEPT)
    if not name.startswith(KEPT) or not (kind == "unknown" or MIME.fullmatch(kind)):
        return False
    return not answers or kind == (answers[0].mime or "unknown")

"""What a node says it has downloaded, looked at before anything of it is kept.

Promise: its records are those that a download gives for this task and no others: of its page, its
host and its rules, with the counts that follow from them; its answers are records of this page
whose bytes have the digest that is told. All else is a ValueError.
Limit: that a host has answered so, nobody can tell but who asked it. A page that nobody may keep
has no answer to compare it with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..archive.answer import Answered
from ..archive.reader import Kept
from ..archive.record import RESPONSE, REVISIT
from ..archive.travelling import answered_of, record_of
from ..documents.address import host_of, identity
from ..engine.stage import Done, Task
from ..errors import ComeBack
from ..network.request import MAX_REDIRECTS
from ..pages.analyse import Body, tally_of
from ..pages.archived import NOT_PAGES
from ..pages.brought import Brought
from ..pages.download import BYTES, MOST_HOPS, SAME, STATUS, UNCHANGED
from ..pages.found import MARK
from ..pages.keeper import MIME, mime_in
from ..pages.lookup import ArchiveLookup
from ..pages.notes import is_requisite
from ..pages.page import Analysed, Failed, Fetched, HostNews, Link, Record, Unchanged
from ..pages.robots_txt import MOST_BYTES
from ..pages.travelling import record_told
from .pages_checked_others import check_requisite, check_robots
from .pages_wishes import (
    Wishes,
    body_of,
    lane,
    of_kind,
    require,
    require_not_ahead,
    require_sent,
)

MOST_ANSWERS = max(MOST_HOPS, MAX_REDIRECTS) + 1
LONGEST_S = 86_400.0


class Checked(NamedTuple):
    """`digest` is that of a page that came anew, `body` what is to be analysed of it."""

    brought: Brought | None
    digest: str | None = None
    body: Body | None = None
    links: tuple[Link, ...] | None = None


class Checks:
    def __init__(self, wishes: Wishes, archive: ArchiveLookup) -> None:
        self._wishes = wishes
        self._archive = archive

    def checked(self, task: Task, done: Done, said: Any) -> Checked:
        if said is None:
            return self._nothing(task, done)
        brought, kept = self._brought(task, done, said)
        if done.to == task.stage.waiting:
            check_robots(self._wishes, task, done, brought, kept)
            return Checked(brought)
        if is_requisite(task.note):
            check_requisite(self._wishes, task, done, brought, kept)
            return Checked(brought)
        return self._page(task, done, brought, kept)

    def _nothing(self, task: Task, done: Done) -> Checked:
        """What belongs to a page, and is known as one."""
        require(is_requisite(task.note) and done == Done("finished", [], None, {}), "it is empty")
        return Checked(None)

    # --- what was answered -------------------------------------------------------------------

    def _brought(self, task: Task, done: Done, said: Any) -> tuple[Brought, list[Kept]]:
        is_whole = isinstance(said, dict) and said.keys() == {"records", "answers"}
        require(is_whole, "it is no download")
        records, answers = said["records"], said["answers"]
        are_lists = isinstance(records, list) and isinstance(answers, list)
        require(are_lists and 0 < len(records) <= 3, "it has no records")
        require(len(answers) <= MOST_ANSWERS, "it has too many answers")
        is_robots = done.to == task.stage.waiting
        most = max(MOST_BYTES, self._wishes.max_bytes) if is_robots else self._wishes.max_bytes
        found = [answered_of(each, host_of(task.uri), most) for each in answers]
        kept = [self._kept(each, most) for each in found]
        for each in found:
            self._require_asked(task, each, is_robots)
        return Brought([record_told(each) for each in records], found), kept

    def _kept(self, answered: Answered, most: int) -> Kept:
        require(answered.mime is None or MIME.fullmatch(answered.mime), "its type is none")
        require_not_ahead(answered.time)
        kept = record_of(answered, most)
        require(kept.kind == answered.packed.kind, "its record is of another kind")
        kind = kept.header("Content-Type") or ""
        is_its_own = not kind.isascii() or mime_in(kind) == answered.mime
        require(is_its_own, "its type is not that of its record")
        if kept.kind == REVISIT and self._archive.digest_known(answered.packed.digest) is None:
            raise ComeBack("what it refers to is not in the archive any more", 0.0)
        return kept

    def _require_asked(self, task: Task, answered: Answered, is_robots: bool) -> None:
        """A robots.txt may be anywhere, by redirects; a page is where it is."""
        page = identity(answered.address, self._wishes.drop)
        name = f"{page}{MARK}" if is_requisite(task.note) else page
        require(is_robots or name == task.uri, "it is the answer of another page")

    # --- a page ------------------------------------------------------------------------------

    def _page(self, task: Task, done: Done, brought: Brought, kept: Sequence[Kept]) -> Checked:
        first, *more = brought.records
        analysed = more[0] if len(more) == 2 and isinstance(more[0], Analysed) else None
        require(len(more) == 1 or analysed is not None, "it has other records")
        for each in (first, analysed):
            require(each is None or getattr(each, "url", "") == task.uri, "it is another page")
        status = self._status(task, done, first, analysed, brought.answers)
        size = self._news(task, done, of_kind(more[-1], HostNews))
        tally = {f"{STATUS}{status}": 1, BYTES: size, **_revisits(status, brought.answers)}
        tally |= {} if analysed is None else tally_of(analysed)
        reason = first.remark if isinstance(first, Failed) else None
        require(done == Done(done.to, [], None, tally, reason), "it counts or finds other things")
        return self._carried(done, first, brought, kept)

    def _status(
        self,
        task: Task,
        done: Done,
        first: Record,
        analysed: Analysed | None,
        answers: Sequence[Answered],
    ) -> int | None:
        """Of the answer that is told of; it is the last one, if that was kept."""
        if isinstance(first, Fetched):
            self._fetched(task, done, first, analysed, answers)
            return first.status
        require(analysed is None and bool(answers), "there is no answer")
        if isinstance(first, Failed):
            self._failed(done, first)
            require(answers[-1].status == first.status, "it has another status")
            return first.status
        is_unchanged = isinstance(first, Unchanged) and self._wishes.refetches
        require(is_unchanged and done.to == "to_control", "it is no page")
        require(answers[-1].status == 304, "it has another status")
        return 304

    def _fetched(
        self,
        task: Task,
        done: Done,
        page: Fetched,
        analysed: Analysed | None,
        answers: Sequence[Answered],
    ) -> None:
        self._require_moments(page.fetched_at, page.stale_before)
        require(identity(page.address, self._wishes.drop) == task.uri, "it is another page")
        digest = answers[-1].packed.digest if answers else None
        require(page.digest == digest, "its digest is not that of its answer")
        size, status = page.bytes, page.status
        is_good = size is not None and status is not None and status < 400
        require(is_good and (size or 0) <= self._wishes.max_bytes, "it is no page")
        is_kept = bool(answers) and answers[-1].status == status
        if is_kept:
            require(page.content_type == answers[-1].mime, "its type is not that of its answer")
        if page.final:
            self._final(page, is_kept and analysed is None)
            require(done.to == "to_control", "it goes elsewhere")
            return
        require(not page.links and page.redirect is None, "it has links already")
        require(done.to == ("to_control" if analysed else "to_analyse"), "it goes elsewhere")
        require(is_kept or analysed is not None, "it is nowhere to be read")
        require(not is_kept or status not in NOT_PAGES, "it is no page")
        for link in analysed.links if analysed else ():
            self._wishes.require_identity(link)

    def _final(self, page: Fetched, is_kept: bool) -> None:
        """A redirect, or one that leads nowhere."""
        require(is_kept and page.status in NOT_PAGES, "it is no redirect")
        if page.redirect is None:
            require(not page.links, "it leads elsewhere")
            return
        url = identity(page.redirect, self._wishes.drop)
        require([*page.links] == [Link(url, page.redirect, "redirect")], "it leads elsewhere")

    def _failed(self, done: Done, page: Failed) -> None:
        require(done.to == "failed" and (page.status or 0) >= 400, "it has not failed")
        require(page.fetched_at is not None, "nobody knows when")
        self._require_moments(page.fetched_at or "", page.stale_before)

    def _news(self, task: Task, done: Done, news: HostNews) -> int:
        """How many bytes came."""
        is_failure = done.to == "failed"
        own = HostNews(
            name=lane(task),
            scheme=news.scheme,
            pages=int(not is_failure),
            failures=int(is_failure),
            bytes=news.bytes,
            seconds=news.seconds,
        )
        is_sane = news.scheme in ("http", "https") and news.seconds <= LONGEST_S
        require(news == own and is_sane, "it says other things of its host")
        require(news.bytes <= self._wishes.max_bytes, "it is too large")
        return news.bytes

    def _carried(
        self, done: Done, first: Record, brought: Brought, kept: Sequence[Kept]
    ) -> Checked:
        """What the next stage would find in the archive is at hand."""
        if not isinstance(first, Fetched):
            return Checked(brought)
        if first.final:
            require_sent(kept[-1], brought.answers[-1].address, first.redirect)
            return Checked(brought, links=tuple(first.links) or None)
        is_kept = bool(kept) and kept[-1].status not in NOT_PAGES
        digest = brought.answers[-1].packed.digest if is_kept else None
        body = None
        if done.to == "to_analyse" and kept[-1].kind == RESPONSE:
            body = body_of(brought.answers[-1].address, kept[-1], self._wishes.max_bytes)
        return Checked(brought, digest, body)

    def _require_moments(self, fetched_at: str, stale_before: str | None) -> None:
        require_not_ahead(fetched_at)
        is_again = self._wishes.refetches and stale_before == fetched_at
        require(stale_before is None or is_again, "it makes others stale")


def _revisits(status: int | None, answers: Sequence[Answered]) -> Mapping[str, int]:
    if not answers or answers[-1].packed.kind != REVISIT:
        return {}
    return {UNCHANGED if status == 304 else SAME: 1}

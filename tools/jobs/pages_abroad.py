"""What of the job `pages` is done on nodes, as its coordinator sees it: the downloads.

Promise: what a node brings is a stranger's word: `pages_checked` looks at all of it. What a
robots.txt says is known to whoever asks before the next task of its host is handed out. Headers and
cookies of the user's own never travel.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..base.config import table_of
from ..cluster.abroad import Abroad
from ..cluster.hosts import HostReports
from ..cluster.travel import TravelCargo
from ..documents.address import DropParameters
from ..documents.traps import HostTraps
from ..engine.stage import Done, Task
from ..errors import UsageError
from ..network.hosts import Hosts
from ..network.limits import Limits
from ..pages.brought import Brought
from ..pages.page import HostNews
from ..pages.table import PageTable
from ..settings import Settings
from .pages_checked import Checked, Checks
from .pages_crawl import SAMPLE, Crawl
from .pages_questions import Questions
from .pages_wishes import Wishes

if TYPE_CHECKING:
    from .pages import PagesJob

STAGE = "download"
TRAVEL = (
    *("connect_timeout_s", "timeout_s", "attempts", "max_bytes", "analyse_max_bytes", "types"),
    *("download_workers", "robots", "sitemaps", "drop_parameters", "refetch_after", "words"),
)


def abroad_of(
    job: PagesJob,
    settings: Settings,
    crawl: Crawl,
    table: PageTable,
    drop: DropParameters,
    hosts: Hosts,
    traps: HostTraps,
) -> Abroad:
    require_no_secrets(settings)
    if crawl.world == SAMPLE:
        raise UsageError("the built-in site is on this computer alone: start it without --cluster")
    questions = Questions(table)
    checks, limits = Checks(Wishes.of(settings, drop), table), job.client.limits
    return Abroad(
        job.harvest_id,
        job.description.name,
        _setup_of(settings, crawl),
        {STAGE: DownloadCargo(checks, HostReports(hosts), questions, traps)},
        limits if isinstance(limits, Limits) else None,
        job.client.traffic,
        questions=questions.all(),
        advice=_advice(settings),
    )


def require_no_secrets(settings: Settings) -> None:
    pages = settings.pages
    for name, file in (("headers_file", pages.headers_file), ("cookies", pages.cookies)):
        if file is not None:
            raise UsageError(
                f"pages.{name} is a secret of this computer, which no node gets: start it without "
                "--cluster, or without that"
            )


def _setup_of(settings: Settings, crawl: Crawl) -> dict[str, Any]:
    """Proxies are each node's own."""
    table = table_of(settings)
    return {
        "settings": {
            "http": table["http"],
            "pages": {name: table["pages"][name] for name in TRAVEL if name in table["pages"]},
        },
        "trusted": sorted({*crawl.hosts}),
        "plain": sorted(crawl.plain),
        "extracts": bool(settings.pages.extract),
        "per_node": sorted(settings.cluster.per_node),
    }


def _advice(settings: Settings) -> list[str]:
    """Where more nodes cannot make anything faster."""
    delay_s = settings.pages.delay_s
    if not delay_s:
        return []
    return [
        f"download: each host is asked every {delay_s:g} s by all nodes together, one request at a "
        "time, so nodes make it faster only where a crawl has many hosts"
    ]


class DownloadCargo(TravelCargo):
    """Records and raw answers of one page."""

    def __init__(
        self, checks: Checks, reports: HostReports, questions: Questions, traps: HostTraps
    ) -> None:
        super().__init__(reports)
        self._checks, self._questions, self._traps = checks, questions, traps

    def records(self, task: Task, done: Done, said: Any) -> object:
        found = self._checks.checked(task, done, said)
        brought = found.brought
        if brought is None:
            return None
        if found.digest is not None:
            self._traps.fetched(brought.answers[-1].domain, found.digest)
        return replace(done, records=self._known(brought), luggage=_luggage(found))

    def _known(self, brought: Brought) -> Brought:
        """Whoever is handed a page of this host next may ask for its rules. They are as old as they
        are here, whatever a node's clock says."""
        records, now = list(brought.records), time.time()
        for at, each in enumerate(records):
            if isinstance(each, HostNews) and each.robots is not None:
                self._questions.learn(each.name, each.robots, now)
                records[at] = replace(each, robots_at=now)
        return replace(brought, records=records)


def _luggage(found: Checked) -> object:
    """As a download that was made here would carry on."""
    return found.body if found.body is not None else found.links

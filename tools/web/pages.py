"""The pages there are: each is a template over data that programs get as JSON.

A page of its own for another room's data is one more line here and one more template.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..base.credentials import hidden
from ..errors import HarvestError
from ..journal.effective import effective_in
from ..reports.view import STRANGER
from . import crawl, failed, graph_data, log_file, overview, refused, runs, work
from . import tables as filled
from .as_csv import Sheet
from .explorer import Explorer
from .site import Site

Query = Mapping[str, str]
Data = Callable[[Site, Query], dict[str, Any]]
LOG_LINES = 200
_ID = re.compile(r"[0-9]{1,18}")


class Page(NamedTuple):
    """`name` is its address, that of its JSON under /api/ and its template; a live one is sent
    again as it changes; `table` is what it has as CSV. `jobs` are those that have it: none named
    is all."""

    name: str
    title: str
    data: Data
    is_live: bool = True
    jobs: tuple[str, ...] = ()
    table: Callable[[Site, Query], Sheet] | None = None

    @property
    def address(self) -> str:
        return "/" if self.name == "overview" else f"/{self.name}"


def log_lines(site: Site, query: Query) -> dict[str, Any]:
    level = query.get("level", "info")
    level = level if level in log_file.LEVELS else "info"
    found = log_file.last_lines(site.state / "log", level, LOG_LINES)
    return {
        "level": level,
        "levels": log_file.LEVELS,
        "lines": found.lines[::-1],
        "searched": found.searched,
    }


def settings(site: Site, query: Query) -> dict[str, Any]:
    try:
        job, facts = site.job, site.view().seen.facts
    except HarvestError:  # a state that cannot be read: settings are of its user, not of it
        job, facts = STRANGER, {}
    return {
        "values": effective_in(facts) or site.sources.values,
        "facts": job.typed_facts(facts),
        "command": hidden(site.sources.command_of(facts)) if facts else "",
    }


def failures(site: Site, query: Query) -> dict[str, Any]:
    """All by reason; or those of one, if it is named."""
    if text := query.get("reason", ""):
        after = query.get("after", "")
        return failed.failed_for(site, text, int(after) if _ID.fullmatch(after) else 0)
    return failed.failed(site)


def of_job(site: Site, query: Query) -> dict[str, Any]:
    """The job's own views, with those that its stores have to be asked for."""
    view = site.view()
    own = site.details()
    panels = (*view.panels, *(own.value if own else ()))
    return {
        "panels": [each for each in panels if each.rows and each.kind != "curve"],
        "is_counted": own is not None,
        "as_of": own.as_of(view.now) if own else None,
    }


def crawled(site: Site, query: Query) -> dict[str, Any]:
    return crawl.page_list(site, query.get("q", ""), query.get("after", ""))


def filled_tables(site: Site, query: Query) -> dict[str, Any]:
    return filled.tables(site, query.get("table", ""), query.get("after", ""))


def rows_of_table(site: Site, query: Query) -> Sheet:
    found = filled_tables(site, query)
    return Sheet(found["table"], found["columns"], found["rows"])


def of_graph(data: Callable[[Explorer, Query], dict[str, Any]]) -> Data:
    return lambda site, query: data(site.explorer, query)


PAGES = (
    Page("overview", "Overview", lambda site, query: overview.overview(site)),
    Page("work", "Work", lambda site, query: work.work(site)),
    Page("failed", "Failed", failures),
    Page("refused", "Refused", lambda site, query: refused.refused(site), jobs=("conceptnet",)),
    Page("search", "Search", of_graph(graph_data.searched), is_live=False, jobs=("conceptnet",)),
    Page("media", "Gallery", of_graph(graph_data.files), is_live=False, jobs=("conceptnet",)),
    Page("path", "Paths", of_graph(graph_data.ways), is_live=False, jobs=("conceptnet",)),
    Page("stats", "Figures", of_graph(graph_data.figures), jobs=("conceptnet",)),
    Page("queries", "Queries", of_graph(graph_data.to_copy), is_live=False, jobs=("conceptnet",)),
    Page("details", "Details", of_job, jobs=("pages", "layers", "structure")),
    Page("pages", "Pages", crawled, is_live=False, jobs=("pages",)),
    Page("tables", "Tables", filled_tables, False, ("layers", "structure"), rows_of_table),
    Page("runs", "Runs", lambda site, query: runs.runs(site)),
    Page("log", "Log", log_lines),
    Page("settings", "Settings", settings, is_live=False),
)


def shown_for(job: str) -> list[Page]:
    return [each for each in PAGES if not each.jobs or job in each.jobs]

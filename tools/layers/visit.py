"""Worker: one request of a task -> rows of its tables and what to ask next.

Promise: what one page lacks costs that page's row or request, never the rest; a task's own mistake
is told with its file and line.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..base.text import did_you_mean
from ..engine.stage import Done, Found
from ..engine.stage import Task as Leased
from ..errors import GiveUp, HarvestError, RetryLater
from ..network.response import Response
from ..tables.declared import Table
from ..tables.rows import Brought, Row
from .asker import ACCEPTS, Asker, lane_in
from .kept import Answer, answer_of
from .page import Page
from .request import Layer, Request, identity_of, note_of, request_of
from .task import LayerOptions, Skipped, Task
from .told import told

STAGE = "visit"
GONE = (404, 410)
ROWS, SKIPPED, DROPPED, STATUS = "rows ", "skipped ", "dropped ", "status "
"""How the names of counts begin."""
NO_ADDRESS = "request: no address of the web"
SCRIPTS = "pages with nothing but scripts"
LONGEST_REASON = 80


@dataclass(frozen=True, slots=True)
class Visited:
    """What a page gave, for the store."""

    brought: Brought
    answer: Answer | None = None


@dataclass(slots=True)
class Given:
    """What a page gave, sorted."""

    rows: list[Row] = field(default_factory=list)
    next: list[Request] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


class Visit:
    def __init__(self, task: Task, tables: Mapping[str, Table], asker: Asker) -> None:
        self._task = task
        self._tables = tables
        self._asker = asker
        self.activity = 0

    def __call__(self, leased: Leased) -> Done:
        request, lane, begun = request_of(leased.uri, leased.note), lane_in(leased.uri), time.time()
        self._require_layer(request.layer)
        self._asker.read_rules(lane, request.address)
        response = self.answer(lane, request)
        given = self.read(request, response)
        brought = Brought(leased.uri, given.rows, [*self._tables], self.activity, begun)
        keeps = self._task.options(request.layer).keep
        answer = answer_of(leased.uri, response, begun) if keeps else None
        tally = Counter({f"{STATUS}{response.status}": 1})
        tally.update({f"{SKIPPED}{what}": number for what, number in given.skipped.items()})
        tally.update(f"{ROWS}{row.table}" for row in given.rows)
        found = self._found(given.next, tally)
        return Done("finished", found, Visited(brought, answer), tally)

    def answer(self, lane: str, request: Request) -> Response:
        """One that the layer takes for a page; what else there is says what becomes of it."""
        options = self._task.options(request.layer)
        accept = options.accept or ACCEPTS[options.format]
        response = self._asker.ask(lane, request, accept)
        status = response.status
        if status in options.status:
            return response
        raise (GiveUp if status in GONE else RetryLater)(f"HTTP {status}")

    def read(self, request: Request, response: Response) -> Given:
        """What the task makes of it."""
        options = self._task.options(request.layer)
        page = _page(response, options)
        given = self._sorted(page, self._worked(request, page))
        if not (given.rows or given.next) and options.format == "html":
            given.skipped[SCRIPTS] += "<noscript" in page.text.lower()
        return given

    def _worked(self, request: Request, page: Page) -> list[Request | Row | Skipped]:
        try:
            return list(self._task.work(request, page) or ())
        except HarvestError:
            raise
        except (Exception, SystemExit) as error:  # else its thread would end, and nobody know
            raise GiveUp(told(error, self._task.file)) from error

    def _sorted(self, page: Page, items: Iterable[Request | Row | Skipped]) -> Given:
        given = Given()
        for item in items:
            if isinstance(item, Request):
                self._add_request(page, item, given)
            elif isinstance(item, Row):
                self._require_columns(item)
                given.rows.append(item)
            elif isinstance(item, Skipped):
                given.skipped[f"{item.table}: {item.reason}"[:LONGEST_REASON]] += 1
            else:
                raise GiveUp(f"the work gave {type(item).__name__}, which is no request and no row")
        return given

    def _add_request(self, page: Page, request: Request, given: Given) -> None:
        whole = request.on(page.base, page.charset)
        if whole is None:
            given.skipped[NO_ADDRESS] += 1
            return
        given.next.append(whole)

    # --- what is asked next ------------------------------------------------------------------

    def _found(self, requests: Iterable[Request], tally: Counter[str]) -> list[Found]:
        """By depth, each once."""
        wanted = []
        for request in requests:
            if request.layer in self._task.left_out:
                tally[f"{DROPPED}{request.layer}"] += 1
            else:
                self._require_layer(request.layer)
                wanted.append(request)
        return found_of(self._task, wanted)

    def _require_layer(self, layer: Layer) -> None:
        if layer not in self._task.layers:
            near = did_you_mean(str(layer), [str(each) for each in self._task.layers])
            raise GiveUp(f"the task has no layer {layer!r}{near}")

    def _require_columns(self, row: Row) -> None:
        table = self._tables.get(row.table)
        if table is None:
            raise GiveUp(f"no table {row.table!r}{did_you_mean(row.table, self._tables)}")
        for name in row.values:
            if name not in table.columns:
                near = did_you_mean(name, table.columns)
                raise GiveUp(f"the table {row.table} has no column {name!r}{near}")


def found_of(task: Task, requests: Iterable[Request]) -> list[Found]:
    """As the engine takes them; what is no address is left out."""
    by_depth: dict[int, dict[str, str | None]] = {}
    for request in requests:
        with_referer = task.options(request.layer).with_referer
        try:
            uri, note = identity_of(request, task.forget, with_referer), note_of(request)
        except GiveUp:
            continue
        except (TypeError, ValueError, RecursionError) as error:  # of a class: no JSON
            raise GiveUp(f"the request of {request.url[:200]} cannot be kept: {error}") from error
        by_depth.setdefault(task.layers[request.layer], {}).setdefault(uri, note or None)
    return [
        Found(STAGE, [*notes], depth=deep, notes=[*notes.values()])
        for deep, notes in by_depth.items()
    ]


def _page(response: Response, options: LayerOptions) -> Page:
    page = Page.of(response.url, response.status, response.headers, response.body, options.format)
    if options.format == "json":
        try:
            page.json  # noqa: B018  # one that is none is worth another try
        except GiveUp as error:
            raise RetryLater(str(error)) from error
    return page

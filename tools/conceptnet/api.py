"""Any ConceptNet server as a source.

Promise: `page` gives every relation of a concept that the filter could keep, none twice, in one
request for up to 1000 of them, or an error says what to do next. What makes that hard: a missing
concept answers 200; following `nextPage` loses edges, because the server orders by weight alone; no
query gives more than 10,000 rows. A page that is not the one that was asked for is no answer.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, unquote_plus, urlencode, urlsplit

from ..add import Relation
from ..errors import (
    GiveUp,
    HarvestError,
    RetryLater,
    ServerTrouble,
    Unavailable,
    UnknownConcept,
    Unreachable,
)
from ..network.client import Client
from ..network.parse import parsed
from .edge import EdgeFaults, relation_of
from .rules import Filter

logger = logging.getLogger(__name__)

PAGE_SIZES = (1000, 977, 941, 907, 883)  # another size cuts the server's unstable order elsewhere
MOST_ROWS = 10_000
MOST_PAGES = 200
MOST_STALE_PAGES = 3  # a short page may repeat what others held; a row of them is a loop
JSON = "application/json"

Edges = dict[str, Relation]


class Listing(NamedTuple):
    """What one page holds."""

    edges: Edges
    rows: int  # those that cannot be read, and those that stand there twice, included
    sound: int  # rows that can be read
    has_more: bool


class ApiSource:
    def __init__(self, base: str, client: Client, wanted: Filter) -> None:
        self.base = base.rstrip("/")
        self.faults = EdgeFaults()
        self._client = client
        self._wanted = wanted
        self._last_good = "/"

    def check(self) -> None:
        """Can the source be reached at all?"""
        try:
            self._client.get(f"{self.base}/", JSON, tries=2)
        except GiveUp:
            pass  # it answers, if only to say no
        except HarvestError as error:
            raise Unreachable(
                f"the source {self.base} cannot be reached ({error}); give another with --source, "
                f"or serve an assertions file yourself with `python main.py mirror`"
            ) from error

    def page(self, concept: str) -> list[Relation]:
        """Every relation of the concept and its senses, as far as the filter can want it."""
        try:
            edges = self._edges_of(concept)
        except ServerTrouble as error:
            self._require_answers_to_others(error)
            edges = self._edges_of(concept)  # trouble again is the concept's own fault
        self._last_good = f"{_quoted(concept)}?limit=1"
        return list(edges.values())

    def _edges_of(self, concept: str) -> Edges:
        first = self._listed(f"{_quoted(concept)}?limit={PAGE_SIZES[0]}", concept)
        edges = first.edges
        if first.has_more:
            for relation in sorted(self._wanted.relations):
                for side in ("start", "end"):
                    edges |= self._edges_on_one_side(concept, f"/r/{relation}", side)
        if first.rows and not first.sound and not edges:
            raise GiveUp(f"nothing on its page can be read (edges: {first.rows:,})")
        return edges

    def _edges_on_one_side(self, concept: str, rel: str, side: str) -> Edges:
        query = {side: concept, "rel": rel}
        first = self._found(query, PAGE_SIZES[0], 0)
        if not first.has_more:
            return first.edges
        other = "end" if side == "start" else "start"
        edges: Edges = {}
        for language in sorted(self._wanted.languages):
            edges |= self._all_rows(query | {other: f"/c/{language}"})
        return edges

    def _all_rows(self, query: Mapping[str, str]) -> Edges:
        """Read the whole result until as many distinct edges are found as it has rows."""
        found: Edges = {}
        for size in PAGE_SIZES:
            read = self._read_through(query, size)
            found |= read.edges
            if read.rows >= MOST_ROWS:
                logger.warning(
                    "the source keeps back what is beyond %d rows of %s", read.rows, query
                )
            if len(found) >= read.sound:
                return found
        raise RetryLater(f"reading {query} page by page loses relations")

    def _read_through(self, query: Mapping[str, str], size: int) -> Listing:
        rows = sound = stale = 0
        edges: Edges = {}
        for _ in range(MOST_PAGES):
            page = self._found(query, size, rows)
            rows, sound = rows + page.rows, sound + page.sound
            known = len(edges)
            edges |= page.edges
            if not page.rows or not page.has_more:
                return Listing(edges, rows, sound, False)
            stale = stale + 1 if len(edges) == known else 0
            if stale == MOST_STALE_PAGES:
                break
        raise GiveUp(f"the source gives the same rows of {dict(query)} again and again")

    def _found(self, query: Mapping[str, str], limit: int, offset: int) -> Listing:
        asked = "&".join(f"{name}={value}" for name, value in query.items())
        return self._listed(_query(query, limit, offset), f"/query?{asked}")

    def _listed(self, path: str, asked: str) -> Listing:
        """What a page holds; only relations of it are kept, which are small."""
        page = self._ask(path, asked)
        sound = []
        for number, edge in enumerate(page["edges"], 1):
            try:
                sound.append(relation_of(edge))
            except ValueError as error:
                self.faults.note(edge, f"edge {number} of {path}", str(error))
        edges = {each.uri: each for each in sound}
        return Listing(edges, len(page["edges"]), len(sound), _has_more(page))

    def _ask(self, path: str, asked: str) -> dict[str, Any]:
        """One page, or an error; a 200 may still hold one."""
        answer = self._client.get(self.base + path, JSON)
        try:
            page = parsed(answer.body)
        except ValueError as error:
            kind = answer.headers.get("Content-Type", "something unnamed")
            raise ServerTrouble(f"{self._host} sent {kind} that is not JSON") from error
        if not isinstance(page, dict):
            raise ServerTrouble(f"{self._host} sent JSON that is not a page")
        problem = page.get("error")
        if not _is_the_same(page.get("@id"), asked) and not (problem and "@id" not in page):
            shown = str(page.get("@id"))[:200]
            raise ServerTrouble(f"{self._host} sent the page of {shown!r} for {asked[:200]!r}")
        if problem:
            self._raise(problem, path)
        if not isinstance(page.get("edges"), list):
            raise ServerTrouble(f"{self._host} sent a page without edges")
        return page

    def _raise(self, problem: Any, path: str) -> None:
        status = problem.get("status") if isinstance(problem, dict) else None
        if status == 404:
            raise UnknownConcept
        raise ServerTrouble(f"{self._host} reports an error (status {status}) for {path}")

    @property
    def _host(self) -> str:
        return urlsplit(self.base).hostname or self.base

    def _require_answers_to_others(self, error: ServerTrouble) -> None:
        """The source is down if it cannot answer what it could answer before either."""
        try:
            self._client.get(self.base + self._last_good, JSON, tries=1)
        except (ServerTrouble, Unavailable):
            raise Unavailable(str(error)) from error
        except GiveUp:
            pass  # an answer, if not a nice one


def _quoted(concept: str) -> str:
    return quote(concept, safe="/:,'[]")


def _query(query: Mapping[str, str], limit: int, offset: int) -> str:
    return "/query?" + urlencode({**query, "limit": limit, "offset": offset}, safe="/:,'[]")


def _has_more(page: Mapping[str, Any]) -> bool:
    view = page.get("view")
    return isinstance(view, dict) and "nextPage" in view


def _is_the_same(shown: object, asked: str) -> bool:
    """Does a page bear the name of what was asked for? The original writes a query's parameters as
    they are; another server may encode them, or put them in another order.

    >>> _is_the_same("/query?rel=/r/IsA&start=/c/en/r&b", "/query?start=/c/en/r&b&rel=/r/IsA")
    True
    >>> _is_the_same("/c/en/caf%C3%A9", "/c/en/café"), _is_the_same("/c/en/cat", "/c/en/dog")
    (True, False)
    """
    if not isinstance(shown, str) or shown == asked:
        return shown == asked
    return any(
        _parts(each) == _parts(asked) for each in (shown, unquote(shown), unquote_plus(shown))
    )


def _parts(name: str) -> list[str]:
    parts = re.split("[?&]", name)
    return sorted(each for each in parts if not each.startswith(("limit=", "offset=")))

"""Any ConceptNet server as a source.

Promise: `page` gives every relation of a concept that the filter could keep, none twice, in one
request for up to 1000 of them, or an error says what to do next. What makes that hard: a missing
concept answers 200; following `nextPage` loses edges, because the server orders by weight alone; no
query gives more than 10,000 rows.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import orjson

from tools.add import Relation
from tools.errors import (
    GiveUp,
    HarvestError,
    RetryLater,
    ServerTrouble,
    Unavailable,
    UnknownConcept,
    Unreachable,
)
from tools.http import Client
from tools.rules import Filter, relation_name

logger = logging.getLogger(__name__)

PAGE_SIZES = (1000, 977, 941, 907, 883)  # another size cuts the server's unstable order elsewhere
MOST_ROWS = 10_000
MOST_PAGES = 200
MOST_STALE_PAGES = 3  # a short page may repeat what others held; a row of them is a loop
JSON = "application/json"

Edge = Mapping[str, Any]


class ApiSource:
    def __init__(self, base: str, client: Client, wanted: Filter) -> None:
        self.base = base.rstrip("/")
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
        return [_relation(edge) for edge in edges.values()]

    def _edges_of(self, concept: str) -> dict[str, Edge]:
        first = self._ask(f"{_quoted(concept)}?limit={PAGE_SIZES[0]}")
        edges = _by_id(first)
        if _has_more(first):
            for relation in sorted(self._wanted.relations):
                for side in ("start", "end"):
                    edges |= self._edges_on_one_side(concept, f"/r/{relation}", side)
        return edges

    def _edges_on_one_side(self, concept: str, rel: str, side: str) -> dict[str, Edge]:
        query = {side: concept, "rel": rel}
        first = self._ask(_query(query, PAGE_SIZES[0], 0))
        if not _has_more(first):
            return _by_id(first)
        other = "end" if side == "start" else "start"
        edges: dict[str, Edge] = {}
        for language in sorted(self._wanted.languages):
            edges |= self._all_rows(query | {other: f"/c/{language}"})
        return edges

    def _all_rows(self, query: Mapping[str, str]) -> dict[str, Edge]:
        """Read the whole result until as many distinct edges are found as it has rows."""
        found: dict[str, Edge] = {}
        for size in PAGE_SIZES:
            rows, edges = self._read_through(query, size)
            found |= edges
            if rows >= MOST_ROWS:
                logger.warning("the source keeps back what is beyond %d rows of %s", rows, query)
            if len(found) >= rows:
                return found
        raise RetryLater(f"reading {query} page by page loses relations")

    def _read_through(self, query: Mapping[str, str], size: int) -> tuple[int, dict[str, Edge]]:
        rows = stale = 0
        edges: dict[str, Edge] = {}
        for _ in range(MOST_PAGES):
            page = self._ask(_query(query, size, rows))
            rows += len(page["edges"])
            known = len(edges)
            edges |= _by_id(page)
            if not page["edges"] or not _has_more(page):
                return rows, edges
            stale = stale + 1 if len(edges) == known else 0
            if stale == MOST_STALE_PAGES:
                break
        raise GiveUp(f"the source gives the same rows of {dict(query)} again and again")

    def _ask(self, path: str) -> dict[str, Any]:
        """One page, or an error; a 200 may still hold one."""
        answer = self._client.get(self.base + path, JSON)
        try:
            page = orjson.loads(answer.body)
        except orjson.JSONDecodeError as error:
            if "memory" in str(error):
                raise MemoryError from error
            kind = answer.headers.get("Content-Type", "something unnamed")
            raise ServerTrouble(f"{self._host} sent {kind} that is not JSON") from error
        if not isinstance(page, dict):
            raise ServerTrouble(f"{self._host} sent JSON that is not a page")
        if problem := page.get("error"):
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


def _by_id(page: Mapping[str, Any]) -> dict[str, Edge]:
    try:
        return {edge["@id"]: edge for edge in page["edges"]}
    except (KeyError, TypeError) as error:
        raise GiveUp("the page holds an edge without an @id") from error


def _relation(edge: Edge) -> Relation:
    try:
        rel, start, end = (edge[part]["@id"] for part in ("rel", "start", "end"))
        weight = float(edge["weight"])
    except (KeyError, TypeError, ValueError) as error:
        raise GiveUp(f"malformed edge on the page: {str(edge.get('@id'))[:200]}") from error
    texts = (_text(edge.get(key)) for key in ("surfaceText", "license", "dataset"))
    return Relation(edge["@id"], relation_name(rel), start, end, weight, *texts)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None

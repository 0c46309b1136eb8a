"""What programs may ask and change, as OpenAPI describes it: `/api/openapi.json`.

Written by hand; a test holds it to the addresses there are and to the manual.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..base.version import VERSION


class Address(NamedTuple):
    """`fields` are those of the query, or of the form of a change: each with what it means."""

    path: str
    what: str
    fields: dict[str, str] = {}  # noqa: RUF012  # nobody changes it
    answer: str = "application/json"
    is_change: bool = False


AFTER = "the key of the page before"
CONCEPT = "a URI, like /c/en/dog"
URI = "the rest of the URI"
WHOM = {"stage": "none is all", "number": "of a worker of the stage"}

ASKED = (
    Address("/api/status", "Whether the harvest runs, in a word and a sentence"),
    Address("/api/history", "All that `history.py --json` says"),
    Address("/api/overview", "Stages, rates, pools, hosts, the job's figures, files, disks"),
    Address("/api/curves", "How fast it went: times, and as many values of each series"),
    Address("/api/work", "What each worker does now, processes, nodes of a cluster"),
    Address(
        "/api/failed",
        "What failed, by reason; or those that failed for one",
        {"reason": "a group, or a part of a reason", "after": AFTER},
    ),
    Address("/api/refused", "Files that were offered and not taken, by reason"),
    Address(
        "/api/search",
        "Concepts by the beginning of their names",
        {"q": "what was typed", "language": "codes, with spaces between them"},
    ),
    Address("/api/c/{uri}", "A concept", {"uri": URI, "format": "csv: all its relations"}),
    Address("/api/a/{uri}", "A relation", {"uri": URI}),
    Address("/api/r/{uri}", "Relations of a type", {"uri": "the type", "after": AFTER}),
    Address(
        "/api/graph",
        "The concepts around one, as nodes and edges",
        {
            "concept": CONCEPT,
            "types": "of relations, with spaces between them; none is all",
            "weight": "the least",
            "nodes": "how many new ones at most",
            "known": "URIs that are drawn already, with spaces between them",
            "depth": "1, or 2: some neighbours of the neighbours as well",
        },
    ),
    Address(
        "/api/more",
        "The next relations of a group of a concept",
        {
            "concept": CONCEPT,
            "type": "of the group",
            "way": "out or in",
            "weight": "of the last one",
            "after": "the URI of the last one",
        },
    ),
    Address(
        "/api/path",
        "Shortest paths between two concepts",
        {"from": "a name or a URI", "to": "a name or a URI"},
    ),
    Address(
        "/api/media",
        "Files, sixty of them, the latest first, and how many each filter would leave",
        {
            "kind": "image, audio or visual",
            "provider": "its name",
            "licence": "its name",
            "language": "its code",
            "type": "of the relation; - for concepts",
            "size": "small, medium or large",
            "remark": "yes or -",
            "judged": "good, bad or none",
            "after": AFTER,
        },
    ),
    Address("/api/stats", "The graph in figures, and what others publish"),
    Address(
        "/api/queries",
        "SQL, Cypher and SPARQL to copy",
        {"concept": "a name or a URI", "other": "another one, for what is between two"},
    ),
    Address("/api/details", "What the stores of the other jobs say"),
    Address(
        "/api/pages",
        "Pages of a crawl",
        {"q": "how their url begins", "after": "the url of the last one"},
    ),
    Address("/api/pages/page", "One page of a crawl", {"url": "of the page"}),
    Address(
        "/api/tables",
        "The tables of a harvest, with the rows of one",
        {"table": "its name; none is the first", "after": AFTER, "format": "csv: these rows"},
    ),
    Address("/api/runs", "Runs, how they were begun, snapshots, each with what it changed"),
    Address("/api/log", "Lines of the log, the last first", {"level": "the least"}),
    Address("/api/settings", "Settings, each with its value and where that comes from"),
    Address("/file/{path}", "A media file", {"path": "as the graph knows it"}, "*/*"),
    Address("/thumb/{path}", "A small picture of it", {"path": "as the graph knows it"}, "image/*"),
    Address(
        "/live/{page}", "A page's live part as events", {"page": "its name"}, "text/event-stream"
    ),
    Address("/metrics", "For Prometheus", {}, "text/plain"),
)
CHANGES = (
    Address(
        "/act/pause",
        "Pause all, a stage or a worker",
        WHOM,
        is_change=True,
    ),
    Address(
        "/act/resume",
        "Resume all, a stage or a worker",
        WHOM,
        is_change=True,
    ),
    Address("/act/stop", "Stop the harvest", is_change=True),
    Address(
        "/act/judge",
        "Judge a file",
        {"sha256": "of the file", "verdict": "good, bad or none"},
        is_change=True,
    ),
    Address("/act/count", "Count the figures again", is_change=True),
    Address(
        "/act/retry",
        "Put what failed back to work",
        {"reason": "one of the groups of /api/failed; none is all"},
        is_change=True,
    ),
)


def described() -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {"title": "Sheaf's live page", "version": VERSION},
        "security": [{"token": []}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": {each.path: _operation(each) for each in (*ASKED, *CHANGES)},
    }


def _operation(each: Address) -> dict[str, Any]:
    answers = {
        "200": {"description": "It is so", "content": {each.answer: {}}},
        "403": {"description": "The token is missing or another's"},
    }
    if each.is_change:
        answers["409"] = {"description": "It makes no sense now: `said` has why"}
        fields = {name: _field(what) for name, what in each.fields.items()}
        form = {"schema": {"type": "object", "properties": fields}}
        content = {"application/x-www-form-urlencoded": form}
        asked: dict[str, Any] = {"requestBody": {"content": content}}
        return {"post": {"summary": each.what, **asked, "responses": answers}}
    answers["404"] = {"description": "There is nothing that is called so"}
    answers["503"] = {"description": "The state or its store cannot be read yet: `error` has why"}
    parameters = [_parameter(each.path, name, what) for name, what in each.fields.items()]
    return {"get": {"summary": each.what, "parameters": parameters, "responses": answers}}


def _parameter(path: str, name: str, what: str) -> dict[str, Any]:
    is_in_path = f"{{{name}}}" in path
    said = {"name": name, "in": "path" if is_in_path else "query", "schema": {"type": "string"}}
    return {**said, "description": what, "required": is_in_path}


def _field(what: str) -> dict[str, str]:
    return {"type": "string", "description": what}

"""What ConceptNet's web API says to a request: pure functions from assertions to answers.

Promise: the same paths, parameters, JSON shapes and errors as version 5.8.1, down to its oddities:
a missing node is HTTP 200 with an error inside, so is a page past the end, and limit=0 points to
itself for ever. Unlike the original, no query is cut off at 10,000 edges, and pages neither lose
nor repeat an edge as long as `Index.find` does not.
Limits: no /related and no /relatedness, which need word embeddings. What a page is grouped by is
learnt from the 10,000 heaviest edges of its concept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import orjson

from ...network.reply import Reply, html_error, json_reply
from ..dump.shown import Edge, is_below, node
from ..index.index import Index
from . import jsonld as context
from . import normalise as standard

CONTEXT = ["http://api.conceptnet.io/ld/conceptnet5.7/context.ld.json"]
VERSION = "5.8.1"
JSON_LD = "application/ld+json"

_WELCOME = (
    "See http://www.conceptnet.io for more information about ConceptNet, "
    "and http://api.conceptnet.io/docs for the API documentation."
)
_STANDARD = ("/uri", "/normalize", "/standardize")
_EMBEDDINGS = re.compile(r"/related/.+|/relatedness", re.DOTALL)
_CRITERION = {"c": "node", "r": "rel", "d": "dataset", "s": "source"}
_QUERY_KEYS = frozenset({"start", "end", "rel", "node", "other", "source", "uri"})
_SYMMETRIC = frozenset(
    {
        *("/r/RelatedTo", "/r/SimilarTo", "/r/EtymologicallyRelatedTo"),
        *("/r/Synonym", "/r/Antonym", "/r/DistinctFrom"),
    }
)
_SCANNED = 10_000
_LOOKUP = re.compile(r"/([acdrs])/([^/].*)", re.DOTALL)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\u206a-\u206f\ufeff\ufff9-\ufffc]")
_DIRECTION = {"end": -1, "node": 0, "start": 1}


def json_error(status: int, details: str) -> Reply:
    return json_reply(_with_error({}, status, details), status)


def answer_to(assertions: Index, path: str, query: Mapping[str, str]) -> Reply:
    """What to say to a request that `parse_target` has decoded."""
    if found := _LOOKUP.fullmatch(path):
        uri = f"/{found[1]}/{found[2].strip('/')}"
        return json_reply(lookup_page(assertions, uri, query))
    route = path.rstrip("/")
    if not route:
        return json_reply({"@context": CONTEXT, "rdfs:comment": _WELCOME})
    if route in ("/query", "/search"):
        return json_reply(query_page(assertions, query))
    if route in _STANDARD:
        return standard_answer(query)
    if route == context.PATH:
        return Reply(200, orjson.dumps({"@context": context.CONTEXT}), JSON_LD)
    if _EMBEDDINGS.fullmatch(route):
        return json_error(404, f"{route!r} needs word embeddings, which this server does not have.")
    return _redirect_or_not_found(path, query)


def standard_answer(query: Mapping[str, str]) -> Reply:
    """The concept that a text in a language names, whether or not there is an edge of it."""
    language, text = query.get("language"), query.get("text") or query.get("term")
    if not language or not text:
        missing = "text" if language else "language"
        return json_error(400, f"Please specify a '{missing}' parameter.")
    return json_reply({"@context": CONTEXT, "@id": standard.concept(language, text)})


def lookup_page(assertions: Index, uri: str, query: Mapping[str, str]) -> dict[str, Any]:
    """The page of a node, relation, dataset or source, or the single edge of an /a/ URI."""
    if query.get("grouped", "").lower() == "true":
        return grouped_page(assertions, uri, number(query, "limit", default=20, largest=100))
    if uri.startswith("/a/"):
        return edge_page(assertions, uri)
    place = _Place(uri, {}, *_window(query, default_limit=20))
    page = _listing(assertions, {_CRITERION[uri[1]]: uri}, place)
    if not page["edges"] and "nextPage" not in page.get("view", {}):
        return _with_error(page, 404, f"{uri!r} is not a node in ConceptNet.")
    return page


def edge_page(assertions: Index, uri: str) -> dict[str, Any]:
    edge = assertions.edge(_CONTROLS.sub("", uri))
    if edge is None:
        return _with_error({"@id": uri}, 404, f"{uri!r} is not an assertion in ConceptNet.")
    return _with_version(edge.said)


def grouped_page(assertions: Index, uri: str, limit: int) -> dict[str, Any]:
    """A concept's edges by what they say of it: their relation, and at which end it stands."""
    if not uri.startswith("/c/"):
        details = "Only concept nodes (starting with /c/) can be grouped by feature."
        return _with_error({}, 400, details)
    asked = _CONTROLS.sub("", uri)
    found = assertions.find({"node": asked}, 0, _SCANNED)[0] if asked.count("/") > 2 else []
    features = {feature for edge in found for feature in _features(edge, asked)}
    if not features:
        shown = node(uri)
        return _with_error(shown, 404, f"{shown['label']!r} is not a node in ConceptNet.")
    ordered = sorted(features, key=lambda feature: (_DIRECTION[feature[1]], feature[0]))
    groups = [_group(assertions, rel, side, asked, limit) for rel, side in ordered]
    groups.sort(key=lambda group: -group.weight)
    return _with_version({**node(uri), "features": [group.shown for group in groups]})


def query_page(assertions: Index, query: Mapping[str, str]) -> dict[str, Any]:
    asked = {key: value for key, value in query.items() if key in _QUERY_KEYS}
    criteria = {key: value for key, value in asked.items() if key != "uri"}
    place = _Place("/query", dict(sorted(asked.items())), *_window(query, default_limit=50))
    return {**_listing(assertions, criteria, place), "@id": _url("/query", asked.items())}


def number(query: Mapping[str, str], key: str, default: int, largest: int) -> int:
    """A parameter between 0 and the largest; nonsense is the default.

    >>> [number({"limit": text}, "limit", 20, 1_000) for text in ("7", "-1", "5000", "many")]
    [7, 0, 1000, 20]
    """
    try:
        wanted = int(query.get(key, default))
    except ValueError:
        wanted = default
    return max(0, min(largest, wanted))


class _Place(NamedTuple):
    """Where in which list a page is."""

    path: str
    parameters: Mapping[str, str]
    offset: int
    limit: int

    def at(self, offset: int) -> str:
        pairs = self.parameters.items()
        return _url(self.path, [*pairs, ("offset", offset), ("limit", self.limit)])


class _Group(NamedTuple):
    weight: float
    shown: dict[str, Any]


def _window(query: Mapping[str, str], default_limit: int) -> tuple[int, int]:
    offset = number(query, "offset", default=0, largest=100_000)
    return offset, number(query, "limit", default_limit, largest=1_000)


def _listing(assertions: Index, criteria: Mapping[str, str], place: _Place) -> dict[str, Any]:
    asked = {key: value.replace("\0", "") for key, value in criteria.items()}
    edges, has_more = assertions.find(asked, place.offset, place.limit)
    own_url = _url(place.path, place.parameters.items())
    page = _with_version({"@id": own_url, "edges": [orjson.Fragment(each.shown) for each in edges]})
    if has_more or place.offset:
        page["view"] = _view(place, has_more)
    return page


def _features(edge: Edge, uri: str) -> list[tuple[str, str]]:
    """The relation of an edge with the side on which the concept stands; it may be both."""
    rel: str = edge.said["rel"]["@id"]
    if rel in _SYMMETRIC:
        return [(rel, "node")]
    sides = {"start": edge.start, "end": edge.end}
    return [(rel, side) for side, end in sides.items() if is_below(uri.encode(), end)]


def _group(assertions: Index, rel: str, side: str, uri: str, limit: int) -> _Group:
    feature = {"rel": rel, side: uri}
    edges = [each.said for each in assertions.find(feature, 0, limit + 1)[0]]
    shown = {
        "@id": _url("/query", feature.items()),
        "feature": feature,
        "symmetric": side == "node",
        "edges": [_seen_from(uri, edge) for edge in edges[:limit]],
    }
    if len(edges) > limit:
        shown["view"] = _view(_Place("/query", feature, 0, limit), has_more=True)
    weight = sum(edge["weight"] for edge in edges)  # one more is weighed than shown
    return _Group(weight, shown)


def _seen_from(uri: str, edge: dict[str, Any]) -> dict[str, Any]:
    """The edge, and which of its ends is the other one: of two below this node, the longer."""
    shorter, longer = sorted((edge["start"], edge["end"]), key=lambda end: len(end["@id"]))
    return {**edge, "other": longer if shorter["@id"].startswith(uri) else shorter}


def _view(place: _Place, has_more: bool) -> dict[str, str]:
    view = {
        "@id": place.at(place.offset),
        "@type": "PartialCollectionView",
        "firstPage": place.at(0),
        "paginatedProperty": "edges",
    }
    if place.offset:
        view["previousPage"] = place.at(max(0, place.offset - place.limit))
    if has_more:
        view["nextPage"] = place.at(place.offset + place.limit)
        view["comment"] = "There are more results. Follow the 'nextPage' link for more."
    return view


def _url(path: str, pairs: Iterable[tuple[str, str | int]]) -> str:
    parameters = "&".join(f"{key}={value}" for key, value in pairs)
    return f"{path}?{parameters}" if parameters else path


def _with_version(content: dict[str, Any]) -> dict[str, Any]:
    return {**content, "@context": CONTEXT, "version": VERSION}


def _with_error(content: dict[str, Any], status: int, details: str) -> dict[str, Any]:
    return _with_version({**content, "error": {"details": details, "status": status}})


def _redirect_or_not_found(path: str, query: Mapping[str, str]) -> Reply:
    """Doubled slashes matter only ahead of the URI: inside, they belong to web addresses."""
    merged = re.sub("/{2,}", "/", path)
    if merged == path or not (_LOOKUP.fullmatch(merged) or merged in ("/query", "/search")):
        return json_error(404, f"{path!r} isn't a URL that we understand.")
    location = quote(merged, safe="/[],:") + ("?" + urlencode(query) if query else "")
    return html_error(308, "You should be redirected automatically.", {"Location": location})

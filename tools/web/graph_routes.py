"""The addresses of the graph: a concept's is its URI, and so is a relation's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from . import graph_data
from .explorer import Explorer
from .site import Site

if TYPE_CHECKING:
    from .app import Web

Query = Mapping[str, str]
OfUri = Callable[[Explorer, str, Query], Any]
LONGEST = 2_000  # characters of a URI, as everywhere
IS_PART = "hx-request"  # what htmx says of itself


def routes_of_graph(web: Web) -> list[Route]:
    return [
        *_named_by_uri(web, "concept", "/c/", _concept, _relations_of_concept),
        *_named_by_uri(web, "relation", "/a/", _relation),
        *_named_by_uri(web, "type", "/r/", _type),
        Route("/graph", partial(web.shown, "graph", _data(graph_data.around))),
        Route("/api/graph", partial(web.json, _data(graph_data.around))),
        Route("/search/found", partial(_found, web)),
        Route("/more", partial(_lines, web)),
        Route("/api/more", partial(web.json, _data(graph_data.more_lines))),
    ]


def _named_by_uri(
    web: Web, name: str, begin: str, data: OfUri, table: OfUri | None = None
) -> list[Route]:
    """A page and its JSON for every URI that begins so; a table, too, if it has one."""

    async def shown(request: Request) -> Response:
        return await web.shown(name, _of(request, begin, data), request)

    async def as_json(request: Request) -> Response:
        rows = None if table is None else _of(request, begin, table)
        return await web.json(_of(request, begin, data), request, table=rows)

    return [Route(begin + "{rest:path}", shown), Route(f"/api{begin}{{rest:path}}", as_json)]


def _concept(explorer: Explorer, uri: str, query: Query) -> Any:
    return graph_data.one_concept(explorer, uri)


def _relations_of_concept(explorer: Explorer, uri: str, query: Query) -> Any:
    return graph_data.relations_of(explorer, uri)


def _relation(explorer: Explorer, uri: str, query: Query) -> Any:
    return graph_data.one_relation(explorer, uri)


def _type(explorer: Explorer, uri: str, query: Query) -> Any:
    return graph_data.one_type(explorer, uri.removeprefix("/r/"), query)


async def _found(web: Web, request: Request) -> Response:
    """What is shown below the field while somebody types."""
    return await _part(web, "parts/found.html", graph_data.searched, request)


async def _lines(web: Web, request: Request) -> Response:
    """Below those that are there; or on a page of their own, for whoever has no script."""
    if IS_PART in request.headers:
        return await _part(web, "parts/lines.html", graph_data.more_lines, request)
    return await web.shown("more", _data(graph_data.more_lines), request)


def _of(request: Request, begin: str, data: OfUri) -> Callable[[Site, Query], Any]:
    uri = (begin + request.path_params["rest"])[:LONGEST]
    return lambda site, query: _or_404(data(site.explorer, uri, query))


def _data(data: Callable[[Explorer, Query], Any]) -> Callable[[Site, Query], Any]:
    return lambda site, query: _or_404(data(site.explorer, query))


def _or_404(found: Any) -> Any:
    if found is None:
        raise HTTPException(404)
    return found


async def _part(
    web: Web, template: str, data: Callable[[Explorer, Query], Any], request: Request
) -> Response:
    query = request.query_params
    values = _or_404(await run_in_threadpool(data, web.site.explorer, query))
    text = await run_in_threadpool(web.rendered, template, query=dict(query), **values)
    return Response(text, media_type="text/html")

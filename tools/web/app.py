"""The application: pages, their JSON, their live parts, changes, files and the style.

Everything that reads is done in threads; only streams live in the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import orjson
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from ..errors import HarvestError
from ..sheets.document import STYLE
from . import crawl_routes, file_routes, graph_routes
from .access import Access
from .actions import ACTIONS
from .as_csv import Sheet, download
from .guard import Guard
from .metrics import metrics_of
from .openapi import ASKED, described
from .overview import curves
from .pages import PAGES, Page, shown_for
from .site import Site
from .status import status_of
from .streams import Streams
from .tables import NotThere
from .templates import rendering

STATIC = Path(__file__).with_name("static")
LONGEST_BODY = 20_000
BODY_S = 10.0
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
NOTHING = "there is nothing here"
KEPT_S = 3600  # seconds that a browser keeps the style and the scripts


class Web:
    """Answers to requests, over one site."""

    def __init__(self, site: Site, access: Access, streams: Streams) -> None:
        self.site, self.access, self.streams = site, access, streams
        self.rendered = rendering(site.media)

    def app(self) -> ASGIApp:
        routes = [
            *(Route(page.address, partial(self.page, page)) for page in PAGES),
            *(Route(f"/live/{page.name}", partial(self.live, page)) for page in PAGES),
            *(Route(f"/api/{page.name}", self.programs(page)) for page in PAGES),
            Route("/api/", self.index),
            Route("/api/openapi.json", partial(self.json, lambda site, _: described())),
            Route("/api/status", partial(self.json, lambda site, _: status_of(site).data())),
            Route("/api/curves", partial(self.json, lambda site, _: curves(site))),
            Route("/api/history", self.history),
            Route("/metrics", self.metrics),
            Route("/act/{name}", self.act, methods=["POST"]),
            Route("/static/{name:path}", static),
            *file_routes.routes_of_files(self.site),
            *crawl_routes.routes_of_crawl(self),
            *graph_routes.routes_of_graph(self),
        ]
        errors: Mapping[Any, Any] = {HarvestError: self.trouble, HTTPException: self.http_error}
        return Guard(Starlette(routes=routes, exception_handlers=errors), self.access)

    # --- looking -----------------------------------------------------------------------------

    async def page(self, page: Page, request: Request) -> Response:
        return await self.shown(page.name, page.data, request, page.is_live)

    async def shown(
        self, name: str, data: Callable[..., Any], request: Request, is_live: bool = False
    ) -> Response:
        """A page by its template; a live one asks for its part by the same query."""
        values = await run_in_threadpool(self._values, name, data, request.query_params)
        live = _live(name, request) if is_live else ""
        return _html(await run_in_threadpool(self.rendered, "page.html", live=live, **values))

    async def live(self, page: Page, request: Request) -> Response:
        if not page.is_live:
            raise HTTPException(404)
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        query = dict(request.query_params)
        render = partial(self._part, page, query)
        return self.streams.answer(f"{page.name}?{sorted(query.items())}", render)

    async def json(
        self,
        data: Callable[..., Any],
        request: Request,
        table: Callable[..., Sheet] | None = None,
    ) -> Response:
        """Or as a table, of what has one."""
        query = request.query_params
        if table is not None and query.get("format") == "csv":
            return download(await run_in_threadpool(table, self.site, query))
        found = await run_in_threadpool(data, self.site, query)
        return as_json(found)

    def programs(self, page: Page) -> Callable[..., Any]:
        return partial(self.json, page.data, table=page.table)

    async def history(self, request: Request) -> Response:
        from ..reports.as_json import as_json as whole

        text = await run_in_threadpool(lambda: whole(self.site.whole_view()))
        return Response(text, media_type="application/json")

    async def index(self, request: Request) -> Response:
        return as_json({"api": [each.path for each in ASKED if each.path.startswith("/api/")]})

    async def metrics(self, request: Request) -> Response:
        text, kind = await run_in_threadpool(metrics_of, self.site)
        return Response(text, headers={"content-type": kind})

    def _part(self, page: Page, query: Mapping[str, str]) -> str:
        try:
            return self.rendered("live.html", **self._values(page.name, page.data, query))
        except HarvestError as error:
            return self.rendered("live.html", **self._trouble(page.name, str(error)))

    def _values(self, name: str, data: Callable[..., Any], query: Mapping[str, str]) -> Any:
        """Data first: what cannot be had has its own page."""
        found = data(self.site, query)
        return {"part": f"parts/{name}.html", "query": dict(query), **self._frame(name), **found}

    def _frame(self, name: str) -> dict[str, Any]:
        """What every page has."""
        status = status_of(self.site)
        return {
            "name": name,
            "pages": shown_for(status.job),
            "status": status,
            "change": "" if self.access.is_read_only else self.access.change,
        }

    # --- changing ----------------------------------------------------------------------------

    async def act(self, request: Request) -> Response:
        action = ACTIONS.get(request.path_params["name"])
        if action is None:
            raise HTTPException(404)
        said = await _form(request)
        try:
            sentence = await run_in_threadpool(action, self.site, said)
            code = 200
        except (HarvestError, OSError) as error:  # such as a harvest of another user
            sentence, code = str(error), 409
        self.site.forget()
        if "application/json" in request.headers.get("accept", ""):
            return as_json({"said": sentence}, code)
        return _html(self.rendered("said.html", sentence=sentence, is_well=code == 200), code)

    # --- going wrong -------------------------------------------------------------------------

    async def trouble(self, request: Request, error: Exception) -> Response:
        """What a state or a store says that cannot be read, or is not there yet, which it may be
        in a moment; or that nothing is called so."""
        code = 404 if isinstance(error, NotThere) else 503
        if request.url.path.startswith("/api/"):
            return as_json({"error": str(error)}, code)
        page = next((each for each in PAGES if each.address == request.url.path), None)
        live = _live(page.name, request) if page is not None and page.is_live else ""
        values = await run_in_threadpool(self._trouble, "trouble", str(error))
        return _html(await run_in_threadpool(self.rendered, "page.html", live=live, **values), code)

    def _trouble(self, name: str, sentence: str) -> dict[str, Any]:
        values = {"sentence": sentence, "part": "trouble.html", "query": {}}
        return {**values, **self._frame(name)}

    async def http_error(self, request: Request, error: Exception) -> Response:
        code = error.status_code if isinstance(error, HTTPException) else 500
        if request.url.path.startswith("/api/"):
            return as_json({"error": NOTHING}, code)
        return PlainTextResponse(f"{code}: {NOTHING}.\n", code)


async def static(request: Request) -> Response:
    """Only files that are there by this very name."""
    name = request.path_params["name"]
    place = _static_files().get(name)
    if place is None:
        raise HTTPException(404)
    headers = {"cache-control": f"max-age={KEPT_S}"}
    return FileResponse(place, media_type=KINDS.get(place.suffix, "text/plain"), headers=headers)


@cache
def _static_files() -> dict[str, Path]:
    """The sheets' style is ours too: there is one look."""
    found = {str(path.relative_to(STATIC)): path for path in STATIC.rglob("*") if path.is_file()}
    return {**found, STYLE.name: STYLE}


async def _form(request: Request) -> dict[str, str]:
    """Its fields; too long or too slow is a mistake."""
    body = b""
    try:
        async with asyncio.timeout(BODY_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > LONGEST_BODY:
                    raise HTTPException(413)
    except TimeoutError:
        raise HTTPException(408) from None
    except ClientDisconnect:  # nobody is there to be told
        raise HTTPException(400) from None
    return dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True))


def as_json(found: Any, code: int = 200) -> Response:
    text = orjson.dumps(found, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    return Response(text, code, media_type="application/json")


def _live(name: str, request: Request) -> str:
    """Where the part of a page that changes comes from, by the query of the page."""
    query = f"?{request.url.query}" if request.url.query else ""
    return f"/live/{name}{query}"


def _plain(value: Any) -> Any:
    return value._asdict() if hasattr(value, "_asdict") else str(value)


def _html(text: str, code: int = 200) -> Response:
    return Response(text, code, media_type="text/html")

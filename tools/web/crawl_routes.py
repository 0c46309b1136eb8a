"""The addresses of a crawl's pages. A copy can do nothing: no script of it runs, it asks for
nothing, connects to nobody (see `inert`), and has no origin. It is shown within its page only, the
policy of which lets no link in it lead elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from .crawl import copy_of, one_page
from .site import Site

if TYPE_CHECKING:
    from .app import Web

SANDBOX = {
    "content-security-policy": (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
    ),
}


def routes_of_crawl(web: Web) -> list[Route]:
    site = web.site

    async def copy(request: Request) -> Response:
        url = request.query_params.get("url", "")
        if request.headers.get("sec-fetch-dest") == "document":
            return RedirectResponse(f"/pages/page?{urlencode({'url': url})}", 303)
        found = await run_in_threadpool(copy_of, site, url)
        if isinstance(found, str):
            return PlainTextResponse(found, headers=SANDBOX)
        return Response(found.body, headers=SANDBOX | {"content-type": found.content_type})

    def data(of_site: Site, query: Mapping[str, str]) -> dict[str, Any]:
        found = one_page(of_site, query.get("url", ""))
        if found is None:
            raise HTTPException(404)
        return found

    return [
        Route("/pages/page", partial(web.shown, "crawled", data)),
        Route("/pages/copy", copy),
        Route("/api/pages/page", partial(web.json, data)),
    ]

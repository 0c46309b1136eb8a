"""The addresses of a crawl's pages. A copy is shown as the server sent it, and can do nothing: no
script of it runs, it asks for nothing, and it has no origin. It is shown within its page only: in a
window of its own a browser would open connections to where its frames lead, before it refuses them.
"""

from __future__ import annotations

import re
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
SHOWN = re.compile(
    r"(text/(html|plain|css|csv|xml)|application/(json|xml|xhtml\+xml)|image/(png|jpeg|gif|webp))\b",
    re.IGNORECASE,
)
"""Types that a browser shows; of others it is said what they are."""
UNCLEAN = re.compile(r"[^\x20-\x7e]")


def routes_of_crawl(web: Web) -> list[Route]:
    site = web.site

    async def copy(request: Request) -> Response:
        url = request.query_params.get("url", "")
        if request.headers.get("sec-fetch-dest") == "document":
            return RedirectResponse(f"/pages/page?{urlencode({'url': url})}", 303)
        found = await run_in_threadpool(copy_of, site, url)
        if isinstance(found, str):
            return PlainTextResponse(found, headers=SANDBOX)
        kind = UNCLEAN.sub("", found.content_type)[:100]
        if not SHOWN.match(kind):
            return PlainTextResponse(
                f"It is of type {kind}, {len(found.body)} bytes.", 200, SANDBOX
            )
        return Response(found.body, headers=SANDBOX | {"content-type": kind})

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

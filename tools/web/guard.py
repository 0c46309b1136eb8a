"""Stands before every request: the host, the token, the rules for browsers.

Promise: nothing behind it is asked by whoever may not look, and no answer lacks the headers that
keep a browser from running or fetching anything that is not ours.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .access import Access
from .way_in import page_to

OPEN = "/static/"
READING = ("GET", "HEAD")
CYTOSCAPE_STYLE = "'sha256-pgvDUBa4IjFA2yuSJ2cqcyxmNYJMborsd0ORcRv9vw8='"  # the one rule it adds
POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' {CYTOSCAPE_STYLE}; img-src 'self'; "
    "media-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
RULES = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "x-dns-prefetch-control": "off",  # else the hosts that links lead to are looked up
}
STRANGER = (
    "This page is for whoever started it: open the address that was printed, with its token.\n"
    "Programs bring the token of the file serve-token in the state folder: "
    "`Authorization: Bearer TOKEN`.\n"
)
NO_CHANGE = "This server changes nothing: it was started with --read-only.\n"
NO_HEADER = "A change needs the header that the page brings along: reload it and try again.\n"


class Guard:
    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        answer = (
            self._wrong_host(scope) or self._welcome(scope) or self._refusal(scope) or self._app
        )

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                _add_rules(message)
            await send(message)

        await answer(scope, receive, sent)

    def _wrong_host(self, scope: Scope) -> Response | None:
        if self._access.knows_host(Headers(scope=scope).get("host", "")):
            return None
        return PlainTextResponse("This server has another name.\n", 400)

    def _refusal(self, scope: Scope) -> Response | None:
        headers, access = Headers(scope=scope), self._access
        if scope["path"].startswith(OPEN) and scope["method"] in READING:
            return None
        if not access.may_look(headers):
            return PlainTextResponse(STRANGER, 403)
        if scope["method"] not in READING and not access.may_change(headers):
            return PlainTextResponse(NO_CHANGE if access.is_read_only else NO_HEADER, 403)
        return None

    def _welcome(self, scope: Scope) -> Response | None:
        """Whoever comes with the token gets a cookie instead, and an address that is no secret."""
        said = dict(_query(scope)).get("token", "")
        if scope["method"] != "GET" or not self._access.is_way_in(said):
            return None
        is_ticket = self._access.is_ticket(said)
        self._access.let_in(said)
        rest = [pair for pair in _query(scope) if pair[0] != "token"]
        path = quote(scope["path"].lstrip("/\\"))  # two of these would name another host
        where = f"/{path}?{urlencode(rest)}" if rest else f"/{path}"
        cookie = {"set-cookie": self._access.cookie()}
        if is_ticket:  # a browser that a file led here brings the cookie from our own page only
            return HTMLResponse(page_to(where), headers=cookie)
        return Response(status_code=303, headers={"location": where, **cookie})


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _add_rules(message: MutableMapping[str, Any]) -> None:
    """What an answer says by itself stays: files have a stricter policy."""
    headers = MutableHeaders(scope=message)
    for name, value in RULES.items():
        headers.setdefault(name, value)

"""Asking a site for one request of a task, politely.

Promise: nothing is asked that robots.txt forbids, or before it was read, unless the task says so.
Cookies, the referer and a body go only where a browser would send them; no answer is larger or
slower than the settings allow.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..documents.address import identity, lane_of
from ..errors import ComeBack, GiveUp
from ..network import request as web
from ..network.client import Client
from ..network.courtesy import away, rest_if_asked
from ..network.hosts import Hosts
from ..network.response import Response
from ..network.trouble import NoAnswer
from .cookies import Cookies
from .request import Request
from .robots import Robots

ACCEPTS = {
    "html": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "xml": "application/xml,text/xml,*/*;q=0.8",
    "json": "application/json,*/*;q=0.8",
    "text": "text/plain,*/*;q=0.8",
}


def lane_in(uri: str) -> str:
    """The host of a request, by its identity.

    >>> lane_in("detail GET http://h.example:8080/a?b c=d")
    'h.example:8080'
    """
    return uri.split(" ", 3)[2].partition("://")[2].partition("/")[0]


class Asker:
    """Without `robots` nobody's robots.txt is read; without `cookies` none are sent."""

    def __init__(
        self,
        client: Client,
        hosts: Hosts,
        robots: Robots | None,
        cookies: Cookies | None,
        timeout_s: float,
        max_bytes: int,
    ) -> None:
        self._client = client
        self._hosts = hosts
        self._robots = robots
        self._cookies = cookies
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes

    def read_rules(self, lane: str, address: str) -> None:
        """Whoever caused that comes back at the host's next turn."""
        if self.know_rules(lane, address):
            raise ComeBack("robots.txt was read first", 0.0)

    def know_rules(self, lane: str, address: str) -> bool:
        """Were they read only now?"""
        return self._robots is not None and self._robots.read(lane, address)

    def ask(self, lane: str, request: Request, accept: str) -> Response:
        """Any answer but one that asks for a pause, after redirects."""
        try:
            response = self._followed(request, accept)
        except NoAnswer as error:
            if error.why.is_network:
                raise away(self._hosts, lane, str(error)) from error
            raise
        rest_if_asked(self._hosts, lane, response)
        if response.status == 503:  # it did not say for how long
            self._hosts.rest(lane, None, "HTTP 503")
        elif response.status < 500:
            self._hosts.answered(lane)
        return response

    def _followed(self, request: Request, accept: str) -> Response:
        asked = web.Request(request.verb, request.address, self._headers(request, accept), None)
        if request.body is not None:
            kind, content = request.body
            headers = {**asked.headers, "Content-Type": kind}
            asked = web.Request(request.verb, request.address, headers, content)
        for _ in range(web.MAX_REDIRECTS + 1):
            response = self._once(asked)
            if response.status not in web.REDIRECTS or not response.header("Location"):
                return response
            asked = web.redirected(asked, response)
        raise GiveUp("redirected too often")

    def _once(self, asked: web.Request) -> Response:
        lane = lane_of(identity(asked.url))
        if self._robots is not None:
            self._robots.require_allowed(lane, asked.url)
        own = self._cookies.of(asked.url) if self._cookies is not None else {}
        with self._client.turn(asked.url):  # it may have to wait for that
            self._hosts.asking(lane)
            response = self._client.ask(
                asked.method,
                asked.url,
                headers={**asked.headers, **own},
                body=asked.body,
                seconds=self._timeout_s,
                most=self._max_bytes,
                most_unpacked=self._max_bytes,
            )
        if self._cookies is not None:
            self._cookies.keep(response)
        return response

    def _headers(self, request: Request, accept: str) -> Mapping[str, str]:
        told = web.referer(request.referer, request.url) if request.referer else None
        return {"Accept": accept, **({"Referer": told} if told else {})}

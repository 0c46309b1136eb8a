"""Cookies of one task: what its sites set is sent back to them, as long as the process lives.

Promise: whatever a site sets, requests to it can still be sent: a cookie that no header can hold,
or of more than 4,096 characters, is not kept, and no more are sent than servers take.
"""

from __future__ import annotations

import email.message
import http.client
from http.cookiejar import CookieJar
from threading import Lock
from typing import cast
from urllib.request import Request

from ..network.request import VALUE
from ..network.response import Response

LONGEST = 4096  # characters, as browsers have it
MOST_SENT = 8000  # characters of one request: most servers refuse longer headers


class _Headers:
    """An answer as the jar reads it."""

    def __init__(self, response: Response) -> None:
        self._message = email.message.Message()
        for value in response.all("Set-Cookie"):
            if len(value) <= LONGEST and VALUE.fullmatch(value):
                self._message["Set-Cookie"] = value

    def info(self) -> email.message.Message:
        return self._message


class Cookies:
    """Any number of threads may share it."""

    def __init__(self) -> None:
        self._jar = CookieJar()
        self._lock = Lock()

    def of(self, address: str) -> dict[str, str]:
        request = Request(address)  # noqa: S310  # asks nobody: it is how cookies are chosen
        with self._lock:
            self._jar.add_cookie_header(request)
        cookie = request.get_header("Cookie")
        if not cookie:
            return {}
        if len(cookie) > MOST_SENT:
            cookie = cookie[:MOST_SENT].rpartition("; ")[0]
        return {"Cookie": cookie}

    def keep(self, response: Response) -> None:
        if not response.all("Set-Cookie"):
            return
        request = Request(response.url)  # noqa: S310
        with self._lock:
            said = cast(http.client.HTTPResponse, _Headers(response))
            self._jar.extract_cookies(said, request)

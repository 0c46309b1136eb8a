"""Cookies of one task: what its sites set is sent back to them, as long as the process lives."""

from __future__ import annotations

import email.message
import http.client
from http.cookiejar import CookieJar
from threading import Lock
from typing import cast
from urllib.request import Request

from ..network.response import Response


class _Headers:
    """An answer as the jar reads it."""

    def __init__(self, response: Response) -> None:
        self._message = email.message.Message()
        for value in response.all("Set-Cookie"):
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
        return {"Cookie": cookie} if cookie else {}

    def keep(self, response: Response) -> None:
        if not response.all("Set-Cookie"):
            return
        request = Request(response.url)  # noqa: S310
        with self._lock:
            said = cast(http.client.HTTPResponse, _Headers(response))
            self._jar.extract_cookies(said, request)

"""Headers and cookies of the user's own, for sites that ask who somebody is.

Promise: they come from files that only their owner can read, and go to the hosts of the seeds and
to nobody else.
"""

from __future__ import annotations

from collections.abc import Collection
from http.cookiejar import LoadError, MozillaCookieJar
from pathlib import Path
from urllib.request import Request

from ..base.credentials import read_secret
from ..errors import UsageError


class OwnHeaders:
    """`lanes` are the hosts that get them."""

    def __init__(
        self, headers_file: Path | None, cookies: Path | None, lanes: Collection[str]
    ) -> None:
        self._headers = _headers_in(headers_file) if headers_file else {}
        self._cookies = _cookies_in(cookies) if cookies else None
        self._lanes = frozenset(lanes)

    def of(self, lane: str, address: str) -> dict[str, str]:
        if lane not in self._lanes:
            return {}
        found = dict(self._headers)
        if self._cookies is not None:
            request = Request(address)  # noqa: S310  # asks nobody: it is how cookies are chosen
            self._cookies.add_cookie_header(request)
            if cookie := request.get_header("Cookie"):
                found["Cookie"] = cookie
        return found


def _headers_in(file: Path) -> dict[str, str]:
    """Lines such as `Accept-Language: de`; their texts are never shown."""
    found = {}
    for number, line in enumerate(read_secret(file).splitlines(), 1):
        name, colon, value = line.partition(":")
        if line.strip() and not (colon and name.strip()):
            raise UsageError(f"line {number} of {file} is no header: write it like Name: value")
        if line.strip():
            found[name.strip()] = value.strip()
    return found


def _cookies_in(file: Path) -> MozillaCookieJar:
    read_secret(file)  # may only its owner read it?
    jar = MozillaCookieJar(file)
    try:
        jar.load(ignore_discard=True, ignore_expires=True)
    except (LoadError, OSError):
        raise UsageError(f"{file} is no cookies.txt as browsers and curl write it") from None
    for cookie in jar:
        cookie.expires = cookie.expires or None  # 0 is how curl writes "until the session ends"
    return jar

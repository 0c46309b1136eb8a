"""Proxies that a web page lists, one on each line or as a JSON list.

Promise: what becomes a proxy is nothing but a scheme, perhaps a login, a host and a port; whatever
else the page says is left out, and one that names none is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from threading import Event

from ..errors import GiveUp
from ..proxy import FetchedProxies, Proxies
from .client import Client
from .guard import host_of
from .parse import parsed
from .settings import PROXY_SCHEMES, HttpSettings, ProxySettings, is_proxy

LARGEST_LIST = 1_000_000  # bytes
MOST_LISTED = 10_000
ACCEPT = "text/plain, application/json;q=0.9, */*;q=0.5"
PROXY = re.compile(
    r"(?:[a-z0-9]+://)?(?:[\w.~!$&'()*+,;=%:-]{1,200}@)?"  # perhaps a scheme, perhaps a login
    r"(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):[0-9]{1,5}",
    re.ASCII,
)


def proxies_of(settings: ProxySettings, http: HttpSettings, stop: Event) -> Proxies:
    if not settings.ask:
        return Proxies(settings.urls)
    return FetchedProxies(ProxyList(settings.ask, http, stop), settings.uses)


class ProxyList:
    """Asked direct, once at each call: it is the user who names its address."""

    def __init__(self, url: str, settings: HttpSettings, stop: Event) -> None:
        most = min(settings.max_bytes, LARGEST_LIST)
        self._url, self._stop = url, stop
        self._settings = replace(settings, max_bytes=most, tries=1)

    def __call__(self) -> Sequence[str]:
        trusted = [host_of(self._url)]
        with closing(Client(self._settings, None, self._stop, 1, trusted=trusted)) as client:
            found = list(listed_in(client.get(self._url, ACCEPT).body))
        if not found:
            raise GiveUp("the answer names no proxy")
        return found[:MOST_LISTED]


def listed_in(body: bytes) -> Iterator[str]:
    """
    >>> list(listed_in(b"10.0.0.1:80\\nfile:///etc/passwd\\nsocks5h://me:pw@10.0.0.2:1080"))
    ['http://10.0.0.1:80', 'socks5h://me:pw@10.0.0.2:1080']
    """
    for each in _items(body):
        text = each.strip()
        if PROXY.fullmatch(text):
            url = text if "://" in text else f"http://{text}"
            if is_proxy(url, PROXY_SCHEMES):
                yield url


def _items(body: bytes) -> Sequence[str]:
    if not body.lstrip().startswith(b"["):
        return body.decode("utf-8-sig", errors="replace").splitlines()
    try:
        values = parsed(body)
    except ValueError:  # lines that begin with an IPv6 address
        return body.decode(errors="replace").splitlines()
    return [each for each in values if isinstance(each, str)]

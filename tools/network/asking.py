"""What one host is asked for by a GET, and what it answered.

Promise: credentials go to another host at no redirect, nor to a less safe connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from ..errors import GiveUp
from .arrival import Arrival
from .body import Sink, drain, read_body, read_raw_body
from .guard import host_of
from .request import is_as_safe, target_of
from .trouble import shown
from .wire import Patience


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes  # empty if a sink took it
    url: str  # after redirects


class Asking(NamedTuple):
    """What one host is asked for, and how."""

    url: str
    host: str
    headers: Mapping[str, str]
    into: Sink
    patience: Patience
    tries: int
    silence: float | None

    @property
    def name(self) -> str:
        return urlsplit(self.url).hostname or ""


def read_answer(arrival: Arrival, asking: Asking) -> Iterator[int]:
    if not 200 <= arrival.head.status < 300:
        return drain(arrival)
    if asking.silence is None:
        return read_body(arrival, asking.into)
    arrival.allow_silence(asking.silence)
    return read_raw_body(arrival, asking.into)


def sent_on(asking: Asking, answer: Answer, own: Mapping[str, str]) -> Asking:
    """The same for where the answer sends us; credentials only to the same host, and as safely."""
    url = target_of(asking.url, answer.headers.get("Location", ""))
    headers = asking.headers if is_as_safe(asking.url, url) else own
    return asking._replace(url=url, host=web_host(url), headers=headers)


def web_host(url: str) -> str:
    try:
        return host_of(url)
    except ValueError:
        raise GiveUp(f"no web address: {shown(url)}") from None

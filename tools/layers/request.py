"""What a task asks a site for: layer, method, address, referer and payload.

Promise: a request is a value; two that are equal are one. Its identity names what is asked once,
as a person reads it; identity and note together are the whole request again.
Limit: an address of more than 8,192 characters is none.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from ..base.text import storable
from ..documents.address import absolute, resolve
from ..errors import GiveUp
from .payload import URLENCODED, USUAL, Encoding, Pairs, body_of, json_text, pairs_of, query_of

Layer = str | int

METHODS = ("GET", "POST", "JSON")
LONGEST_PAYLOAD = 200  # of an identity that a person is to read
ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


@dataclass(frozen=True)
class Request:
    """`payload` is a tuple of pairs, or any JSON value if the method is JSON (a POST of it); what
    is carried goes with the request to its page and is no part of what it is."""

    layer: Layer
    method: str = "GET"
    url: str = ""
    referer: str | None = None
    payload: Any = ()
    carried: Mapping[str, Any] = field(default_factory=dict, compare=False)
    encoding: Encoding = field(default=USUAL, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"{self.method!r} is none of the methods {', '.join(METHODS)}")
        if type(self.layer) not in (str, int):
            raise TypeError(f"a layer must be a text or a whole number, not {self.layer!r:.60}")
        if not isinstance(self.url, str) or not isinstance(self.referer, str | None):
            raise TypeError("an address must be a text")
        if self.method != "JSON":
            object.__setattr__(self, "payload", pairs_of(self.payload or ()))

    def __hash__(self) -> int:
        payload = json_text(self.payload) if self.method == "JSON" else self.payload
        return hash((self.layer, self.method, self.url, self.referer, payload))

    def value(self, name: str) -> Any:
        """What was sent by this name, or carried, or stands in the query; None if nothing does."""
        for values in (self._sent(), self.carried, dict(parse_qsl(urlsplit(self.url).query))):
            if name in values:
                return values[name]
        return None

    def _sent(self) -> Mapping[str, Any]:
        if self.method == "JSON":
            return self.payload if isinstance(self.payload, Mapping) else {}
        return dict(reversed(self.payload))  # the first of a name counts

    @property
    def address(self) -> str:
        """What is asked for: the payload of a GET stands in its query."""
        if self.method != "GET" or not self.payload:
            return self.url
        url = self.url.partition("#")[0]
        mark = "" if url.endswith(("?", "&")) else "&" if "?" in url else "?"
        return f"{url}{mark}{query_of(self.payload, self.encoding.charset)}"

    @property
    def body(self) -> tuple[str, bytes] | None:
        """Its type and its bytes; None for a GET."""
        if self.method == "GET":
            return None
        if self.method == "JSON":
            text = json.dumps(self.payload, ensure_ascii=False, separators=(",", ":"))
            return "application/json", storable(text).encode()
        return body_of(self.payload, self.encoding)

    @property
    def verb(self) -> str:
        """The method as HTTP calls it."""
        return "GET" if self.method == "GET" else "POST"

    def on(self, base: str, charset: str = "utf-8") -> Self | None:
        """The same with a whole address; None if that leads nowhere on the web."""
        url = resolve(base, self.url, charset) if base else absolute(self.url)
        return None if url is None else replace(self, url=url)

    def as_list(self) -> list[Any]:
        """Five elements, and a sixth if more than those would be lost."""
        payload = self.payload if self.method == "JSON" else [list(pair) for pair in self.payload]
        five = [self.layer, self.method, self.url, self.referer, payload]
        more = self._luggage()
        return [*five, more] if more else five

    @classmethod
    def of_list(cls, values: Sequence[Any]) -> Self:
        """ValueError if these are no request."""
        try:
            layer, method, url, referer, payload, *rest = values
            more = dict(rest[0]) if rest else {}
            made = cls(layer, method, url, referer, payload, **_unpacked(more))
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise ValueError(f"no request: {json.dumps(values, default=str)[:200]}") from error
        return made

    def _luggage(self) -> dict[str, Any]:
        more: dict[str, Any] = {"carried": dict(self.carried)} if self.carried else {}
        if self.encoding != USUAL:
            more["encoding"] = asdict(self.encoding)
        return more


def _unpacked(more: Mapping[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {"carried": dict(more.get("carried") or {})}
    if encoding := more.get("encoding"):
        files = tuple(map(str, encoding.get("files", ())))
        charset, enctype = encoding.get("charset", "utf-8"), encoding.get("enctype", URLENCODED)
        given["encoding"] = Encoding(str(charset), str(enctype), files)
    return given


def identity_of(request: Request, forget: Collection[str] = (), with_referer: bool = False) -> str:
    """`LAYER METHOD URL PAYLOAD`: what is asked once. GiveUp if its address is none.

    >>> sent = {"b": 2, "state": "x", "a": 1}
    >>> identity_of(Request(1, "POST", "HTTP://H:80/a%7eb#c", None, sent), ["state"])
    '1 POST http://h/a~b a=1&b=2'
    """
    url = _normal(request.url)
    payload = _payload_text(request, forget)
    parts = [str(request.layer), request.method, url, _short(payload)]
    if with_referer and request.referer:
        parts += ["from", _normal(request.referer)]
    return storable(" ".join(part for part in parts if part))


def _normal(url: str) -> str:
    whole = absolute(url)
    if whole is None:
        raise GiveUp(f"{url[:200]!r} is not an address of the web")
    return ESCAPE.sub(_escape, whole) if "%" in whole else whole


def _escape(found: re.Match[str]) -> str:
    character = chr(int(found[1], 16))
    return character if character in UNRESERVED else found[0].upper()


def _payload_text(request: Request, forget: Collection[str]) -> str:
    """Without what says nothing about which page it is."""
    if request.method == "JSON":
        value = request.payload
        if isinstance(value, Mapping):
            value = {name: each for name, each in value.items() if name not in forget}
        return json_text(value)
    pairs: Pairs = request.payload
    return query_of(tuple(sorted(pair for pair in pairs if pair[0] not in forget)))


def _short(payload: str) -> str:
    if len(payload) <= LONGEST_PAYLOAD:
        return payload
    return hashlib.sha256(storable(payload).encode()).hexdigest()


def note_of(request: Request) -> str:
    """What its identity does not say."""
    more: dict[str, Any] = request._luggage()
    if isinstance(request.layer, int):
        more["layer"] = request.layer
    if request.payload or request.method == "JSON":
        more["payload"] = request.payload
    if request.referer:
        more["referer"] = request.referer
    if request.url != _normal(request.url):
        more["url"] = request.url
    if not more:
        return ""
    return storable(json.dumps(more, ensure_ascii=False, separators=(",", ":"), default=str))


def request_of(uri: str, note: str | None) -> Request:
    """The request of this identity and note."""
    layer, method, url = uri.split(" ", 3)[:3]
    more: dict[str, Any] = json.loads(note) if note else {}
    return Request(
        more.get("layer", layer),
        method,
        more.get("url", url),
        more.get("referer"),
        more.get("payload", ()),
        **_unpacked(more),
    )

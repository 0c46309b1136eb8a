"""A local server that answers like ConceptNet's web API, from a file instead of its database.

Promise: the same paths, parameters, JSON shapes and errors as version 5.8.1, down to its oddities:
a missing node is HTTP 200 with an error inside, so is a page past the end, and limit=0 points to
itself for ever. Unlike the original, pages neither lose nor repeat edges, and no query is cut off
at 10,000 edges.
Limits: GET and HEAD of nodes, relations, datasets, sources, edges and queries; no /related, no
/relatedness, no /uri, and `grouped` is ignored. IPv4, no TLS, a thread for each connection: made
for one machine or a trusted network, which is why it listens on loopback unless told otherwise.
"""

from __future__ import annotations

import html
import io
import logging
import re
import socket
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from threading import Lock, Thread
from time import monotonic
from typing import Any, Self
from urllib.parse import parse_qsl, quote, unquote, urlencode

import orjson
from pyrate_limiter import InMemoryBucket, Rate, RateItem

from tools.sample.assertions import Assertions, Row, render

logger = logging.getLogger(__name__)

CONTEXT = ["http://api.conceptnet.io/ld/conceptnet5.7/context.ld.json"]
VERSION = "5.8.1"
JSON = "application/json"
HTML = "text/html; charset=utf-8"

_CRITERION = {"c": "node", "r": "rel", "d": "dataset", "s": "source"}
_QUERY_KEYS = frozenset({"start", "end", "rel", "node", "other", "source", "uri"})
_LOOKUP = re.compile(r"/([acdrs])/([^/].*)", re.DOTALL)
_QUALITY = re.compile(r"q\s*=\s*(\d(?:\.\d*)?)")
_WITHOUT_CONTROLS = dict.fromkeys([*range(0x20), 0x7F])
_LONGEST_IGNORED_BODY = 65_536
_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Answer:
    """All that goes back to the client, apart from the headers every answer has."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


def json_answer(content: Mapping[str, Any], status: int = 200) -> Answer:
    return Answer(status, orjson.dumps(content, option=orjson.OPT_SORT_KEYS))


def json_error(status: int, details: str) -> Answer:
    return json_answer(_with_error({}, status, details), status)


def html_error(status: int, details: str, headers: Mapping[str, str] | None = None) -> Answer:
    title = HTTPStatus(status).phrase
    text = (
        '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">\n'
        f"<title>{status} {title}</title>\n<h1>{title}</h1>\n<p>{html.escape(details)}</p>\n"
    )
    return Answer(status, text.encode(), HTML, headers or {})


class Handler(BaseHTTPRequestHandler):
    """One connection. Subclasses change what is said (`answer`) or how it is sent (`send`)."""

    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "mirror"
    disable_nagle_algorithm = True
    timeout = 60.0

    def answer(self, path: str, query: Mapping[str, str]) -> Answer:
        """What to say to a request. Path and query are decoded; an exception becomes a 500."""
        route = path.rstrip("/")
        if not route:
            return json_answer({"@context": CONTEXT, "rdfs:comment": _WELCOME})
        if route in ("/query", "/search"):
            return json_answer(query_page(self.server.assertions, query))
        if found := _LOOKUP.fullmatch(path):
            uri = f"/{found[1]}/{found[2].strip('/')}"
            return json_answer(lookup_page(self.server.assertions, uri, query))
        return _redirect_or_not_found(path, query)

    def send(self, answer: Answer) -> None:
        """Head and body in one piece, within the time limit, however slowly the client reads."""
        head = [
            f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase.upper()}",
            f"Server: {self.server_version}",
            f"Date: {self.date_time_string()}",
            f"Content-Type: {answer.content_type}",
            f"Content-Length: {len(answer.body)}",
            "Access-Control-Allow-Origin: *",
            *(f"{name}: {value}" for name, value in answer.headers.items()),
            *(["Connection: close"] if self.close_connection else []),
        ]
        body = b"" if self.command == "HEAD" else answer.body
        self.connection.settimeout(self.timeout)
        self.wfile.write("\r\n".join([*head, "\r\n"]).encode("latin-1") + body)

    def do_GET(self) -> None:
        self._skip_body()
        # self.path has lost leading slashes, and those deserve a redirect.
        target = self.requestline.split()[1].encode("latin-1").decode(errors="replace")
        path, _, query = target.partition("?")
        self.send(self._answer_safely(_clean(unquote(path)), _first_values(query)))

    do_HEAD = do_GET

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """The refusals of the standard library, in the server's own words."""
        if code == HTTPStatus.NOT_IMPLEMENTED:
            self._skip_body()
            details = "The method is not allowed for the requested URL."
            self.send(html_error(405, details, {"Allow": "GET, HEAD"}))
        else:
            self.close_connection = True
            self.send(html_error(code, HTTPStatus(code).description))

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self._incoming = _DeadlineReader(self.connection)
        self.rfile = io.BufferedReader(self._incoming)

    def handle_one_request(self) -> None:
        self._incoming.deadline = monotonic() + self.timeout
        super().handle_one_request()

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass

    def log_message(self, format: str, *args: Any) -> None:
        logger.debug(format, *args)

    def _answer_safely(self, path: str, query: Mapping[str, str]) -> Answer:
        if refusal := self.server.limits.refusal(self.client_address[0]):
            return html_error(429, refusal)
        try:
            answer = self.answer(path, query)
        except Exception:
            logger.exception("no answer to %r", path)
            answer = json_error(500, "Internal server error")
        if answer.content_type == JSON and wants_html(self.headers.get("Accept", ""), query):
            return _shown_in_browser(answer)
        return answer

    def _skip_body(self) -> None:
        """Nobody reads what a client sends along, but the next request begins behind it."""
        length = self.headers.get("Content-Length", "0")
        is_short = length.isdecimal() and len(length) < 9 and int(length) <= _LONGEST_IGNORED_BODY
        if is_short and "Transfer-Encoding" not in self.headers:
            self.rfile.read(int(length))
        else:
            self.close_connection = True


class Mirror:
    """Serves assertions from a background thread while the `with` block lasts.

    `limits` are pairs of requests and seconds which each client address may use up.
    """

    def __init__(
        self,
        assertions: Assertions,
        host: str = "127.0.0.1",
        port: int = 0,
        limits: Sequence[tuple[int, float]] | None = None,
        *,
        handler: type[Handler] = Handler,
    ) -> None:
        self._server = _Server((host, port), handler, assertions, ClientLimits(limits or ()))
        self._thread = Thread(target=self.serve_forever, name="mirror", daemon=True)
        self._is_serving = False

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def serve_forever(self) -> None:
        """Serve from this thread until it is interrupted, or another thread calls `close`."""
        self._is_serving = True
        try:
            self._server.serve_forever(_POLL_S)
        finally:
            self._server.server_close()

    def close(self) -> None:
        """Stop listening and hang up on every client; a second time does nothing."""
        if self._is_serving:
            self._is_serving = False
            self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        self._is_serving = True  # even if the thread has not come to it when `close` is called
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._thread.join()


class ClientLimits:
    """How many requests each client address may still make; without limits, any number."""

    _MANY_CLIENTS = 1_000

    def __init__(
        self, limits: Sequence[tuple[int, float]], clock: Callable[[], float] = monotonic
    ) -> None:
        self._rates = [Rate(requests, round(seconds * 1000)) for requests, seconds in limits]
        if self._rates:
            InMemoryBucket(self._rates)  # refuses contradictory limits now, not at a request
        self._clock = clock
        self._buckets: dict[str, InMemoryBucket] = {}
        self._lock = Lock()

    def refusal(self, client: str) -> str | None:
        """Count a request; the limit it would break, in the words of the original."""
        if not self._rates:
            return None
        now = round(self._clock() * 1000)
        with self._lock:
            if len(self._buckets) > self._MANY_CLIENTS:
                self._forget_idle_clients(now)
            bucket = self._buckets.setdefault(client, InMemoryBucket(self._rates))
            bucket.leak(now)
            bucket.put_decision(RateItem(client, now))
            return None if bucket.failing_rate is None else _in_words(bucket.failing_rate)

    def _forget_idle_clients(self, now: int) -> None:
        for client, bucket in list(self._buckets.items()):
            bucket.leak(now)
            if not bucket.count():
                del self._buckets[client]


def lookup_page(assertions: Assertions, uri: str, query: Mapping[str, str]) -> dict[str, Any]:
    """The page of a node, relation, dataset or source, or the single edge of an /a/ URI."""
    if uri.startswith("/a/"):
        return edge_page(assertions, uri)
    offset, limit = _offset(query), _limit(query, default=20)
    rows, has_more = assertions.find({_CRITERION[uri[1]]: uri}, offset, limit)
    page = _paginated(uri, uri, [], rows, offset, limit, has_more)
    if not rows and not has_more:
        return _with_error(page, 404, f"{uri!r} is not a node in ConceptNet.")
    return page


def edge_page(assertions: Assertions, uri: str) -> dict[str, Any]:
    row = assertions.edge(uri)
    if row is None:
        return _with_error({"@id": uri}, 404, f"{uri!r} is not an assertion in ConceptNet.")
    return _with_version(render(row))


def query_page(assertions: Assertions, query: Mapping[str, str]) -> dict[str, Any]:
    offset, limit = _offset(query), _limit(query, default=50)
    asked = {key: value for key, value in query.items() if key in _QUERY_KEYS}
    criteria = {key: value for key, value in asked.items() if key != "uri"}
    rows, has_more = assertions.find(criteria, offset, limit)
    own_url = _url("/query", asked.items())
    return _paginated(own_url, "/query", sorted(asked.items()), rows, offset, limit, has_more)


def wants_html(accept: str, query: Mapping[str, str]) -> bool:
    """Is this a browser? Whoever likes JSON as much as HTML gets JSON.

    >>> wants_html("text/html,application/xml;q=0.9,*/*;q=0.8", {}), wants_html("*/*", {})
    (True, False)
    """
    if query.get("format") in ("json", "html"):
        return query["format"] == "html"
    wishes = accept.lower()
    if "text/" not in wishes:
        return False
    as_json = max(_quality(wishes, JSON), _quality(wishes, "application/ld+json"))
    return _quality(wishes, "text/html") > as_json


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[Handler],
        assertions: Assertions,
        limits: ClientLimits,
    ) -> None:
        self.assertions = assertions
        self.limits = limits
        self._connections: set[Any] = set()
        self._lock = Lock()
        super().__init__(address, handler)

    def server_bind(self) -> None:
        # HTTPServer asks the DNS for the name of the host, and nobody needs it.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if isinstance(error, OSError):
            logger.debug("%s hung up: %s", client_address, error)
        else:
            logger.error("connection of %s broke", client_address, exc_info=error)


class _DeadlineReader(io.RawIOBase):
    """Reads a socket until a moment, where a socket's timeout would start anew with each byte."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.deadline = 0.0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.deadline - monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long to arrive")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


_WELCOME = (
    "See http://www.conceptnet.io for more information about ConceptNet, "
    "and http://api.conceptnet.io/docs for the API documentation."
)


def _with_version(content: dict[str, Any]) -> dict[str, Any]:
    return {**content, "@context": CONTEXT, "version": VERSION}


def _with_error(content: dict[str, Any], status: int, details: str) -> dict[str, Any]:
    return _with_version({**content, "error": {"details": details, "status": status}})


def _paginated(
    own_url: str,
    base: str,
    pairs: Sequence[tuple[str, str]],
    rows: Sequence[Row],
    offset: int,
    limit: int,
    has_more: bool,
) -> dict[str, Any]:
    page = _with_version({"@id": own_url, "edges": [render(row) for row in rows]})
    if has_more or offset:
        page["view"] = _view(base, pairs, offset, limit, has_more)
    return page


def _view(
    base: str, pairs: Sequence[tuple[str, str]], offset: int, limit: int, has_more: bool
) -> dict[str, str]:
    def at(place: int) -> str:
        return _url(base, [*pairs, ("offset", place), ("limit", limit)])

    view = {
        "@id": at(offset),
        "@type": "PartialCollectionView",
        "firstPage": at(0),
        "paginatedProperty": "edges",
    }
    if offset:
        view["previousPage"] = at(max(0, offset - limit))
    if has_more:
        view["nextPage"] = at(offset + limit)
        view["comment"] = "There are more results. Follow the 'nextPage' link for more."
    return view


def _url(base: str, pairs: Iterable[tuple[str, str | int]]) -> str:
    parameters = "&".join(f"{key}={value}" for key, value in pairs)
    return f"{base}?{parameters}" if parameters else base


def _redirect_or_not_found(path: str, query: Mapping[str, str]) -> Answer:
    """Doubled slashes matter only ahead of the URI: inside, they belong to web addresses."""
    merged = re.sub("/{2,}", "/", path)
    if merged == path or not (_LOOKUP.fullmatch(merged) or merged in ("/query", "/search")):
        return json_error(404, f"{path!r} isn't a URL that we understand.")
    location = quote(merged, safe="/[],:") + ("?" + urlencode(query) if query else "")
    return html_error(308, "You should be redirected automatically.", {"Location": location})


def _shown_in_browser(answer: Answer) -> Answer:
    text = html.escape(answer.body.decode())
    page = f"<!DOCTYPE html>\n<title>ConceptNet API</title>\n<pre>{text}</pre>\n"
    return Answer(answer.status, page.encode(), HTML, answer.headers)


def _clean(text: str) -> str:
    return text.translate(_WITHOUT_CONTROLS)


def _first_values(query: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        values.setdefault(key, _clean(value))
    return values


def _offset(query: Mapping[str, str]) -> int:
    return _number(query, "offset", default=0, largest=100_000)


def _limit(query: Mapping[str, str], default: int) -> int:
    return _number(query, "limit", default, largest=1_000)


def _number(query: Mapping[str, str], key: str, default: int, largest: int) -> int:
    try:
        number = int(query.get(key, default))
    except ValueError:
        number = default
    return max(0, min(largest, number))


def _quality(accept: str, media_type: str) -> float:
    wishes = {}
    for wish in accept.split(","):
        name, _, parameters = wish.partition(";")
        quality = _QUALITY.search(parameters)
        wishes[name.strip()] = float(quality[1]) if quality else 1.0
    family = media_type.partition("/")[0] + "/*"
    return next((wishes[name] for name in (media_type, family, "*/*") if name in wishes), 0.0)


def _in_words(rate: Rate) -> str:
    """
    >>> _in_words(Rate(600, 60_000)), _in_words(Rate(5, 1_500))
    ('600 per 1 minute', '5 per 1.5 second')
    """
    units = {"day": 86_400_000, "hour": 3_600_000, "minute": 60_000}
    for unit, milliseconds in units.items():
        if rate.interval % milliseconds == 0:
            return f"{rate.limit} per {rate.interval // milliseconds} {unit}"
    return f"{rate.limit} per {rate.interval / 1000:g} second"

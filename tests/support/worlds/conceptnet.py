"""Small ConceptNet servers that misbehave as the real one does, or worse.

Promise: a `World` without a fault answers like the mirror; its fault, latency and reachability may
be changed while it runs. A fault stands between a request and the honest answer; `only` narrows it
to some requests, `chain` puts several in a row.

    World(hub(60), page_size=10, shuffle=Random(1))
    World(hub(60), chain(only(nth(3), fails(502)), only(about("/c/en/x"), fails(500))))

Limits: every request sorts all it finds, so worlds should stay below some thousand lines.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from random import Random
from threading import Condition, Event, Lock
from typing import Any, Self
from urllib.parse import urlsplit

from tools.conceptnet.dump.shown import Edge
from tools.conceptnet.index.build import index_of
from tools.conceptnet.index.index import Index
from tools.conceptnet.mirror.mirror import Handler, Mirror
from tools.conceptnet.mirror.pages import json_error, number
from tools.network.reply import HTML, JSON, Reply, html_error, json_reply
from tools.uri import assertion

HUB = "/c/en/hub"
RELATIONS = ("/r/IsA", "/r/UsedFor", "/r/AtLocation", "/r/SimilarTo", "/r/RelatedTo")
LANGUAGES = ("en", "fr", "en", "de", "en", "ja", "en")
HOSTILE = (
    "new\nline",
    "carriage\rreturn",
    "nul\x00byte",
    "\"double\"_and_'single'_and_`back`",
    "'}) DETACH DELETE n //",
    "');DROP_TABLE_nodes;--",
    "back\\slash\\u0041\\n",
    "\u202eright_to_left",
    "שלום",
    "🐕\u200d🦺",
    "../../etc/passwd",
    "a?b=c&d#e%2F",
    "<script>alert(1)</script>",
)

NEWLINE = "\ue000"  # stands for one in the file behind a world

_NOT_ALL_ONE = {0: 2.0, 5: 0.5}
_SOURCE = {"activity": "/s/activity/omcs/vote", "contributor": "/s/contributor/omcs/ann"}


def line(rel: str, start: str, end: str, weight: float = 1.0, **info: Any) -> str:
    """A line of the dump; `info` adds to its last column or replaces what is there."""
    usual = {"dataset": "/d/conceptnet/4/en", "license": "cc:by/4.0", "sources": [_SOURCE]}
    text = json.dumps({**usual, "weight": weight, **info}, sort_keys=True, ensure_ascii=False)
    return "\t".join([assertion(rel, start, end), rel, start, end, text]) + "\n"


def hub(count: int, concept: str = HUB) -> list[str]:
    """One concept with so many neighbours, `neighbour_0` and on; nine in eleven weigh 1.0."""
    return [_spoke(concept, place) for place in range(count)]


def _spoke(concept: str, place: int) -> str:
    # The lengths of the cycles have no common factor, so every combination turns up.
    neighbour = f"/c/{LANGUAGES[place % 7]}/neighbour_{place}"
    ends = (concept, neighbour) if place % 2 else (neighbour, concept)
    return line(RELATIONS[place % 5], *ends, _NOT_ALL_ONE.get(place % 11, 1.0))


def hostile(concept: str = HUB) -> list[str]:
    """Two edges for each hostile text: as end, dataset, licence and surface text; as relation."""
    lines = []
    for text in HOSTILE:
        info = {"dataset": f"/d/{text}", "license": text, "surfaceText": text}
        lines.append(line("/r/IsA", concept, f"/c/en/{text}", 2.0, **info))
        lines.append(line(f"/r/{text}", concept, "/c/en/plain", 2.0))
    return lines


def mesh(count: int) -> list[str]:
    """Concepts tied to their neighbours and to a few hubs, all reachable from the first."""
    return [
        line(f"/r/{kind}", f"/c/en/{number}", f"/c/en/{other % count}")
        for number in range(count)
        for kind, other in (("IsA", number + 1), ("PartOf", number * 7), ("HasA", number % 3))
        if other % count != number
    ]


@dataclass(frozen=True)
class Asked:
    """A request: how many there were with it, as it was sent, and decoded."""

    number: int
    target: str
    path: str
    query: Mapping[str, str]


Proceed = Callable[[Asked], Reply]
Fault = Callable[[Asked, Proceed], Reply]
Which = Callable[[Asked], bool]
Honest = Callable[[str, Mapping[str, str]], Reply]


# Which requests


def nth(count: int) -> Which:
    """The n-th request since the world began, so this happens once."""
    return lambda asked: asked.number == count


def after(count: int) -> Which:
    """Every request after the first n."""
    return lambda asked: asked.number > count


def about(uri: str) -> Which:
    """Every request for the page of exactly this URI, or with it as a parameter."""
    return lambda asked: uri == asked.path or uri in asked.query.values()


def only(which: Which, fault: Fault) -> Fault:
    return lambda asked, proceed: (fault if which(asked) else _honest)(asked, proceed)


def chain(*faults: Fault) -> Fault:
    """All of them; the first sees the request first and the answer last."""
    if not faults:
        return _honest
    first, rest = faults[0], chain(*faults[1:])
    return lambda asked, proceed: first(asked, lambda passed_on: rest(passed_on, proceed))


# What goes wrong with them


def fails(status: int) -> Fault:
    """As the original fails: 429 is HTML without Retry-After, 500 JSON, the rest from nginx."""
    if status == 429:
        failure = html_error(429, "600 per 1 minute")
    elif status == 500:
        failure = json_error(500, "Internal server error")
    else:
        failure = _from_nginx(status)
    return lambda asked, proceed: failure


def error_inside(asked: Asked, proceed: Proceed) -> Reply:
    """HTTP 200, but the body says 500."""
    return replace(json_error(500, "Internal server error"), status=200)


def in_html(asked: Asked, proceed: Proceed) -> Reply:
    """HTTP 200, but a web page instead of JSON."""
    return Reply(200, b"<!DOCTYPE html>\n<title>ConceptNet</title>\n<p>Welcome!</p>\n", HTML)


def truncated(asked: Asked, proceed: Proceed) -> Reply:
    """Half of the JSON, and a Content-Length that agrees with it."""
    answer = proceed(asked)
    return replace(answer, body=answer.body[: len(answer.body) // 2])


def without_edges(asked: Asked, proceed: Proceed) -> Reply:
    return _changed(proceed(asked), lambda page: page.pop("edges", None))


def edge_without_end(asked: Asked, proceed: Proceed) -> Reply:
    """Only the first edge of each page is broken."""
    return _changed(
        proceed(asked), lambda page: [edge.pop("end") for edge in page.get("edges", [])[:1]]
    )


def repeats_itself(asked: Asked, proceed: Proceed) -> Reply:
    """Whatever the offset, the first page, and its nextPage is what was asked for."""
    query = {key: value for key, value in asked.query.items() if key != "offset"}
    view = {"@id": asked.target, "nextPage": asked.target, "paginatedProperty": "edges"}
    return _changed(proceed(replace(asked, query=query)), lambda page: page.update(view=view))


def _honest(asked: Asked, proceed: Proceed) -> Reply:
    return proceed(asked)


def _from_nginx(status: int) -> Reply:
    title = f"{status} {HTTPStatus(status).phrase}"
    text = (
        f"<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n"
        f"<center><h1>{title}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
    )
    return Reply(status, text.encode(), "text/html")


def _changed(answer: Reply, change: Callable[[dict[str, Any]], object]) -> Reply:
    if answer.content_type != JSON:
        return answer
    page = json.loads(answer.body)
    change(page)
    return json_reply(page, answer.status)


# The server


class World:
    """A server on loopback while the `with` block lasts.

    `page_size` is the largest limit, `cap` the most edges a query can reach however it pages.
    With `shuffle`, edges of equal weight come in a new order at each request, so pages lose some.
    """

    def __init__(
        self,
        lines: Iterable[str],
        fault: Fault | None = None,
        *,
        page_size: int = 1_000,
        cap: int = 10_000,
        shuffle: Random | None = None,
        latency: float = 0.0,
    ) -> None:
        self.fault = fault
        self.latency = latency
        self.down = False
        self.paths: list[str] = []
        self.most_at_once = 0
        self._assertions = _Unsteady(lines, cap, shuffle)
        self._page_size = page_size
        self._at_once = 0
        self._arrival = Condition()
        self._closing = Event()
        self._port = 0
        self._holding_port = ExitStack()
        self._switching = Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def accept(self) -> None:
        """Listen, on the same port as before; clients of before are hung up on."""
        with self._switching:
            self._holding_port.close()
            self._closing.clear()
            # Woken after the sockets are shut, a delayed answer can no longer slip out.
            self._holding_port.callback(self._closing.set)
            mirror = Mirror(self._assertions, port=self._port, handler=_handler_for(self))
            self._holding_port.enter_context(mirror)
            self._port = urlsplit(mirror.url).port or 0

    def refuse(self) -> None:
        """Hang up on everybody and refuse new connections until `accept`; a fault may call it."""
        with self._switching:
            self._holding_port.close()
            # Bound without listening: connections are refused, and nobody else can get the port.
            keeper = self._holding_port.enter_context(socket.socket())
            keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            keeper.bind(("127.0.0.1", self._port))

    def wait_for(self, count: int, timeout: float = 60.0) -> None:
        """Block until so many requests have arrived, answered or not."""
        with self._arrival:
            if not self._arrival.wait_for(lambda: len(self.paths) >= count, timeout):
                raise TimeoutError(f"{len(self.paths)} requests instead of {count}")

    def answer(self, target: str, path: str, query: Mapping[str, str], honest: Honest) -> Reply:
        """For the handler: count, delay, and let the fault have its way."""
        with self._counted(target) as count:
            self._closing.wait(self.latency)
            if self.down:
                return _from_nginx(502)
            fault = self.fault or _honest
            asked = Asked(count, target, path, query)
            return fault(asked, lambda passed_on: honest(passed_on.path, self._clamped(passed_on)))

    def __enter__(self) -> Self:
        self.accept()
        return self

    def __exit__(self, *_: object) -> None:
        with self._switching:
            self._holding_port.close()

    @contextmanager
    def _counted(self, target: str) -> Iterator[int]:
        with self._arrival:
            self.paths.append(target)
            count = len(self.paths)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self._arrival.notify_all()
        try:
            yield count
        finally:
            with self._arrival:
                self._at_once -= 1

    def _clamped(self, asked: Asked) -> dict[str, str]:
        default = 20 if asked.path.startswith(("/c/", "/r/", "/s/", "/d/")) else 50
        limit = number(asked.query, "limit", default, self._page_size)
        return {**asked.query, "limit": str(limit)}


def _handler_for(world: World) -> type[Handler]:
    class Misbehaving(Handler):
        def answer(self, path: str, query: Mapping[str, str]) -> Reply:
            return world.answer(self.requestline.split()[1], path, query, super().answer)

    return Misbehaving


class _Unsteady(Index):
    """The cap comes before the sort and takes the first lines; `shuffle` spoils all but weight."""

    def __init__(self, lines: Iterable[str], cap: int, shuffle: Random | None) -> None:
        lines = [line.removesuffix("\n").replace("\n", NEWLINE) for line in lines]
        self._steady = index_of(lines)
        self.__dict__ |= vars(self._steady)
        self._cap = cap
        self._shuffle = shuffle
        self._line_of = {line.partition("\t")[0]: place for place, line in enumerate(lines)}

    def find(
        self, criteria: Mapping[str, str], offset: int = 0, limit: int = 50
    ) -> tuple[list[Edge], bool]:
        rows, _ = super().find(criteria, 0, len(self))
        reached = {row.shown for row in sorted(rows, key=self._stored)[: self._cap]}
        rows = [row for row in rows if row.shown in reached]
        if self._shuffle:
            self._shuffle.shuffle(rows)
            rows.sort(key=_weight, reverse=True)
        page = [_with_newlines(row) for row in rows[offset : offset + limit]]
        return page, len(rows) > offset + limit

    def _stored(self, row: Edge) -> int:
        return self._line_of[row.said["@id"]]


def _with_newlines(row: Edge) -> Edge:
    """No file can hold a text with a newline in it, but a server can send one."""
    return row._replace(shown=row.shown.replace(NEWLINE.encode(), b"\\n"))


def _weight(row: Edge) -> float:
    weight: float = row.said["weight"]
    return weight

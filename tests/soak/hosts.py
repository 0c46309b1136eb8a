"""The servers of a soak: a source, three providers of media and some proxies, each with its moods.

Promise: a host in good health answers as the sample's does. Its mood may be changed while it runs,
for a while or until it is changed again; a host that refuses comes back on the same port. While
`Neighbourhood.only_proxies` is set, every request that came any other way is counted as `direct`.

For each text and kind there is one good file and one provider that has it. With a choice, a search
that meets a provider in bad health rightly takes another's file, and two harvests of the same world
could not be compared.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache
from threading import Event, Lock
from typing import Literal, Self
from urllib.parse import urlsplit

from tests.support.worlds.faults import reset
from tests.support.worlds.proxies import HttpProxy
from tools.conceptnet.index.build import index_of
from tools.conceptnet.mirror import mirror
from tools.conceptnet.mirror.pages import json_error
from tools.network import server
from tools.network.reply import Reply
from tools.sample import sites
from tools.sample.commons_answers import Commons
from tools.sample.inaturalist_answers import INaturalist
from tools.sample.offers import WANTED, Offers
from tools.sample.openverse_answers import Openverse
from tools.sample.texts import Texts

Mood = Literal["well", "503", "slow", "cut", "dribble"]

SLOW_S = 0.6
DRIBBLE_S = 0.1
SOURCE_LATENCY_S = 0.05  # so that fetching takes about as long as getting the media
ANSWERS_KEPT = 4096
PROXIES = 3
VIA = "1.1 soak"


class Host:
    """A server on loopback whose health can change."""

    def __init__(self, name: str, serve: Callable[[Host, int], server.Serving]) -> None:
        self.name = name
        self.requests = 0
        self.latency = 0.0
        self.came: Callable[[str], None] = lambda via: None
        self._serve = serve
        self._mood: Mood = "well"
        self._until = 0.0
        self._port = 0
        self._closing = Event()
        self._holding_port = ExitStack()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def mood(self) -> Mood:
        return self._mood if time.monotonic() < self._until else "well"

    def fall_into(self, mood: Mood, seconds: float) -> None:
        self._mood, self._until = mood, time.monotonic() + seconds

    def recover(self) -> None:
        self._until = 0.0

    def accept(self) -> None:
        """Listen, on the same port as before."""
        self._close()
        self._closing.clear()
        serving = self._holding_port.enter_context(self._serve(self, self._port))
        self._port = urlsplit(serving.url).port or 0

    def refuse(self) -> None:
        """Hang up on everybody and refuse new connections until `accept`."""
        self._close()
        keeper = self._holding_port.enter_context(socket.socket())
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        keeper.bind(("127.0.0.1", self._port))  # without listening: nobody else gets the port

    def __enter__(self) -> Self:
        self.accept()
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        self._closing.set()
        self._holding_port.close()

    def send(
        self, handler: server.Handler, answer: Reply, honestly: Callable[[Reply], None]
    ) -> None:
        """For the handlers: the answer as the mood lets it out."""
        if hasattr(handler, "headers"):  # else it broke off before
            self.came(handler.headers.get("Via", ""))
            self.requests += (
                handler.path != "/"
            )  # who asks for that only wants to know who is there
        mood = self.mood
        self._closing.wait(SLOW_S if mood == "slow" else self.latency)
        if mood == "503":
            honestly(json_error(503, "out of order"))
        elif mood in ("cut", "dribble"):
            self._send_half(handler, answer, mood)
        else:
            honestly(answer)

    def _send_half(self, handler: server.Handler, answer: Reply, mood: Mood) -> None:
        """Half of it and a reset, or all of it a byte at a time while the mood lasts."""
        handler.close_connection = True
        message = "\r\n".join([*handler.head(answer), "\r\n"]).encode("latin-1") + answer.body
        if mood == "cut":
            handler.write(message[: len(message) // 2])
            reset(handler.connection)
            return
        for byte in message:
            handler.write(bytes([byte]))
            if self.mood != mood or self._closing.wait(DRIBBLE_S):
                return


class SourceHandler(mirror.Handler):
    host: Host

    def send(self, answer: Reply) -> None:
        self.host.send(self, answer, super().send)


class SiteHandler(sites.Handler):
    host: Host

    def send(self, answer: Reply) -> None:
        self.host.send(self, answer, super().send)


class SiteServer(sites.SiteServer):
    def __init__(self, site: sites.Site, port: int, handler: type[sites.Handler]) -> None:
        self.site = site
        server.Server.__init__(self, ("127.0.0.1", port), handler)


def source(lines: Sequence[str]) -> Host:
    assertions = index_of(lines)

    def serve(host: Host, port: int) -> server.Serving:
        own = type("Own", (SourceHandler,), {"host": host})
        return mirror.Mirror(assertions, port=port, handler=own)

    found = Host("source", serve)
    found.latency = SOURCE_LATENCY_S
    return found


def providers(lines: Sequence[str]) -> list[Host]:
    texts = Texts.of(lines)
    offers = NoChoice(texts.all(), texts.taxa)
    all_sites = (Commons(texts, offers), Openverse(texts, offers), INaturalist(texts, offers))
    return [_provider(Remembering(site)) for site in all_sites]


def _provider(site: sites.Site) -> Host:
    def serve(host: Host, port: int) -> server.Serving:
        own = type("Own", (SiteHandler,), {"host": host})
        return server.Serving(SiteServer(site, port, own), site.name)

    return Host(site.name, serve)


class NoChoice(Offers):
    """The same provider as in the sample, but nobody else, and one good file."""

    def good(self, kind: str, text: str) -> dict[str, int]:
        found = super().good(kind, text)
        return {provider: WANTED[kind] for provider in list(found)[:1]}


class Remembering:
    """Files are drawn once and not for every harvest, as far as there is room for them."""

    def __init__(self, site: sites.Site) -> None:
        self.name = site.name

        @lru_cache(ANSWERS_KEPT)
        def answer(base: str, path: str, query: tuple[tuple[str, str], ...]) -> Reply:
            return site.answer(base, path, dict(query))

        self._answer = answer

    def answer(self, base: str, path: str, query: Mapping[str, str]) -> Reply:
        return self._answer(base, path, tuple(query.items()))


class Passage(HttpProxy):
    """A proxy that serves for days and forgets what is over. What comes through it says so."""

    def _forward(self, connection: socket.socket, target: str, headers: dict[str, str]) -> None:
        super()._forward(connection, target, {**headers, "via": VIA})

    def _serve(self, connection: socket.socket) -> None:
        super()._serve(connection)
        self.peers.clear()
        self.outgoing.clear()
        if len(self._threads) > 100:
            self._threads = [each for each in self._threads if each.is_alive()]


class Neighbourhood:
    """Everybody a harvest of the soak may talk to."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.source = source(lines)
        self.providers = providers(lines)
        self.proxies: list[Passage] = []
        self.only_proxies = False
        self.direct = 0
        self._lock = Lock()
        self._holding = ExitStack()

    @property
    def hosts(self) -> list[Host]:
        return [self.source, *self.providers]

    @property
    def media_requests(self) -> int:
        return sum(each.requests for each in self.providers)

    def recover(self) -> None:
        """Everybody is well again, except hosts that refuse: those are told to accept."""
        for host in self.hosts:
            host.recover()
        for proxy in self.proxies:
            proxy.mode = "works"

    def __enter__(self) -> Self:
        for host in self.hosts:
            host.came = self._note_way
            self._holding.enter_context(host)
        self.proxies = [self._holding.enter_context(Passage()) for _ in range(PROXIES)]
        return self

    def __exit__(self, *_: object) -> None:
        self._holding.close()

    def _note_way(self, via: str) -> None:
        if self.only_proxies and via != VIA:
            with self._lock:
                self.direct += 1

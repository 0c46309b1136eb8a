"""The process behind `media`: each provider of the sample on its own port of loopback.

Promise: one line of JSON with the addresses on the standard output, then answers until the standard
input ends. Whoever holds its other end needs to do nothing for that, not even live.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import Protocol

from ..network import server
from ..network.reply import Reply
from . import world
from .commons_answers import Commons
from .files import CutShort
from .inaturalist_answers import INaturalist
from .offers import Offers
from .openverse_answers import Openverse
from .texts import Texts


class Site(Protocol):
    """One provider: what it says to a request. `base` is its own address."""

    name: str

    def answer(self, base: str, path: str, query: Mapping[str, str]) -> Reply: ...


class Handler(server.Handler):
    server: SiteServer

    def answer(self, path: str, query: Mapping[str, str]) -> Reply:
        return self.server.site.answer(self.server.url, path, query)

    def send(self, answer: Reply) -> None:
        if isinstance(answer, CutShort):
            self.close_connection = True
        super().send(answer)

    def head(self, answer: Reply) -> list[str]:
        lines = super().head(answer)
        if isinstance(answer, CutShort):
            return [line for line in lines if not line.startswith("Content-Length")]
        return lines


class SiteServer(server.Server):
    def __init__(self, site: Site) -> None:
        self.site = site
        super().__init__(("127.0.0.1", 0), Handler)


def main() -> None:
    """Serve until nobody holds the other end of the standard input."""
    with ExitStack() as serving:
        servers = [
            (site.name, serving.enter_context(server.Serving(SiteServer(site), site.name)))
            for site in sites()
        ]
        gc.freeze()
        line = json.dumps({name: each.url for name, each in servers}) + "\n"
        with suppress(BrokenPipeError):  # whoever started us is gone already
            os.write(sys.stdout.fileno(), line.encode())
        sys.stdin.buffer.read()


def sites() -> list[Site]:
    texts = Texts.of(world.lines())
    offers = Offers(texts.all(), texts.taxa)
    return [site(texts, offers) for site in (Commons, Openverse, INaturalist)]


if __name__ == "__main__":
    main()

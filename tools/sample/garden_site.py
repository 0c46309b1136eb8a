"""The server of the garden book, on a port of loopback while its `with` block lasts.

It answers as a proxy does, for whoever asks it for a page of `garden.example`: so the site has the
same name on whichever port it is.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from threading import Lock

from ..network import server
from ..network.reply import Reply, html_error
from . import garden

MONTH = re.compile(r"/calendar/(\d{4}-(?:0[1-9]|1[0-2]))")
FIELD = re.compile(r"/field/(\d{1,15})", re.ASCII)
MAZE = re.compile(r"/maze/(?:left/right/)*")


class GardenHandler(server.Handler):
    server: GardenServer

    def do_GET(self) -> None:
        self._target = self.path.removeprefix(garden.BASE) or "/"
        super().do_GET()

    do_HEAD = do_GET

    def answer(self, path: str, query: Mapping[str, str]) -> Reply:
        return self.server.answer(self._target)


class GardenServer(server.Server):
    """`asked` are the targets of all requests so far; each is answered after so many seconds."""

    def __init__(self, latency_s: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), GardenHandler)
        self.asked: list[str] = []
        self._latency_s = latency_s
        self._known: set[str] = set()
        self._pages = garden.pages()
        self._lock = Lock()

    def answer(self, target: str) -> Reply:
        with self._lock:
            is_first = target not in self._known
            self._known.add(target)
            self.asked.append(target)
        time.sleep(self._latency_s)
        if target == "/robots.txt":
            return Reply(200, garden.robots_txt().encode(), "text/plain")
        if target == "/sitemap.xml.gz":
            return Reply(200, garden.sitemap(), "application/gzip")
        if target == "/once" and is_first:
            return html_error(500, "Try again.")
        page = self._page(target)
        if page is None:
            return html_error(404, "There is no such page.")
        return Reply(page.status, page.content, page.content_type, page.headers)

    def _page(self, target: str) -> garden.SitePage | None:
        if target == "/once":
            return garden.SitePage(b"<p>At the second try.</p>")
        if found := MONTH.fullmatch(target):
            return garden.calendar(found[1])
        if MAZE.fullmatch(target):
            return garden.maze(target)
        if found := FIELD.fullmatch(target):
            return garden.bed(int(found[1]))
        path = target.partition(";")[0]
        return self._pages.get(path) or self._pages.get(path.partition("?utm_")[0])


class GardenSite(server.Serving):
    def __init__(self, latency_s: float = 0.0) -> None:
        self.server = GardenServer(latency_s)
        super().__init__(self.server, "garden")

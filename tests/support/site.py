"""A site that a test makes up: pages by path, and what was asked of it, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import NamedTuple, Self
from urllib.parse import parse_qsl, urlsplit


class Asked(NamedTuple):
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def fields(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True))


class Said(NamedTuple):
    body: str | bytes = ""
    status: int = 200
    kind: str = "text/html; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()


Page = str | Said | Callable[[Asked], str | Said]
Pages = Mapping[str, Page]


class Site:
    """`pages` may be changed while it runs; what is not among them is a 404."""

    def __init__(self, pages: Pages) -> None:
        self.pages = dict(pages)
        self.asked: list[Asked] = []
        self._lock = Lock()
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                asked = Asked(self.command, self.path, dict(self.headers.items()), body)
                site._answer(self, asked)

            do_POST = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/"

    @property
    def paths(self) -> list[str]:
        """What was asked for, but for robots.txt."""
        return [each.target for each in self.asked if each.target != "/robots.txt"]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler, asked: Asked) -> None:
        with self._lock:
            self.asked.append(asked)
            page = self.pages.get(asked.target, self.pages.get(urlsplit(asked.target).path))
        said = page(asked) if callable(page) else page
        said = Said(said) if isinstance(said, str) else said or Said("nothing here", 404)
        body = said.body.encode() if isinstance(said.body, str) else said.body
        handler.send_response(said.status)
        handler.send_header("Content-Type", said.kind)
        handler.send_header("Content-Length", str(len(body)))
        for name, value in said.headers:
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

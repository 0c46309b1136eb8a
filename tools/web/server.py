"""The server: where it listens, what it prints, how it ends.

Promise: by default nobody outside of this computer reaches it; the token of a start lies in a file
that only its owner can read, and goes with the server. It ends within seconds, streams and all.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn

from ..errors import UsageError
from ..journal.snapshots import TOKEN, WAY_IN
from .access import Access
from .app import Web
from .own_file import own_file
from .patience import Patience
from .site import Site
from .streams import Streams
from .way_in import show_way_in

logger = logging.getLogger(__name__)

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
LONELY_S = 10.0  # so long the page says that its harvest is dead, before it goes too
END_S = 3
MOST_CONNECTIONS = 1000
NICE = 10


@dataclass(frozen=True)
class Listening:
    """Where: a port of an address, or a socket file. `public` is what people type, if that is
    something else, such as the address of a proxy."""

    host: str = "127.0.0.1"
    port: int = 8085
    socket_file: Path | None = None
    public: str = ""

    @property
    def is_everywhere(self) -> bool:
        return self.socket_file is None and self.host in ("0.0.0.0", "::")  # noqa: S104

    @property
    def _name(self) -> str:
        return socket.gethostname() if self.is_everywhere else self.host

    @property
    def is_local(self) -> bool:
        return self.socket_file is not None or self.host in ("127.0.0.1", "localhost", "::1")

    def opened(self) -> socket.socket:
        try:
            if self.socket_file is not None:
                return _socket_file(self.socket_file)
            family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
            return socket.create_server((self.host, self.port), family=family, backlog=1024)
        except OSError as error:
            place = self.socket_file or f"{self.host}:{self.port}"
            other = "--socket" if self.socket_file else "--port"
            raise UsageError(
                f"the page cannot be served at {place} ({error.strerror or error}): "
                f"choose another {other}"
            ) from error

    def address(self, port: int) -> str:
        if self.public:
            return self.public.rstrip("/")
        own = f"http://{_bracketed(self._name)}:{port}"
        return "http://localhost" if self.socket_file else own

    def names(self, port: int) -> frozenset[str]:
        """What a Host header may say."""
        if self.socket_file is not None:
            found = {"localhost"}
        else:
            found = {f"{each}:{port}" for each in (_bracketed(self._name), *LOOPBACK)}
        public = {urlsplit(self.public).netloc} if self.public else set()
        default = "443" if self.public.startswith("https:") else "80"
        return frozenset(
            each.lower() for name in (found | public) for each in _as_browsers_say(name, default)
        )


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _as_browsers_say(name: str, default: str) -> tuple[str, ...]:
    """They leave out the port that is meant anyhow."""
    bare = name.removesuffix(f":{default}")
    return (bare, f"{bare}:{default}") if bare != name else (name,)


@dataclass
class PageServer:
    """One that is served; `beside` is the process that it shows, if it is to go with it; `show`
    gets the address of a file that leads a browser in."""

    site: Site
    listening: Listening = field(default_factory=Listening)
    beside: int | None = None
    ready: Callable[[str], object] = print
    show: Callable[[str], object] | None = None
    _server: Server | None = None

    def serve(self) -> None:
        """Until somebody ends it."""
        with self.listening.opened() as opened:
            try:
                self._serve(opened)
            finally:  # a signal comes back as an exception when the server has ended
                self.site.close()
                if self.listening.socket_file is not None:
                    self.listening.socket_file.unlink(missing_ok=True)

    def _serve(self, opened: socket.socket) -> None:
        port = opened.getsockname()[1] if self.listening.socket_file is None else 0
        access = self._access(port)
        server = self._server = _server(self.site, access)
        with _token_file(self.site.state, access.token):
            address = f"{self.listening.address(port)}/?token="
            self.ready(address + access.token)
            asyncio.run(self._run(server, opened, address, access))

    def stop(self) -> None:
        """From another thread."""
        if self._server is not None:
            self._server.should_exit = True

    def _access(self, port: int) -> Access:
        return Access(
            self.listening.names(port),
            port if self.listening.is_everywhere else None,
            is_read_only=self.site.sources.is_read_only,
            is_secure=self.listening.public.startswith("https:"),
            name=f"sheaf-{port}",
        )

    async def _run(self, server: Server, opened: socket.socket, address: str, way: Access) -> None:
        """What goes on beside the server ends with it, or with the loop if a signal ends that."""
        beside = [self._watch_parent(server)] if self.beside else []
        if self.show is not None:
            beside.append(self._show(self.show, server, address, way))
        tasks = [asyncio.create_task(each) for each in beside]
        await server.serve(sockets=[opened])
        for task in tasks:
            task.cancel()

    async def _show(
        self, show: Callable[[str], object], server: Server, address: str, way: Access
    ) -> None:
        await server.has_begun.wait()
        await show_way_in(self.site.state / WAY_IN, address, way, show)

    async def _watch_parent(self, server: Server) -> None:
        while os.getppid() == self.beside:
            await asyncio.sleep(1.0)
        await asyncio.sleep(LONELY_S)
        server.should_exit = True


class Server(uvicorn.Server):
    """Streams never end by themselves: they are told."""

    def __init__(self, config: uvicorn.Config, streams: Streams) -> None:
        super().__init__(config)
        self._streams = streams
        self.has_begun = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.has_begun.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._streams.close()
        await super().shutdown(sockets)


def _server(site: Site, access: Access) -> Server:
    streams = Streams()
    config = uvicorn.Config(
        Web(site, access, streams).app(),
        http=Patience,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=END_S,
        h11_max_incomplete_event_size=32_768,
    )
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # what clients do wrong is no news
    return Server(config, streams)


@contextmanager
def _token_file(state: Path, token: str) -> Iterator[None]:
    """For programs of whoever started it; of a state that only others can write there is none."""
    with own_file(state / TOKEN, token) as trouble:
        if trouble:
            logger.warning("%s: programs need the printed token", trouble)
        yield


def _socket_file(path: Path) -> socket.socket:
    """Closed to other users; one that nobody listens at any more is replaced."""
    if path.is_socket() and not _is_answered(path):
        path.unlink()
    made = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        made.bind(str(path))
    except BaseException:
        made.close()
        raise
    finally:
        os.umask(before)
    made.listen(1024)
    return made


def _is_answered(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as asking:
        return asking.connect_ex(str(path)) == 0

"""A web server whose path names the fault: real sockets, loopback only, a free port.

/ok /json /empty /html /not-json        answers, the last three of little use
/status/503  /status/503/then/2         that status always, or twice and then 200
/429  /429/date  /429/year              asks for a pause; plain /429 is ConceptNet's, word for word
/429/retry-after/<value>                any value, percent-encoded
/truncated?length=1  /truncated         400 of 1000 bytes, with and without their number announced
/truncated-chunks  /truncated-headers   cut off in the middle of a chunk, or of the headers
/dribble  /dribble-headers              a byte every 50 ms for ever, in the body or in the headers
/hang  /hang-after-headers              silence
/stream  /crumbs                        a body without end, in large pieces or two-byte chunks
/stream/<status>                        the same with another status than 200
/pieces/<n>                             n bytes of which each is known by its place
/bomb/gzip  /onion                      100 MB in 100 kB; gzip in gzip in gzip ...
/packed/<coding>/<cut>                  `PACKED` without its last bytes; -1: with rubbish; ?chunks=1
/reset                                  the connection is torn down
/redirect/<n>  /redirect-loop  /redirect-to?url=...  /redirect-nowhere
/together/<n>/<fault>                   nobody is answered before n requests are here
/held/<fault>                           nobody is answered before the test sets `released`
"""

from __future__ import annotations

import contextlib
import email.utils
import functools
import gzip
import socket
import ssl
import struct
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, unquote, urlsplit

DRIBBLE_EVERY_S = 0.05
PATIENCE_S = 30.0
BOMB_BYTES = 100_000_000
TOO_MANY = (
    b'<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">\n<title>429 Too Many Requests</title>'
    b"\n<h1>Too Many Requests</h1>\n<p>600 per 1 minute</p>\n"
)
HTML = b"<!DOCTYPE html><title>Welcome</title><p>Please log in.</p>"

PACKED = {
    "gzip": gzip.compress(b"ok"),
    "gzip-members": gzip.compress(b"o") + gzip.compress(b"k"),
    "gzip-empty": gzip.compress(b""),
    "deflate": zlib.compress(b"ok"),
    "deflate-raw": zlib.compress(b"ok")[2:-4],
}


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]
    arrived: float

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    def option(self, name: str) -> str:
        return parse_qs(urlsplit(self.target).query).get(name, [""])[0]


class SocketServer:
    """Accepts on a free port of the loopback, a thread for each connection, and ends at once."""

    scheme = "http"

    def __init__(self) -> None:
        self.connections = 0
        self.peers: list[tuple[str, int]] = []
        self.stopping = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._sockets: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.go_away()
        for thread in list(self._threads):
            thread.join(timeout=PATIENCE_S)
            assert not thread.is_alive(), f"{thread.name} does not end"
        self._listener.close()

    def go_away(self) -> None:
        """Hang up on everybody, and listen no more."""
        self.stopping.set()
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()  # wakes accept
        with self._lock:
            for each in self._sockets:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def serve(self, connection: socket.socket) -> None:
        raise NotImplementedError

    def adopt(self, connection: socket.socket) -> socket.socket:
        """This socket, too, is shut down when the server ends."""
        with self._lock:
            self._sockets.add(connection)
            if self.stopping.is_set():
                connection.shutdown(socket.SHUT_RDWR)
        return connection

    def drop(self, connection: socket.socket) -> None:
        with self._lock:
            self._sockets.discard(connection)
            connection.close()

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        name = f"{type(self).__name__} {target.__name__}"
        thread = threading.Thread(target=target, args=arguments, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with self._listener:
            while not self.stopping.is_set():
                connection, peer = self._listener.accept()
                if self.stopping.is_set():
                    connection.close()
                    return
                self.connections += 1
                self.peers.append(peer)
                self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            with contextlib.suppress(OSError):  # the other side went away, or we are ending
                self.serve(self.adopt(connection))
        finally:
            self.drop(connection)


def read_head(connection: socket.socket) -> Request | None:
    """The next request without a body; None when there is none."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte or not (head or byte.isalpha()):  # the end, or somebody who speaks TLS
            return None
        head += byte
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    return Request(method, target, headers, time.monotonic())


def answer(status: int, body: bytes = b"", kind: str = "text/plain", **headers: str) -> bytes:
    """A whole answer. `Retry_After="7"` becomes the header Retry-After."""
    lines = [f"HTTP/1.1 {status} Status", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def as_chunks(whole: bytes) -> bytes:
    """The same answer in one chunk."""
    head, _, body = whole.partition(b"\r\n\r\n")
    lines = [each for each in head.split(b"\r\n") if not each.startswith(b"Content-Length")]
    head = b"\r\n".join([*lines, b"Transfer-Encoding: chunked", b"", b""])
    return head + f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"


def pieces(count: int) -> bytes:
    return b"".join(number.to_bytes(4, "big") for number in range(count // 4 + 1))[:count]


@functools.cache
def gzip_bomb() -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    block = bytes(1_000_000)
    return b"".join(packer.compress(block) for _ in range(BOMB_BYTES // len(block))) + (
        packer.flush()
    )


class FaultServer(SocketServer):
    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__()
        self.hits: Counter[str] = Counter()
        self.requests: list[Request] = []
        self.most_at_once = 0
        self.asked = threading.Event()
        self.released = threading.Event()
        self._at_once = 0
        self._tls = tls
        self._gates: dict[str, threading.Barrier] = {}
        self.scheme = "https" if tls else "http"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.released.set()
        for gate in list(self._gates.values()):
            gate.abort()
        super().__exit__(kind, error, traceback)

    def serve(self, connection: socket.socket) -> None:
        if self._tls is not None:
            plain, connection = connection, self._tls.wrap_socket(connection, server_side=True)
            self.adopt(connection)
            self.drop(plain)
        try:
            while (request := read_head(connection)) is not None:
                if not self._answer(connection, request):
                    return
        finally:
            self.drop(connection)

    def _answer(self, connection: socket.socket, request: Request) -> bool:
        """Do what the path says; False if the connection is of no further use."""
        with self._lock:
            self.hits[request.path] += 1
            self.requests.append(request)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        self.asked.set()
        try:
            return self._fault(connection, request, unquote(request.path).strip("/").split("/"))
        finally:
            with self._lock:
                self._at_once -= 1

    def _fault(self, connection: socket.socket, request: Request, steps: list[str]) -> bool:
        match steps:
            case ["together", count, *rest]:
                self._wait_for_all(request.path, int(count))
                return self._fault(connection, request, rest)
            case ["held", *rest]:
                self.released.wait(timeout=PATIENCE_S)
                return self._fault(connection, request, rest)
            case ["dribble" | "dribble-headers" | "hang" | "hang-after-headers" as name]:
                self._be_slow(connection, name)
            case ["stream"]:
                self._pour(connection, b"", bytes(65536))
            case ["stream", status]:
                self._pour(connection, b"", bytes(65536), int(status))
            case ["crumbs"]:
                self._pour(connection, b"Transfer-Encoding: chunked\r\n", b"2\r\nab\r\n" * 1000)
            case ["truncated"]:
                length = "Content-Length: 1000\r\n" if request.option("length") else ""
                connection.sendall(f"HTTP/1.1 200 OK\r\n{length}\r\n".encode() + b"x" * 400)
            case ["truncated-chunks"]:
                chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                connection.sendall(chunked + b"3e8\r\n" + b"x" * 400)
            case ["truncated-headers"]:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Le")
            case ["reset"]:
                reset(connection)
            case _:
                connection.sendall(self._whole_answer(request, steps))
                return request.headers.get("connection") != "close"
        return False

    def _whole_answer(self, request: Request, steps: list[str]) -> bytes:
        match steps:
            case ["ok"]:
                return answer(200, b"ok", Set_Cookie="taste=sweet")
            case ["json"]:
                return answer(200, b'{"edges": []}', "application/json")
            case ["pieces", count]:
                return answer(200, pieces(int(count)), "application/octet-stream")
            case ["empty"]:
                return answer(200)
            case ["html"]:
                return answer(200, HTML, "text/html")
            case ["not-json"]:
                return answer(200, b'{"edges": [', "application/json")
            case ["status", status]:
                return answer(int(status), b"" if status in ("204", "304") else b"because")
            case ["status", status, "then", count]:
                better = self.hits[request.path] > int(count)
                return answer(200, b"ok") if better else answer(int(status), b"not yet")
            case ["429", *how]:
                return answer(429, TOO_MANY, "text/html; charset=utf-8", **_pause(how))
            case ["503", "retry-after", value]:
                return answer(503, b"busy", Retry_After=value)
            case ["bomb", "gzip"]:
                return answer(200, gzip_bomb(), Content_Encoding="gzip")
            case ["packed", coding, cut]:
                packed = PACKED[coding] + b"rubbish"
                sent = packed[: len(packed) - 7 - int(cut)] if int(cut) >= 0 else packed
                whole = answer(200, sent, Content_Encoding=coding.partition("-")[0])
                return as_chunks(whole) if request.option("chunks") else whole
            case ["onion"]:
                return answer(200, b"peeled", Content_Encoding=", ".join(["gzip"] * 30))
            case ["redirect", "0"]:
                return answer(200, b"arrived")
            case ["redirect", count]:
                return answer(302, Location=f"/redirect/{int(count) - 1}")
            case ["redirect-loop"]:
                return answer(301, Location="/redirect-loop")
            case ["redirect-to"]:
                return answer(307, b"over there", Location=request.option("url"))
            case ["redirect-nowhere"]:
                return answer(302)
        return answer(404, b"no such fault")

    def _wait_for_all(self, path: str, count: int) -> None:
        with self._lock:
            gate = self._gates.setdefault(path, threading.Barrier(count))
        with contextlib.suppress(threading.BrokenBarrierError):
            gate.wait(timeout=PATIENCE_S)

    def _be_slow(self, connection: socket.socket, name: str) -> None:
        if name != "hang":
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
        if name in ("dribble", "hang-after-headers"):
            connection.sendall(b"Content-Length: 1000000\r\n\r\n")
        if not name.startswith("dribble"):
            self.stopping.wait()
        if name == "dribble-headers":
            connection.sendall(b"X-Long: ")
        while not self.stopping.wait(DRIBBLE_EVERY_S):
            connection.sendall(b"x")

    def _pour(
        self, connection: socket.socket, headers: bytes, piece: bytes, status: int = 200
    ) -> None:
        connection.sendall(f"HTTP/1.1 {status} Status\r\n".encode() + headers + b"\r\n")
        while not self.stopping.is_set():
            connection.sendall(piece)


def _pause(how: list[str]) -> dict[str, str]:
    """The header that asks for it, if one does."""
    match how:
        case ["retry-after", value]:
            return {"Retry_After": value}
        case ["date"]:
            return {"Retry_After": email.utils.formatdate(time.time() + 120, usegmt=True)}
        case ["year"]:
            return {"Retry_After": str(365 * 24 * 3600)}
    return {}


def reset(connection: socket.socket) -> None:
    """Close so that the other side gets RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()

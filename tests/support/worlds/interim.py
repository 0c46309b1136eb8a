"""A server that says more than one answer to a request, or other bytes than it announced.

/103 /102 /100 /199   one interim answer, and a little later the final one
/103/<n>              n of them at once before the final one
/hints/<n>            103 with n bytes of headers
/101                  switches to a protocol nobody asked for
/only/103             an interim answer, then silence
/odd/<kind>           one of `ODD`
anything else         an ordinary answer

Every final answer's body is the path that was asked for, so that a shifted one is seen.
"""

from __future__ import annotations

import socket
import ssl

from tests.support.worlds.faults import Request, SocketServer, answer, as_chunks, read_head
from tests.support.worlds.proxies import Socks5Proxy

PAUSE_S = 0.05  # between an interim answer and the final one
OTHER = answer(200, b"somebody else's")
ODD = {
    "rest": lambda body: answer(200, body) + b"rest",
    "second": lambda body: answer(200, body) + OTHER,
    "no-content": lambda body: answer(204).replace(b"Content-Length: 0\r\n", b"") + OTHER,
    "both": lambda body: as_chunks(answer(200, body, content_length="7")),
    "coding": lambda body: answer(200, body, Transfer_Encoding="xchunked"),
    "lengths": lambda body: answer(200, body, content_length=str(len(body))),
    "broken-header": lambda body: answer(200, body).replace(b"\r\n\r\n", b"\r\nno header\r\n\r\n"),
}
"""Whole answers with something odd about them: by what is odd."""


class InterimServer(SocketServer):
    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__()
        self._tls = tls
        self.scheme = "https" if tls else "http"
        self.requests: list[Request] = []

    def serve(self, connection: socket.socket) -> None:
        if self._tls is not None:
            plain, connection = connection, self._tls.wrap_socket(connection, server_side=True)
            self.adopt(connection)
            self.drop(plain)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while (request := read_head(connection)) is not None:
                self.requests.append(request)
                self._say(connection, request.path)
                if request.headers.get("connection") == "close":
                    return
        finally:
            self.drop(connection)

    def _say(self, connection: socket.socket, path: str) -> None:
        """The final answer comes later, as if it took some work."""
        match path.strip("/").split("/"):
            case ["only", status]:
                connection.sendall(_interim(int(status)))
                self.stopping.wait()
            case ["101"]:
                connection.sendall(_interim(101, "Upgrade: h2c"))
            case ["100" | "102" | "103" | "199" as status]:
                connection.sendall(_interim(int(status)))
                self.stopping.wait(PAUSE_S)
            case ["103", count]:
                connection.sendall(_interim(103, "Link: </a.css>; rel=preload") * int(count))
                self.stopping.wait(PAUSE_S)
            case ["hints", size]:
                connection.sendall(_interim(103, *["Link: " + "x" * 1000] * (int(size) // 1000)))
            case ["odd", kind]:
                connection.sendall(ODD[kind](path.encode()))
                return
        connection.sendall(answer(200, path.encode()))


class HintingProxy(Socks5Proxy):
    """Before every answer an interim one; connections are kept."""

    def read_raw_into(self, data: bytes, target: socket.socket, is_sent: bool) -> None:
        if not is_sent and data.startswith(b"HTTP/1."):
            target.sendall(_interim(103, "Link: </a.css>; rel=preload"))
            self.stopping.wait(PAUSE_S / 5)
        super().read_raw_into(data, target, is_sent)


def _interim(status: int, *headers: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} Interim", *headers, "", ""]).encode()

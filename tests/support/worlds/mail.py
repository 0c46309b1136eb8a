"""Who takes notices: a mail server and a web server, on loopback, that keep what they are sent."""

from __future__ import annotations

import email
import email.policy
import json
import socket
from email.message import EmailMessage
from queue import Queue
from socket import SocketIO
from typing import Any
from urllib.parse import unquote

from tests.support.worlds.faults import Request, SocketServer, answer, read_head

PATIENCE_S = 30.0


class MailServer(SocketServer):
    """SMTP without TLS; `greets=False` accepts and says nothing for ever."""

    scheme = "mailto"

    def __init__(self, greets: bool = True) -> None:
        super().__init__()
        self.mails: Queue[EmailMessage] = Queue()
        self.raw: list[bytes] = []
        self._greets = greets

    @property
    def address(self) -> str:
        login = "harvester:s3cr%2Ft-mail@"
        who = "from=sheaf@example.org&to=owner@example.org"
        return f"mailto://{login}127.0.0.1:{self.port}/?{who}&mode=insecure"

    def next(self) -> EmailMessage:
        return self.mails.get(timeout=PATIENCE_S)

    def serve(self, connection: socket.socket) -> None:
        if not self._greets:
            self.stopping.wait()
            return
        with connection.makefile("rwb", 0) as stream:
            self._say(stream, b"220 here")
            while line := stream.readline():
                command = line.split()[0].upper().decode("ascii")
                if command == "QUIT":
                    self._say(stream, b"221 bye")
                    return
                self._obey(command, stream)

    def _obey(self, command: str, stream: SocketIO) -> None:
        if command == "EHLO":
            self._say(stream, b"250-here\r\n250-AUTH PLAIN LOGIN\r\n250 8BITMIME")
        elif command == "AUTH":
            self._say(stream, b"235 welcome")
        elif command == "DATA":
            self._say(stream, b"354 go on")
            self._take(stream)
            self._say(stream, b"250 taken")
        else:
            self._say(stream, b"250 fine")

    def _take(self, stream: SocketIO) -> None:
        lines = iter(stream.readline, b".\r\n")
        raw = b"".join(line.removeprefix(b".") for line in lines)
        self.raw.append(raw)
        self.mails.put(email.message_from_bytes(raw, policy=email.policy.default))

    @staticmethod
    def _say(stream: SocketIO, text: bytes) -> None:
        stream.write(text + b"\r\n")


class Hook(SocketServer):
    """Takes json:// notices. /hang says nothing, /drip does not end, /no refuses, /moved is."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived: Queue[tuple[Request, dict[str, Any]]] = Queue()

    def address(self, path: str = "/secret-path", login: str = "harvester:s3cr%2Ft-hook@") -> str:
        return f"json://{login}127.0.0.1:{self.port}{path}"

    def next(self) -> dict[str, Any]:
        return self.arrived.get(timeout=PATIENCE_S)[1]

    def serve(self, connection: socket.socket) -> None:
        while (request := read_head(connection)) is not None:
            body = self._read(connection, int(request.headers["content-length"]))
            self.arrived.put((request, json.loads(body)))
            self._answer(connection, unquote(request.path))

    def _answer(self, connection: socket.socket, path: str) -> None:
        if "hang" in path:
            self.stopping.wait()
        elif "drip" in path:
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-More: ")
            while not self.stopping.wait(0.05):
                connection.sendall(b"x")
        elif "moved" in path:
            connection.sendall(answer(302, Location="/elsewhere"))
        else:
            connection.sendall(answer(500 if "no" in path else 200))

    @staticmethod
    def _read(connection: socket.socket, length: int) -> bytes:
        body = b""
        while len(body) < length and (more := connection.recv(65536)):
            body += more
        return body

"""A server of one large file that sends it as badly as one likes."""

from __future__ import annotations

import hashlib
import re
import socket
from typing import NamedTuple

from tests.support.worlds.faults import FaultServer, Request, answer


class Turn(NamedTuple):
    """How one request is answered."""

    status: int = 0  # instead of the file
    headers: tuple[tuple[str, str], ...] = ()  # of that status
    sent: int | None = None  # bytes of the body, then the connection ends
    length: int | None = None  # what Content-Length says of it; -1: nothing
    more: bytes = b""  # comes behind it
    is_silent: bool = False  # after those bytes, for ever
    new_body: bytes = b""  # from this request on the file is another one


class DumpServer(FaultServer):
    """Answers request after request as `turns` say, and well when they are used up."""

    def __init__(self, body: bytes, *turns: Turn) -> None:
        super().__init__()
        self.body, self.turns = body, list(turns)
        self.more_headers: list[str] = []
        self.has_ranges, self.tells_version, self.heeds_versions = True, True, True

    @property
    def file(self) -> str:
        return f"{self.url}/dump.csv.gz"

    @property
    def ranges(self) -> list[str]:
        """What each request asked for."""
        return [each.headers.get("range", "") for each in self.requests]

    def _fault(self, connection: socket.socket, request: Request, steps: list[str]) -> bool:
        if steps != ["dump.csv.gz"]:
            return super()._fault(connection, request, steps)
        turn = self.turns.pop(0) if self.turns else Turn()
        if turn.status:
            headers = {name.replace("-", "_"): value for name, value in turn.headers}
            connection.sendall(answer(turn.status, b"because", **headers))
            return True
        self.body = turn.new_body or self.body
        begin = self._begin(request)
        if begin >= len(self.body):
            connection.sendall(answer(416, Content_Range=f"bytes */{len(self.body)}"))
            return True
        rest = self.body[begin:]
        sent = rest if turn.sent is None else rest[: turn.sent]
        connection.sendall(self._head(begin, turn.length) + sent + turn.more)
        if turn.is_silent:
            self.stopping.wait()
        return sent == rest and turn.length is None and not turn.more

    def _begin(self, request: Request) -> int:
        found = re.fullmatch(r"bytes=(\d+)-", request.headers.get("range", ""))
        wanted = request.headers.get("if-range", self._etag)
        if not found or not self.has_ranges or (self.heeds_versions and wanted != self._etag):
            return 0
        return int(found[1])

    def _head(self, begin: int, length: int | None) -> bytes:
        size = len(self.body)
        lines = ["HTTP/1.1 200 OK" if not begin else "HTTP/1.1 206 Partial Content"]
        lines += self.more_headers
        if begin:
            lines.append(f"Content-Range: bytes {begin}-{size - 1}/{size}")
        if length != -1:
            lines.append(f"Content-Length: {size - begin if length is None else length}")
        if self.tells_version:
            lines.append(f"ETag: {self._etag}")
        return "\r\n".join([*lines, "", ""]).encode()

    @property
    def _etag(self) -> str:
        return f'"{hashlib.md5(self.body).hexdigest()}"' if self.tells_version else ""

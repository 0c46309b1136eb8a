"""Whether a server of the bus answers: its first words, then TLS and a ping with a key of ours."""

from __future__ import annotations

import json
import socket
import ssl
from typing import Any

from ..errors import HarvestError
from .join_file import Join, tls_of

_LONGEST_LINE = 32_768
_HELLO = (
    b'CONNECT {"verbose":false,"pedantic":false,"tls_required":true,"lang":"sheaf"}\r\nPING\r\n'
)


class NoAnswer(HarvestError):
    """Nobody there, not a server of NATS, or one that does not know our key."""


def server_version(join: Join, seconds: float) -> str:
    """The version of the server that let this key in; each step has so many seconds."""
    try:
        with socket.create_connection((join.address, join.port), timeout=seconds) as plain:
            info = _info(_line(plain))
            with tls_of(join).wrap_socket(plain, server_hostname=join.address) as secure:
                secure.sendall(_HELLO)
                answer = _line(secure)
                while answer.startswith((b"INFO ", b"PING")):
                    answer = _line(secure)
    except OSError as error:
        raise NoAnswer(str(error)) from error
    if answer.strip() != b"PONG":
        raise NoAnswer(f"it said {answer[:200]!r}")
    return str(info.get("version"))


def _info(line: bytes) -> dict[str, Any]:
    word, _, rest = line.partition(b" ")
    try:
        info = json.loads(rest) if word == b"INFO" else None
    except (ValueError, RecursionError):
        info = None
    if not isinstance(info, dict):
        raise NoAnswer("it is not a server of NATS")
    return info


def _line(connection: socket.socket | ssl.SSLSocket) -> bytes:
    """Byte by byte at most up to its end: what follows the first is TLS."""
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte or len(line) > _LONGEST_LINE:
            raise NoAnswer("it hung up")
        line += byte
    return bytes(line)

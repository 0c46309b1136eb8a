"""The server that those of the sample share: how it ends."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping

import pytest

from tools.network import server
from tools.network.reply import HTML, Reply
from tools.network.server import Handler, Server, Serving

LOOK_S = 20.0  # far longer than a busy machine takes to close what nobody uses


class Polite(Handler):
    def answer(self, path: str, query: Mapping[str, str]) -> Reply:
        return Reply(200, b"welcome", HTML)


def test_its_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """However seldom it looks whether it is to end."""
    monkeypatch.setattr(server, "_POLL_S", LOOK_S)
    polite = Server(("127.0.0.1", 0), Polite)
    place = ("127.0.0.1", int(polite.server_address[1]))
    with Serving(polite, "polite"):
        with socket.create_connection(place, timeout=LOOK_S) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
            assert client.recv(12) == b"HTTP/1.1 200"  # so it waits for the next one
        began = time.monotonic()
    assert time.monotonic() - began < LOOK_S / 2
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(place, timeout=LOOK_S)

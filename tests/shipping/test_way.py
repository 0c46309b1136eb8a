"""What is said of a node that hangs up: the same, whoever of us notices it first."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest
from paramiko import SFTPClient, SSHException

from tools.errors import Unavailable
from tools.shipping.pipeline import Requests
from tools.shipping.settings import TransportSettings
from tools.shipping.way import Way

CUT_OFF = r"does not look: the connection was cut off$"
VERSION = bytes([0, 0, 0, 5, 2, 0, 0, 0, 3])  # all that this node ever says


class Named(socket.socket):
    """As a channel is, for its log."""

    def get_name(self) -> str:
        return "here"


class Nowhere(Way):
    def sftp(self) -> Requests:
        raise NotImplementedError

    def run(self, command: str, seconds: float) -> bytes:
        return b""

    def close(self) -> None:
        pass


@pytest.fixture
def way() -> Way:
    return Nowhere(TransportSettings(host="node", user="somebody"))


def test_one_that_hangs_up_instead_of_an_answer(way: Way) -> None:
    ours, theirs = socket.socketpair()
    with closing(Named(fileno=ours.detach())) as here, closing(theirs) as there:
        there.sendall(VERSION)
        there.shutdown(socket.SHUT_WR)
        client = SFTPClient(here)  # type: ignore[arg-type]  # it takes any socket
        with pytest.raises(SSHException):
            client.stat("raw")
        with pytest.raises(Unavailable, match=CUT_OFF), way.translating("does not look"):
            client.stat("raw")


def test_one_that_hangs_up(way: Way) -> None:
    with pytest.raises(Unavailable, match=CUT_OFF), way.translating("does not look"):
        raise EOFError

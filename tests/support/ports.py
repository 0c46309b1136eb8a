"""Ports that stay what they are, whatever other tests open meanwhile."""

from __future__ import annotations

import functools
import random
import socket
from contextlib import suppress

PORTS = range(20_000, 32_000)  # the system hands out none of these


def free_port() -> int:
    """For a server that has to be told its port, and takes its time to listen there."""
    for port in random.sample(PORTS, 100):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError(f"no port is free in {PORTS}")


def closed_port() -> int:
    """Nobody listens there, and nobody can as long as the tests run."""
    port: int = _taken().getsockname()[1]
    return port


@functools.cache
def _taken() -> socket.socket:
    """It has a port, but does not listen."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    return taken

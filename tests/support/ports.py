"""Ports that stay what they are, whatever other tests open meanwhile."""

from __future__ import annotations

import fcntl
import functools
import os
import random
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

PORTS = range(20_000, 32_000)  # the system hands out none of these
_HELD: list[int] = []  # files that stay locked as long as this process lives


def free_port() -> int:
    """For a server that has to be told its port, and takes its time to listen there. No other
    process of tests gets it meanwhile."""
    for port in random.sample(PORTS, 100):
        if _is_ours(port):
            with suppress(OSError), socket.create_server(("127.0.0.1", port)):
                return port
    raise AssertionError(f"no port is free in {PORTS}")


def _is_ours(port: int) -> bool:
    folder = Path(tempfile.gettempdir(), f"sheaf-test-ports-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    file = os.open(folder / str(port), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return False
    _HELD.append(file)
    return True


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

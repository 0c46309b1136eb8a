"""Sockets that are read until a moment in time.

Promise: a timeout holds for the whole of what is read, however slowly the bytes drip; a socket's
own timeout starts anew with each of them.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.contrib.socks import (
    SOCKSConnection,
    SOCKSHTTPConnectionPool,
    SOCKSHTTPSConnection,
    SOCKSHTTPSConnectionPool,
)


class DeadlineReader(io.RawIOBase):
    """Reads a socket until a moment in time, however slowly the bytes drip."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket) -> None:
        self._raw = raw
        self._sock = sock
        self.deadline = time.monotonic() + (sock.gettimeout() or 0.0)
        self.ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("it took too long to arrive")
        self._sock.settimeout(left)
        count = self._raw.readinto(buffer)
        self.ended = count == 0
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class DeadlineResponse(http.client.HTTPResponse):
    """The read timeout holds for the whole answer, headers and body, not for each read of it."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self._reader = DeadlineReader(self.fp.detach(), sock)
        self.fp = io.BufferedReader(self._reader)

    def begin(self) -> None:
        super().begin()
        if self._reader.ended:  # http.client takes the end of the connection for an empty line
            raise ConnectionError("cut off within the headers")


def _pools_with_deadline(
    plain: type[HTTPConnection],
    tls: type[HTTPSConnection],
    pool: type[HTTPConnectionPool],
    tls_pool: type[HTTPSConnectionPool],
) -> dict[str, type[HTTPConnectionPool]]:
    """The same connection pools, whose connections read with a deadline."""
    response = {"response_class": DeadlineResponse}
    connection = type(f"Deadline{plain.__name__}", (plain,), response)
    tls_connection = type(f"Deadline{tls.__name__}", (tls,), response)
    return {
        "http": type(f"Deadline{pool.__name__}", (pool,), {"ConnectionCls": connection}),
        "https": type(
            f"Deadline{tls_pool.__name__}", (tls_pool,), {"ConnectionCls": tls_connection}
        ),
    }


DIRECT_POOLS = _pools_with_deadline(
    HTTPConnection, HTTPSConnection, HTTPConnectionPool, HTTPSConnectionPool
)
SOCKS_POOLS = _pools_with_deadline(
    SOCKSConnection, SOCKSHTTPSConnection, SOCKSHTTPConnectionPool, SOCKSHTTPSConnectionPool
)


class DeadlineAdapter(HTTPAdapter):
    """requests' way to the network, direct or through a proxy, over such connections."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = DIRECT_POOLS

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **kwargs)
        manager.pool_classes_by_scheme = (
            SOCKS_POOLS if proxy.lower().startswith("socks") else DIRECT_POOLS
        )
        return manager

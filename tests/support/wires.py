"""Nodes in network namespaces of their own: each has nothing but the wires that are laid for it.

A wire is a port on the namespace's own loopback that leads to a port of ours. It can be cut: what
is on it stays there, new connections get no answer, and when it is healed all goes on. It can be
slow.
Limit: it needs root and `ip netns`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from threading import Thread
from typing import Self

from tests.support.needs import missing

CHUNK = 1 << 16
LISTEN = (
    "import socket, sys; way = socket.socket(fileno=int(sys.argv[1]));"
    "port = socket.create_server(('127.0.0.1', int(sys.argv[2])), backlog=200);"
    "socket.send_fds(way, [b'.'], [port.fileno()])"
)


def require_namespaces() -> None:
    if shutil.which("ip") is None:
        missing("ip is not installed: apt-get install iproute2")
    if os.getuid() != 0:
        missing("only root may make network namespaces")


class Wire:
    """`is_whole` until it is cut."""

    def __init__(self, loop: asyncio.AbstractEventLoop, delay_s: float) -> None:
        self._loop = loop
        self._delay_s = delay_s
        self._open = asyncio.Event()
        self._open.set()
        self.is_whole = True

    def cut(self) -> None:
        self.is_whole = False
        self._loop.call_soon_threadsafe(self._open.clear)

    def heal(self) -> None:
        self.is_whole = True
        self._loop.call_soon_threadsafe(self._open.set)

    async def carry(
        self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        ends = [writer]
        try:
            await self._open.wait()
            there, back = await asyncio.open_connection("127.0.0.1", port)
            ends.append(back)
            await asyncio.gather(self._pump(reader, back), self._pump(there, writer))
        except OSError:
            pass
        finally:
            for each in ends:
                each.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while content := await reader.read(CHUNK):
                if self._delay_s:
                    await asyncio.sleep(self._delay_s)
                await self._open.wait()
                writer.write(content)
                await writer.drain()
        except OSError:
            pass
        await self._open.wait()
        writer.close()


class Namespace:
    """One machine."""

    def __init__(self, name: str) -> None:
        require_namespaces()
        self.name = f"sheaf-{os.getpid()}-{name}"
        self._run("add")
        self._inside("ip", "link", "set", "lo", "up")
        self._loop = asyncio.new_event_loop()
        self._servers: list[asyncio.Server] = []
        self._thread = Thread(target=self._loop.run_forever, name=self.name, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._hang_up(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()
        self._run("delete")

    async def _hang_up(self) -> None:
        for server in self._servers:
            server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for each in others:
            each.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    @property
    def prefix(self) -> Sequence[str]:
        """Before the words of a command that runs there."""
        return ("ip", "netns", "exec", self.name)

    def wire(self, *ports: int, delay_s: float = 0.0) -> Wire:
        """Lay one to these ports of ours."""
        wire = Wire(self._loop, delay_s)
        for port in ports:
            listener = self._listener(port)
            asyncio.run_coroutine_threadsafe(self._serve(wire, listener, port), self._loop).result(
                10
            )
        return wire

    async def _serve(self, wire: Wire, listener: socket.socket, port: int) -> None:
        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(asyncio.CancelledError):
                await wire.carry(port, reader, writer)

        self._servers.append(await asyncio.start_server(carry, sock=listener))

    def _listener(self, port: int) -> socket.socket:
        """A socket that listens there, in our hands."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            command = [*self.prefix, sys.executable, "-c", LISTEN, str(theirs.fileno()), str(port)]
            subprocess.run(command, pass_fds=[theirs.fileno()], check=True, timeout=30)
            _, (fd, *_), _, _ = socket.recv_fds(ours, 1, 1)
        return socket.socket(fileno=fd)

    def _inside(self, *command: str) -> None:
        subprocess.run([*self.prefix, *command], check=True, timeout=30)

    def _run(self, verb: str) -> None:
        done = subprocess.run(
            ["ip", "netns", verb, self.name], capture_output=True, text=True, timeout=30
        )
        if done.returncode:
            missing(f"no network namespace can be made here: {done.stderr.strip()}")

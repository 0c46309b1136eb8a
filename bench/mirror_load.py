"""Pages per second of a server that answers as ConceptNet does, asked by many clients at once.

Each client has one connection that it keeps, asks for one page after the other and waits for each.
The clients are sockets in one or two processes which only count bytes, so that they cost far less
than any server. Answers must have a Content-Length. A page counts if its status is 200 and it
tells of no error: ConceptNet says in a page of status 200 that there is none.

    python -m bench.mirror_load http://127.0.0.1:8084 DUMP.csv.gz --clients 1 16 --seconds 5
"""

from __future__ import annotations

import argparse
import gzip
import multiprocessing
import random
import re
import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from itertools import cycle
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

PROCESSES = 2
PATIENCE_S = 30.0
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
ERROR = b'"error":'  # a text in a page has its quotes escaped
_everybody: Barrier


class Pace(NamedTuple):
    """What all clients got together; milliseconds are those a client waited for a page."""

    rate: float
    pages: int
    errors: int
    median_ms: float
    slowest_ms: float  # but for one in a hundred

    def __str__(self) -> str:
        waited = f"median {self.median_ms:.2f} ms, 99 % within {self.slowest_ms:.2f} ms"
        return f"{self.rate:,.0f} pages per second, {waited}, {self.errors} errors"


class Task(NamedTuple):
    """What one process does."""

    host: str
    port: int
    paths: Sequence[str]
    clients: int
    seconds: float


class Client:
    """One connection: a request that is underway, and what came of its answer."""

    def __init__(self, task: Task, requests: Iterator[bytes]) -> None:
        self.socket = socket.create_connection((task.host, task.port), timeout=PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._requests = requests
        self._answer = bytearray()
        self._whole = 0  # bytes of the answer, as soon as its head is there
        self._asked = 0.0

    def ask(self) -> None:
        self._answer.clear()
        self._whole, self._asked = 0, time.monotonic()
        self.socket.sendall(next(self._requests))

    def take(self) -> float | None:
        """How long the page took, when the last of it came."""
        if not (data := self.socket.recv(65_536)):
            raise RuntimeError("the server closed a connection that it should have kept")
        self._answer += data
        self._whole = self._whole or self._length()
        if not self._whole or len(self._answer) < self._whole:
            return None
        return time.monotonic() - self._asked

    def is_page(self) -> bool:
        return self._answer.startswith(b"HTTP/1.1 200") and ERROR not in self._answer

    def _length(self) -> int:
        if (head := self._answer.find(b"\r\n\r\n")) < 0:
            return 0
        if (found := LENGTH.search(self._answer, 0, head + 2)) is None:
            raise RuntimeError("an answer without Content-Length")
        return head + 4 + int(found[1])


def load(url: str, paths: list[str], clients: int, seconds: float = 5.0) -> Pace:
    """Ask for these paths, each client beginning elsewhere in the list."""
    parts, processes = urlsplit(url), min(PROCESSES, clients)
    tasks = [
        Task(
            parts.hostname or "127.0.0.1",
            parts.port or 80,
            paths[number * len(paths) // processes :] + paths[: number * len(paths) // processes],
            clients // processes + (number < clients % processes),
            seconds,
        )
        for number in range(processes)
    ]
    context = multiprocessing.get_context("spawn")
    everybody = context.Barrier(processes, timeout=PATIENCE_S)
    with ProcessPoolExecutor(processes, context, _meet, (everybody,)) as pool:
        results = list(pool.map(_work, tasks, timeout=seconds + 2 * PATIENCE_S))
    waits = sorted(wait for each, _ in results for wait in each)
    if not waits:
        raise RuntimeError(f"{url} gave no page in {seconds:g} s")
    errors = sum(count for _, count in results)
    median, slowest = waits[len(waits) // 2], waits[len(waits) * 99 // 100]
    return Pace(len(waits) / seconds, len(waits), errors, median * 1000, slowest * 1000)


def _meet(everybody: Barrier) -> None:
    """Where the processes wait for each other, so that all clients begin in the same moment."""
    global _everybody
    _everybody = everybody


def _work(task: Task) -> tuple[list[float], int]:
    """How long each page took that came in time, and how many answers were none."""
    requests = cycle([request(task, path) for path in task.paths])
    waits, errors = list[float](), 0
    with ExitStack() as stack, selectors.DefaultSelector() as selector:
        clients = _connected(task, requests, stack)
        for client in clients:
            selector.register(client.socket, selectors.EVENT_READ, client)
        _everybody.wait()
        end = time.monotonic() + task.seconds
        for client in clients:
            client.ask()
        for client, wait in _answers(selector, end):
            if client.is_page():
                waits.append(wait)
            else:
                errors += 1
            client.ask()
    return waits, errors


def _connected(task: Task, requests: Iterator[bytes], stack: ExitStack) -> list[Client]:
    clients = []
    try:
        for _ in range(task.clients):
            clients.append(Client(task, requests))
            stack.enter_context(clients[-1].socket)
    except OSError:
        _everybody.abort()  # nobody waits for one that will not come
        raise
    return clients


def _answers(selector: selectors.BaseSelector, end: float) -> Iterator[tuple[Client, float]]:
    while (left := end - time.monotonic()) > 0:
        for key, _ in selector.select(left):
            client: Client = key.data
            wait = client.take()
            if wait is not None and time.monotonic() < end:
                yield client, wait


def request(task: Task, path: str) -> bytes:
    head = f"GET {quote(path, safe='/?=&%,[]')} HTTP/1.1\r\nHost: {task.host}:{task.port}\r\n"
    return f"{head}Accept: application/json\r\n\r\n".encode()


def concepts(dump: Path, count: int, within: str = "/c/", seed: int = 0) -> list[str]:
    """Concepts of a dump at random, each as likely as any other: most have few edges."""
    with gzip.open(dump, "rt", encoding="utf-8", newline="\n") as lines:
        ends = {end for line in lines for end in line.split("\t", 4)[2:4] if end.startswith(within)}
    return random.Random(seed).sample(sorted(ends), min(count, len(ends)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.mirror_load", description=__doc__)
    parser.add_argument("url")
    parser.add_argument("dump", type=Path, help="the assertions file whose concepts are asked for")
    parser.add_argument("--concepts", type=int, default=10_000, help="how many of them, at random")
    parser.add_argument("--within", default="/c/", help="how their URIs begin (%(default)s)")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--query", default="", help="such as limit=1000, for every page")
    arguments = parser.parse_args()
    query = f"?{arguments.query}" if arguments.query else ""
    paths = [uri + query for uri in concepts(arguments.dump, arguments.concepts, arguments.within)]
    for clients in arguments.clients:
        pace = load(arguments.url, paths, clients, arguments.seconds)
        print(f"{clients} clients: {pace}")


if __name__ == "__main__":
    main()

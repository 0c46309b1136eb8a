"""A ConceptNet server with made-up concepts that costs as little as possible.

Every answer is bytes before the first request comes. It prints its port when it is ready and ends
when its standard input closes, so that it never outlives whoever started it.

    python -m bench.server --concepts 20000 --latency 50
"""

from __future__ import annotations

import argparse
import asyncio
import random
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import orjson

CONTEXT = ["http://api.conceptnet.io/ld/conceptnet5.7/context.ld.json"]
RELATIONS = ("IsA", "PartOf", "UsedFor", "AtLocation", "HasProperty")
SEED = "/c/en/concept_0"
WINDOW = "/-/window"
"""Asked for what was served since it was last asked."""


def concept(number: int) -> str:
    return f"/c/en/concept_{number}"


def page(number: int, concepts: int) -> dict[str, Any]:
    """Two edges make a tree that reaches everything, three lead somewhere."""
    somewhere = random.Random(number)
    ends = [2 * number + 1, 2 * number + 2, *(somewhere.randrange(concepts) for _ in range(3))]
    pairs = zip(RELATIONS, ends, strict=True)
    edges = [_edge(rel, concept(number), concept(end % concepts)) for rel, end in pairs]
    return {"@context": CONTEXT, "@id": concept(number), "edges": edges, "version": "5.8.1"}


def _edge(rel: str, start: str, end: str) -> dict[str, Any]:
    contributor = "/s/contributor/omcs/bench"
    return {
        "@id": f"/a/[/r/{rel}/,{start}/,{end}/]",
        "@type": "Edge",
        "dataset": "/d/conceptnet/4/en",
        "end": _node(end),
        "license": "cc:by/4.0",
        "rel": {"@id": f"/r/{rel}", "@type": "Relation", "label": rel},
        "sources": [{"@id": contributor, "@type": "Source", "contributor": contributor}],
        "start": _node(start),
        "surfaceText": f"[[{_label(start)}]] is related to [[{_label(end)}]]",
        "weight": 2.0,
    }


def _node(uri: str) -> dict[str, str]:
    return {"@id": uri, "@type": "Node", "label": _label(uri), "language": "en", "term": uri}


def _label(uri: str) -> str:
    return uri.removeprefix("/c/en/").replace("_", " ")


def answer(content: object) -> bytes:
    body = orjson.dumps(content)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


class Served:
    """How many pages went out, and when the first and the last of them was asked for."""

    def __init__(self) -> None:
        self.pages, self.first, self.last = 0, 0.0, 0.0

    def count(self) -> None:
        self.last = time.monotonic()
        self.first = self.first or self.last
        self.pages += 1

    def take(self) -> bytes:
        taken = answer({"pages": self.pages, "seconds": self.last - self.first})
        self.__init__()  # type: ignore[misc]
        return taken


class Connection(asyncio.Protocol):
    def __init__(self, pages: dict[bytes, bytes], latency: float, served: Served) -> None:
        self._pages, self._latency, self._served = pages, latency, served
        self._loop = asyncio.get_running_loop()
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        sock: socket.socket = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        *requests, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for request in requests:
            self._answer(request.split(b" ", 2)[1].partition(b"?")[0])

    def _answer(self, path: bytes) -> None:
        if (found := self._pages.get(path)) is None:
            self._transport.write(self._served.take() if path == WINDOW.encode() else answer({}))
            return
        self._served.count()
        if self._latency:
            self._loop.call_later(self._latency, self._transport.write, found)
        else:
            self._transport.write(found)


async def serve(concepts: int, latency: float) -> None:
    pages = {concept(n).encode(): answer(page(n, concepts)) for n in range(concepts)}
    served, ended = Served(), asyncio.Event()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(pages, latency, served), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    loop.add_reader(sys.stdin, ended.set)
    await ended.wait()
    server.close()


def exact_loop() -> asyncio.AbstractEventLoop:
    """epoll rounds every latency up to the next millisecond; select does not."""
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


@contextmanager
def serving(module: str, *words: str) -> Iterator[str]:
    """A server of ours in a process of its own, which prints its port first; its address."""
    with subprocess.Popen(
        [sys.executable, "-m", module, *words],
        cwd=Path(__file__).resolve().parent.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            if not port:
                raise RuntimeError("the server did not start")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.server", description=__doc__)
    parser.add_argument("--concepts", type=int, default=20_000)
    parser.add_argument("--latency", type=float, default=0.0, metavar="MS")
    arguments = parser.parse_args()
    with asyncio.Runner(loop_factory=exact_loop) as runner:
        runner.run(serve(arguments.concepts, arguments.latency / 1000))


if __name__ == "__main__":
    main()

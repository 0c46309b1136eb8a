"""One of several coordinators: walks the URIs whose hash is its own.

python -m bench.shards_process FOLDER NUMBER URIS DEGREE SHARDS PARENT

What it finds of others' it sends to their sockets in batches, until they are acknowledged. In the
product a bus would carry them.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from itertools import groupby
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingUnixStreamServer
from threading import Event, Thread
from typing import Any

import orjson

from bench.shards_outgoing import STAGE, ShardPools
from bench.shards_world import World, uri_of
from tools.base.parent import belong_to
from tools.engine.stage import Done, Found

TOGETHER = 16  # tasks that come home in one move
PATIENCE_S = 10.0  # for an answer; whoever was killed gives none
PAUSE_S = 0.02


def socket_of(folder: Path, shard: int) -> Path:
    return folder / f"{shard}.socket"


def ask(path: Path, question: object) -> Any:
    """One question and its answer; OSError or ValueError if nobody is there to the end."""
    with closing(Line(path)) as line:
        return line.ask(question)


class Line:
    """A connection to a shard."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(PATIENCE_S)
        try:
            self._socket.connect(str(path))
        except BaseException:
            self._socket.close()
            raise
        self._file = self._socket.makefile("rb")

    def ask(self, question: object) -> Any:
        self._socket.sendall(orjson.dumps(question) + b"\n")
        return orjson.loads(self._file.readline())

    def close(self) -> None:
        self._file.close()
        self._socket.close()


class Shard:
    def __init__(self, folder: Path, number: int, world: World) -> None:
        self.folder, self.number, self.world = folder, number, world
        self.stop = Event()
        self.received = 0
        self.pools = ShardPools(folder / f"{number}.db", [STAGE])
        self.pools.open_outgoing(world, number)
        self.pools.note(repeated=self.pools.forgive())
        if world.owner(first := uri_of(0)) == number:
            self.pools.discover(Found(STAGE.name, [first]))

    def walk(self) -> None:
        """Until it is told to stop."""
        while not self.stop.is_set():
            if not self.step():
                with self.pools.changed:
                    self.pools.changed.wait(PAUSE_S)

    def step(self) -> bool:
        tasks = self.pools.lease(STAGE, TOGETHER)
        steps = [
            (task, Done("finished", [Found(STAGE.name, self.world.neighbours(task.uri))]))
            for task in tasks
        ]
        self.pools.advance(*steps)
        return bool(tasks)

    def send(self) -> None:
        """What is others', in turn."""
        lines: dict[int, Line] = {}
        while not self.stop.is_set():
            others = (each for each in range(self.world.shards) if each != self.number)
            if not sum([self.send_batch(lines, each) for each in others]):
                self.stop.wait(PAUSE_S)

    def send_batch(self, lines: dict[int, Line], shard: int) -> bool:
        batch = self.pools.next_for(shard)
        if not batch:
            return False
        try:
            if shard not in lines:
                lines[shard] = Line(socket_of(self.folder, shard))
            size = lines[shard].ask({"found": batch})["bytes"]
        except (OSError, ValueError):  # it is sent again when the other is back
            if broken := lines.pop(shard, None):
                broken.close()
            return False
        self.pools.acknowledged(shard, [uri for uri, _ in batch], size)
        return True

    # --- what others want ------------------------------------------------------------------

    def answer(self, text: bytes) -> object:
        question = orjson.loads(text)
        if "found" in question:
            return self.let_in(question["found"], len(text))
        if "stop" in question:
            self.stop.set()
        return self.state()

    def let_in(self, batch: Sequence[tuple[str, int]], size: int) -> object:
        """Acknowledged when it is in the file, known before or not."""
        groups = groupby(sorted(batch, key=lambda each: each[1]), key=lambda each: each[1])
        found = [Found(STAGE.name, [uri for uri, _ in each], depth=depth) for depth, each in groups]
        new = self.pools.discover(*found)
        self.pools.note(received=len(batch), received_new=new)
        self.received += 1
        return {"bytes": size}

    def state(self) -> dict[str, object]:
        with self.pools.changed:
            done, is_idle = self.pools.done(STAGE), self.pools.is_idle()
        return {"life": os.getpid(), "idle": is_idle, "done": done, "received": self.received}


def server_for(path: Path, answer: Callable[[bytes], object]) -> ThreadingUnixStreamServer:
    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):  # whoever asked may be dead
                for text in self.rfile:
                    self.wfile.write(orjson.dumps(answer(text)) + b"\n")

    path.unlink(missing_ok=True)
    server = ThreadingUnixStreamServer(str(path), Handler)
    server.daemon_threads, server.block_on_close = True, False
    return server


def main(arguments: Sequence[str]) -> None:
    folder, numbers = Path(arguments[0]), [int(each) for each in arguments[1:]]
    number, uris, degree, shards, parent = numbers
    belong_to(parent)
    shard = Shard(folder, number, World(uris, degree, shards))
    server = server_for(socket_of(folder, number), shard.answer)
    sender = Thread(target=shard.send, daemon=True)
    for thread in (Thread(target=server.serve_forever, daemon=True), sender):
        thread.start()
    shard.walk()
    server.shutdown()
    sender.join()
    shard.pools.close()


if __name__ == "__main__":
    main(sys.argv[1:])

"""The program of a process whose tasks ask a server, by limits that its coordinator keeps."""

from __future__ import annotations

import sys
import time
from threading import Event

from tools.cluster.limits import SharedLimits, SharedTurn
from tools.cluster.messages import Hello
from tools.cluster.node import Staff, serve
from tools.cluster.post import Post
from tools.engine.stage import Done, Task
from tools.network.client import Client
from tools.network.settings import HttpSettings


class HeldUp(SharedLimits):
    """Whoever has a turn is held up until a full second: all of them together."""

    def take_turn(self, host: str) -> SharedTurn | None:
        turn = super().take_turn(host)
        time.sleep(1.0 - time.monotonic() % 1.0)
        return turn


def hire(hello: Hello, post: Post, stop: Event) -> Staff:
    host = hello.setup["host"]
    kind = HeldUp if hello.setup["is_held_up"] else SharedLimits
    limits = kind(post, hello.setup["limited"])
    client = Client(HttpSettings(tries=1), None, stop, 8, trusted=[host], kept=limits)

    def work(task: Task) -> Done:
        client.get(task.uri.partition("#")[0], "*/*")
        return Done("finished")

    return Staff({"fetch": work}, {}, client.traffic, limits.rests.told)


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), hire)

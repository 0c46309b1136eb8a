"""The program of a process whose tasks ask a server, by limits that its coordinator keeps."""

from __future__ import annotations

import sys
import time
from threading import Event

from tools.cluster.limits import SharedLimits, SharedTurn
from tools.cluster.messages import Hello
from tools.cluster.post import Post
from tools.cluster.worker import Staff, serve
from tools.engine.stage import Done, Task
from tools.errors import ServerTrouble
from tools.media.hosts import FileHosts
from tools.media.offer import Candidate, Provider
from tools.network.client import Client
from tools.network.limits import OneTurn
from tools.network.settings import HttpSettings
from tools.providers.resting import PatientProvider


class HeldUp(SharedLimits):
    """Whoever has a turn is held up until a full second: all of them together."""

    def take_turn(self, host: str) -> SharedTurn | OneTurn | None:
        turn = super().take_turn(host)
        time.sleep(1.0 - time.monotonic() % 1.0)
        return turn


class Searching(Provider):
    name = "sought"
    kinds = frozenset({"image"})

    def __init__(self, client: Client, base: str) -> None:
        self._client = client
        self._base = base

    def search(self, text: str, kind: str) -> list[Candidate]:
        self._client.get(self._base + text, "*/*")
        return []


def hire(hello: Hello, post: Post, stop: Event) -> Staff:
    host = hello.setup["host"]
    kind = HeldUp if hello.setup["is_held_up"] else SharedLimits
    limits = kind(post, hello.setup["limited"])
    client = Client(HttpSettings(tries=1), None, stop, 8, trusted=[host], kept=limits)

    files, provider = FileHosts(limits.rests, 60.0), Searching(client, f"http://{host}")
    patient = PatientProvider(provider, 60.0, limits.rests)

    def work(task: Task) -> Done:
        url, _, _ = task.uri.partition("#")
        if "/search" in url:
            patient.search(url.partition("/search")[2], "image")
            return Done("finished")
        try:
            client.get(url, "*/*")
        except ServerTrouble as error:
            raise files.failed(url, error) from error
        files.answered(url)
        return Done("finished")

    return Staff({"fetch": work}, {}, client.traffic, limits.rests)


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), hire)

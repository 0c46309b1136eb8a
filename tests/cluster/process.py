"""The program of a process whose tasks are those of the executors' contract, and of some that end
their process in every way."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from threading import Event

from tests.engine.executor_contract import work
from tools.cluster.messages import Hello
from tools.cluster.post import Post
from tools.cluster.worker import Staff, serve
from tools.engine.stage import Done, Task


def any_work(task: Task) -> Done:
    kind, folder, number = task.uri.split("|")
    if kind in ("crash", "kill", "exit", "silent", "hungry"):
        with (Path(folder) / f"died-{number}").open("a") as file:
            file.write("x")
    if kind == "crash":
        ctypes.string_at(0)
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "exit":
        os._exit(3)
    if kind == "silent":
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(60)  # it may take a moment to be stopped
    if kind == "hungry":
        eaten = [b"x" * 10_000_000 for _ in range(60)]
        time.sleep(60)
        assert eaten
    if kind == "slow":
        time.sleep(0.05)
    if kind == "word":
        return Done("finished")
    return work(task)


def hire(_hello: Hello, _post: Post, _stop: Event) -> Staff:
    return Staff({"fetch": any_work})


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), hire)

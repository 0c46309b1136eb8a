"""What a process that works for a harvest does: it is given tasks, works on them in threads of its
own, and brings home what they found.

Promise: it ends when its coordinator does, however that ends. It keeps nothing that the harvest
needs: whatever it knows comes with a task and goes home with its result.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple, Protocol

from ..base.parent import belong_to
from ..base.program import PACKAGE
from ..engine.executor import Answer
from ..engine.judgement import judged
from ..engine.stage import Done, Stage, Task, Worker
from ..engine.threads import ThreadExecutor
from ..errors import HarvestError, RetryLater
from ..network.traffic import Traffic
from .limits import SharedRests
from .link import Broken, Link
from .messages import (
    FORMAT,
    Answered,
    Back,
    Beat,
    Hello,
    Message,
    Permit,
    Ready,
    Refusal,
    Rested,
    Resting,
    Result,
    Said,
    Stop,
    Table,
    Work,
)
from .post import Post
from .wire import Malformed, decoded, encoded, table_of_done, table_of_error, task_of

BEAT_S = 1.0
LOOK_S = 0.2
SWITCH_S = 0.02  # as in the coordinator's process
HELLO_S = 30.0
LONGEST_LINE = 20_000
FIRST_TO_GO = "500"  # when memory is short: rather one of us than the harvest


class Carrier(Protocol):
    """What comes along with a stage's tasks, and goes home with what they found."""

    def arrived(self, uri: str, cargo: Any) -> None: ...
    def leaving(self, uri: str, result: Done | HarvestError) -> Any: ...


class Staff(NamedTuple):
    """What a job gives a node."""

    workers: Mapping[str, Worker]
    carriers: Mapping[str, Carrier] = {}
    traffic: Traffic | None = None
    rests: SharedRests | None = None


Hire = Callable[[Hello, Post, Event], Staff]


def serve(end: int, parent: int, hire: Hire) -> None:
    """The program of such a process; it never returns."""
    belong_to(parent)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(FIRST_TO_GO)
    faulthandler.register(signal.SIGQUIT, all_threads=True)  # as in the harvest itself
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGQUIT])
    link = Link(socket.socket(fileno=end))
    code = 0
    try:
        WorkerProcess(link, hire).run()
    except Broken:
        pass  # nobody waits for us any more
    except BaseException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        code = 1
    os._exit(code)  # threads that are at work end here


class WorkerProcess:
    def __init__(self, link: Link, hire: Hire) -> None:
        self._link = link
        self._post = Post(link)
        self._stop = Event()
        hello, self._early = self._hello()
        logging.basicConfig(handlers=[_ToCoordinator(self._post)])
        logging.getLogger(PACKAGE).setLevel(hello.log_level)
        logging.getLogger("urllib3").setLevel("ERROR")
        self._staff = hire(hello, self._post, self._stop)
        self._stages = {name: Stage(name, places) for name, places in hello.places.items()}
        self._executor = ThreadExecutor(self._stages.values(), self._staff.workers)
        self._executor.open(self._came)
        self._tasks: dict[int, Task] = {}

    def run(self) -> None:
        """Until the coordinator is gone."""
        sys.setswitchinterval(SWITCH_S)
        gc.freeze()
        self._post.tell(Ready(FORMAT, os.getpid()))
        for content in self._early:
            self._heard(decoded(content))
        next_beat = 0.0
        while True:
            for content in self._link.receive(LOOK_S):
                self._heard(decoded(content))
            if time.monotonic() >= next_beat:
                self._post.tell(Beat(self._traffic()))
                next_beat = time.monotonic() + BEAT_S

    def _hello(self) -> tuple[Hello, list[bytes]]:
        until = time.monotonic() + HELLO_S
        while time.monotonic() < until:
            if came := self._link.receive(LOOK_S):
                hello = decoded(came[0])
                if not isinstance(hello, Hello) or hello.format != FORMAT:
                    raise Malformed("the coordinator is of another version")
                return hello, came[1:]
        raise Broken("the coordinator says nothing")

    def _heard(self, message: Message) -> None:
        match message:
            case Work():
                self._begin(message)
            case Permit() | Refusal() | Rested():
                is_awaited = self._post.heard(message)
                if isinstance(message, Permit) and not is_awaited:  # else its place is never free
                    self._post.tell(Back(message.number, 0))
            case Resting() if self._staff.rests is not None:
                self._staff.rests.told(message)
            case Answered(host) if self._staff.rests is not None:
                self._staff.rests.told_well(host)
            case Resting() | Answered():
                pass  # who works here asks nobody
            case Stop():
                self._stop.set()
            case _:
                raise Malformed(f"{type(message).__name__} is not for a node")

    def _begin(self, work: Work) -> None:
        task = task_of(work, self._stages[work.stage])
        self._tasks[task.token] = task
        if carrier := self._staff.carriers.get(work.stage):
            carrier.arrived(task.uri, work.cargo)
        self._executor.give([task])

    # --- a place's own thread --------------------------------------------------------------

    def _came(self, token: int, _holder: str, result: Done | Exception, answer: Answer) -> None:
        """The place here is free first: the coordinator gives the next task at once."""
        task = self._tasks.pop(token)
        found = result if isinstance(result, Done) else judged(task, result)
        carrier = self._staff.carriers.get(task.stage.name)
        cargo = carrier.leaving(task.uri, found) if carrier else None
        message = result_message(task, found, cargo, self._traffic())
        answer("settled")
        with contextlib.suppress(Broken):
            self._link.send(message)

    def _traffic(self) -> Table | None:
        return None if self._staff.traffic is None else self._staff.traffic.drained()


def result_message(
    task: Task, found: Done | HarvestError, cargo: Any, traffic: Table | None
) -> bytes:
    """What cannot be said is an error."""
    of = task.token, task.stage.name, task.uri
    try:
        if isinstance(found, Done):
            return encoded(Result(*of, table_of_done(found), None, cargo, traffic))
        return encoded(Result(*of, None, table_of_error(found), cargo, traffic))
    except (ValueError, TypeError) as error:
        trouble = RetryLater(f"what it found cannot be sent: {error}")
        return encoded(Result(*of, None, table_of_error(trouble), None, traffic))


class _ToCoordinator(logging.Handler):
    def __init__(self, post: Post) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter())  # the text alone; the rest is told apart
        self._post = post

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(Exception):
            text = self.format(record)[:LONGEST_LINE]
            self._post.tell(Said(record.levelno, record.name[:200], text))

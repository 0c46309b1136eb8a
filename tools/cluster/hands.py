"""What a node has in hand: tasks it was given and has not answered for, and how it gets more.

Promise: a task that is in hand is said to be so, often enough that nobody else gets it; no more is
asked for than there are places. What nobody has begun is given back at once where it is not wanted.
Any thread may use it.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from threading import RLock

from .subjects import AT, at_consumer, inbox_prefix, next_tasks

AHEAD = 1.25  # tasks for each place: the next lies ready
PULL_S = 5.0  # so long a question for tasks stands
LATE_S = 2.0
STILL_S = 3.0  # how often a task is said to be in hand
ACK, STILL, NOT_ME = b"+ACK", b"+WPI", b"-NAK"

Say = Callable[[str, bytes, str], None]


@dataclass(slots=True)
class InHand:
    """A task. `local` is its token here, `token` the one by which the coordinator knows it."""

    local: int
    token: int
    stage: str
    uri: str
    reply: str  # where the queue is told of it


@dataclass(slots=True)
class Pull:
    """A question for tasks that stands."""

    stage: str
    left: int
    until: float


class Hands:
    def __init__(self, name: str, say: Say) -> None:
        self._say = say
        self._lock = RLock()
        self._inbox = f"{inbox_prefix(name)}.p"
        self._at = at_consumer(name)
        self._numbers = count(1)
        self._pulls: dict[int, Pull] = {}
        self._by_local: dict[int, InHand] = {}
        self._next_still = 0.0

    @property
    def subject(self) -> str:
        """Where tasks come."""
        return f"{self._inbox}.>"

    def __len__(self) -> int:
        return len(self._by_local)

    def pull(self, stage: str, places: int) -> None:
        """Ask for as many as there is room for, where no question for them stands."""
        now = time.monotonic()
        with self._lock:
            self._pulls = {n: each for n, each in self._pulls.items() if each.until + LATE_S > now}
            asked = sum(each.left for each in self._pulls.values() if each.stage == stage)
            missing = math.ceil(places * AHEAD) - self.number(stage) - asked
            if missing > 0:
                self._ask(stage, missing)

    def pull_own(self, places: int) -> None:
        """What only this node can do."""
        with self._lock:
            if places > 0 and not any(each.stage == self._at for each in self._pulls.values()):
                self._ask(self._at, places)

    def _ask(self, consumer: str, batch: int) -> None:
        number = next(self._numbers)
        self._pulls[number] = Pull(consumer, batch, time.monotonic() + PULL_S)
        wanted = {"batch": batch, "expires": int(PULL_S * 1e9)}
        self._say(next_tasks(consumer), json.dumps(wanted).encode(), f"{self._inbox}.{number}")

    def pulled(self, subject: str) -> None:
        """A task came, under the subject it was sent to: one question has one less to wait for."""
        consumer = self._at if subject.startswith(AT) else subject.rpartition(".")[2]
        with self._lock:
            for number, pull in self._pulls.items():
                if pull.stage == consumer:
                    pull.left -= 1
                    if not pull.left:
                        del self._pulls[number]
                    return

    def answered(self, subject: str) -> None:
        """There are no more for the question with this inbox."""
        with self._lock:
            self._pulls.pop(int(subject.rpartition(".")[2]), None)

    def forget_pulls(self) -> None:
        """The server is another one: it knows of no question."""
        with self._lock:
            self._pulls.clear()

    # --- tasks -----------------------------------------------------------------------------

    def take(self, task: InHand) -> None:
        with self._lock:
            self._by_local[task.local] = task

    def again(self, stage: str, uri: str, token: int, reply: str) -> bool:
        """It is in hand already, by another token: that one counts now."""
        with self._lock:
            for each in self._by_local.values():
                if (each.stage, each.uri) == (stage, uri):
                    self.say(each, ACK)
                    each.token, each.reply = token, reply
                    return True
        return False

    def end(self, local: int) -> InHand:
        with self._lock:
            return self._by_local.pop(local)

    def number(self, stage: str) -> int:
        with self._lock:
            return sum(each.stage == stage for each in self._by_local.values())

    def tokens(self) -> list[int]:
        with self._lock:
            return [each.token for each in self._by_local.values()]

    def still(self) -> None:
        """Tell the queue of all that is in hand, every now and then."""
        if time.monotonic() < self._next_still:
            return
        self._next_still = time.monotonic() + STILL_S
        with self._lock:
            for each in self._by_local.values():
                self.say(each, STILL)

    def say(self, task: InHand, word: bytes) -> None:
        if task.reply:
            self._say(task.reply, word, "")

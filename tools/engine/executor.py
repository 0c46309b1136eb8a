"""Who works on tasks: what a monitor asks of it, whatever is behind it, threads, processes or other
machines.

Promise: each task that is given comes back once, with its token, as what it found or as the error
that ended it. A holder's name stands for one place, and a place has one task at a time: from when
it begins until its result was answered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from ..journal.nodes import Node
from ..journal.processes import Process
from .stage import Done, Task

Verdict = Literal["settled", "stale", "again"]
"""Stored and moved on; nobody waits for it any more, so drop what it brought; or not stored."""

Answer = Callable[[Verdict], None]
"""To be called once for each result; the place it came from is free then."""

Came = Callable[[int, str, Done | Exception, Answer], None]
"""Called with a token, its holder (empty: nobody had begun it), the result and how to answer."""


def nobody(_verdict: Verdict) -> None:
    """The Answer where no place waits for one."""


def place_of(stage: str, number: int) -> str:
    """The holder's name that stands for a place here; places are numbered from 1.

    >>> place_of("download", 3)
    'download-3'
    """
    return f"{stage}-{number}"


class Member(NamedTuple):
    """Somebody who takes tasks: this process, or one elsewhere."""

    name: str
    places: Mapping[str, int]  # by stage
    at_work: Mapping[str, int]
    process: Process | None = None  # if it is one beside this
    node: Node | None = None  # if it is another machine


def processes_of(executor: Executor) -> list[Process]:
    """Those beside this one that work for it."""
    return [each.process for each in executor.members() if each.process is not None]


def nodes_of(executor: Executor) -> list[Node]:
    """Other machines that work for it."""
    return [each.node for each in executor.members() if each.node is not None]


class Executor(Protocol):
    """Any thread may call this, and nothing but `close` waits."""

    def open(self, came: Came) -> None:
        """From now on tasks may be given; `came` is called from any thread."""

    def places(self, stage: str) -> int:
        """How many tasks of a stage can be at work at once, now."""

    def give(self, tasks: Sequence[Task]) -> None:
        """Begin them as places are free. `holder` of each is set when it is known."""

    def recall(self, stage: str) -> None:
        """What nobody has begun comes back as Interrupted; idle places may be given up."""

    def rest(self, stage: str, numbers: Collection[int]) -> None:
        """These places of a stage end what they work on and begin nothing; all others do."""

    def members(self) -> Sequence[Member]:
        """Who takes tasks now."""

    def close(self, grace_s: float) -> None:
        """Recall everything; what is at work has so long, and comes too late after that."""

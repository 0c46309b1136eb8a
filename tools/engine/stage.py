"""What a job is made of: stages, the tasks they hand out, and what a task finds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from .gate import Gate

Order = Literal["fifo", "deepest", "levels", "priority", "fair"]
Kind = Literal["waits", "computes"]


@dataclass(frozen=True)
class Stage:
    """One kind of work: its name, how many at once, in which order, how many in all.

    `lane` says of a URI what it has to share with others, such as a host; `gate` when it may be
    asked. Only what may be asked now is handed out; among those `order` decides, and `fair` takes
    lanes in turn, of each the least deep first.
    """

    name: str
    workers: int
    order: Order = "fifo"
    limit: int | None = None
    folder: Path | None = None  # where its files go, if it writes any
    lane: Callable[[str], str] | None = field(default=None, compare=False)
    gate: Gate | None = field(default=None, compare=False)  # none: any lane at any time
    deepest: int | None = None  # what is found below that does not enter
    kind: Kind = "waits"
    portion: int = 16  # tasks that lie ready for each worker, if it computes
    queue: int | None = None  # how many may wait before those that bring more are held
    is_elsewhere: bool = False  # other machines work on it: a death here is none of theirs

    @cached_property
    def ahead(self) -> int:
        """How many are handed out for each worker. One that computes needs nobody's answer to go
        on: the next ones lie ready, and those it has done are stored together."""
        return self.portion if self.kind == "computes" else 1

    @cached_property
    def waiting(self) -> str:
        return f"to_{self.name}"

    @cached_property
    def active(self) -> str:
        return f"on_{self.name}"

    @cached_property
    def done(self) -> str:
        return f"done_{self.name}"

    def rank(self, depth: int, priority: int) -> int | None:
        """Smaller is handed out first; None is by age alone, which needs no index.

        `levels` is breadth-first with a barrier: a depth waits for the one above it.
        """
        if self.order == "fifo":
            return None
        if self.order == "priority":
            return priority
        return -depth if self.order == "deepest" else depth

    def lane_of(self, uri: str) -> str | None:
        """None if there are no lanes. What cannot be told of a URI is no reason to stop: those
        share a lane."""
        if self.lane is None:
            return None
        try:
            return self.lane(uri)
        except Exception:
            return ""


@dataclass(slots=True)
class Task:
    """A leased URI: plain data, which may travel to another process.

    The token is that of no other lease, now or later; whoever brings a result names it. The holder
    is the name of who works on it: one place, which works on nothing else meanwhile.
    """

    id: int
    uri: str
    stage: Stage
    rank: int | None
    depth: int
    attempts: int
    is_hurried: bool = field(default=False, compare=False)  # to be ended with what it has
    token: int = 0
    holder: str = field(default="", compare=False)  # empty: nobody has begun
    begun: float = field(default_factory=time.monotonic, repr=False, compare=False)
    priority: int = 0
    note: str | None = None
    lane: str | None = None
    seconds: float | None = field(default=None, repr=False, compare=False)  # until its result came
    luggage: object = field(default=None, repr=False, compare=False)  # None: gone, or never was
    again: str | None = field(default=None, compare=False)  # it sank meanwhile: the stage to see


@dataclass(frozen=True, slots=True)
class Found:
    """URIs discovered for a stage, or for `finished` if nothing is to be done with them; a depth is
    only given where it is not the finder's plus one.

    A note goes to whoever works on its URI, in any stage; the first one stays. With `again` a known
    URI that is found less deep than before sinks to that depth, and if it is in `finished` it goes
    to the stage of that name.
    """

    stage: str
    uris: Sequence[str]
    priority: int = 0
    depth: int | None = None
    notes: Sequence[str | None] | None = None
    again: str | None = None

    def __post_init__(self) -> None:
        if self.notes is not None and len(self.notes) != len(self.uris):
            raise ValueError(f"{len(self.uris)} URIs with {len(self.notes)} notes")


@dataclass(frozen=True, slots=True)
class Done:
    """What a worker brings back: the pool its URI goes to, what it found, what is to be stored, and
    what is to be counted."""

    to: str
    found: Sequence[Found] = ()
    records: object = None  # only the job knows what it is
    tally: Mapping[str, int] = field(default_factory=dict)
    reason: str | None = None  # why, if it goes to `failed`
    facts: Mapping[str, str] = field(default_factory=dict)  # written down with the move
    luggage: object = None  # not stored: for the next stage's task of this URI, if it is near
    kept_at: str = ""  # the node that has its files; empty: they are here, or there are none

    @property
    def reason_group(self) -> str:
        """In a few words."""
        found = [f"{len(group.uris)} found for {group.stage}" for group in self.found if group.uris]
        counted = [f"{number} {name}" for name, number in self.tally.items() if number]
        return ", ".join([*found, *counted]) or "nothing found"


Worker = Callable[[Task], Done]
"""One call is one task. It raises an error of `errors.py` to say what else becomes of it."""


@runtime_checkable
class Finisher(Protocol):
    """A worker that can end a task with what earlier attempts have gathered."""

    def begun(self) -> Sequence[str]:
        """URIs that something has been gathered for; not all if they are many."""

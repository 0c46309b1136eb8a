"""What a job is that is open: its stages, its first URIs, a worker for each stage and the store of
what they bring. What the harvest asks of one is here; what is known of it before, in
`description.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..errors import HarvestError, UsageError
from ..journal.rests import Resting
from .description import Description, Metric
from .panel import Panel

if TYPE_CHECKING:  # a report needs no pools
    from .committer import Store
    from .executor import Executor
    from .harvest import Harvest
    from .stage import Found, Stage, Task, Worker


class Counted(NamedTuple):
    """What a run has done so far, for its bars and lines."""

    title: str
    number: int
    verb: str
    has_bar: bool = True


class Reading(Protocol):
    """A file of which so many bytes are read."""

    @property
    def packed(self) -> int: ...
    @property
    def size(self) -> int: ...


class Guard(Protocol):
    """Whoever sees to it that the places of a harvest stay its own."""

    def look(self) -> None:
        """Often: are they still the ones we began with?"""

    def ask(self) -> None:
        """By the minute, in a thread of its own."""


class Job:
    """What is not said here otherwise is what a job without any of it does."""

    description: Description
    stages: Sequence[Stage]
    seeds: Sequence[Found]
    workers: Mapping[str, Worker]
    client: Any = None  # whose traffic is counted, if it asks anybody
    reading: Reading | None = None  # by its first stage
    guard: Guard | None = None
    task_timeout_s: float | None = None  # what takes longer is taken back; None: nothing is
    scan_s: float | None = None  # how often that is looked for, if not as usual
    transport: Any = None  # to the receiving node, if its files go there
    has_claimed = False  # what lies elsewhere knows this harvest by now: its state must stay

    @property
    def store(self) -> Store:
        """Where the records of finished tasks go."""
        raise NotImplementedError

    def identity(self) -> dict[str, str]:
        """What must be the same when a harvest is resumed; its `job` is the description's name."""
        return {"job": self.description.name}

    def choices(self) -> dict[str, str]:
        """What may differ when a harvest is resumed, but hardly on purpose."""
        return {}

    def executor(self) -> Executor | None:
        """Who works on its tasks; None: threads of this process."""
        return None

    def abroad(self) -> Any:
        """What of it nodes of a cluster do (see `cluster.abroad`); from now on they do it."""
        raise UsageError(f"the job {self.description.name!r} cannot be done on other machines")

    # --- from the start to the end ---------------------------------------------------------

    def open(self, harvest: Harvest) -> None:
        """Before the first task. Raises what keeps it from starting."""

    def begin(self) -> None:
        """Nothing can fail any more before there is something to keep."""

    def finish(self, harvest: Harvest) -> None:
        """All tasks have ended, or somebody stopped it; its files are still here."""

    def next_round(self, harvest: Harvest) -> float | None:
        """When it begins again in the same process, by the wall clock; None: this was all."""
        return None

    def is_ready(self) -> bool:
        """Asked when the next round is due; if not, it says anew when that is."""
        return True

    def problem(self, harvest: Harvest) -> HarvestError | None:
        """What to tell instead of success."""
        return None

    def close(self) -> None: ...

    def failed(self, task: Task, reason: str) -> object:
        """What is to be stored of one that nobody tries again, before it goes to `failed`; None if
        nothing is. At the next start again for one that killed its process."""
        return None

    def lost(self, owners: Sequence[str]) -> None:
        """Their files are gone with a node: its store holds none of them."""

    # --- how far it is ---------------------------------------------------------------------

    def counted(self) -> Sequence[Counted]:
        return ()

    def waits(self) -> str:
        """For whom, while somebody else is worked with, in a few words; "" for nobody."""
        return ""

    def begun_bytes(self) -> int:  # of files of unfinished tasks
        return 0

    def metrics(self) -> Mapping[str, Metric]:
        """Its own that counts do not tell, by name; one that ends with _total only ever grows."""
        return {}

    def allowed(self) -> Mapping[str, str]:
        """What each host is asked at most, in words; every other one as it is said for ""."""
        return {} if self.client is None else self.client.allowed

    def hosts(self) -> Mapping[str, int]:
        """How many of those it is polite to by itself are busy, waiting, resting."""
        return {}

    def resting(self) -> Sequence[Resting]:
        """Which of these are left alone, the first to come back first."""
        return ()

    def read(self) -> Mapping[str, int]:
        """How much of its sources was read, and how much could not be."""
        return {}

    def summary(self) -> Sequence[Panel]:
        """What it kept, for the table at the end."""
        return ()

    def places(self) -> Mapping[str, str | Path]:
        """Where a user finds what was harvested."""
        return {}

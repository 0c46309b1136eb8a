"""What a job is: all that the harvest, the commands and the reports ask of one.

A `Description` is what is known of a job without opening anything, so that whoever only looks at a
state or puts failed ones back to work needs no network and no store. A `Job` is one that is open:
its stages, its first URIs, a worker for each stage and the store of what they bring.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from ..errors import HarvestError, UsageError
from ..journal.facts import typed
from ..journal.reader import WholeFile
from ..journal.rests import Resting
from .panel import Panel

if TYPE_CHECKING:  # a report needs no pools
    from .committer import Store
    from .executor import Executor
    from .harvest import Harvest
    from .stage import Found, Stage, Task, Worker

Pace = Callable[[str], float | None]
"""How many of what is counted under a name come in a second, over the last minute; or None."""


class Series(NamedTuple):
    """Something that tasks count and whose pace is worth telling.

    `key` is the name of the count; one that ends with a space is the beginning of several.
    """

    title: str
    key: str


class Counted(NamedTuple):
    """What a run has done so far, for its bars and lines."""

    title: str
    number: int
    verb: str
    has_bar: bool = True


class Metric(NamedTuple):
    """A number for whoever watches from outside, or one for each value of a label. A host or an
    address is no such value: there would be no end of them."""

    help: str
    value: float | Mapping[str, float]
    label: str = ""


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


class Description:
    """As it stands here: of a job that says nothing of itself."""

    name = "unknown"
    examples: ClassVar[Sequence[str]] = ()
    """Command lines, each with a few words on what it does."""
    stage_titles: ClassVar[Mapping[str, str]] = {}
    """What a stage has done, in words; where none are given its name is told."""
    series: ClassVar[Sequence[Series]] = ()
    store_title = "store"
    whole_file: WholeFile | None = None
    usual_home = "state"
    """Its state folder, where neither a setting nor a flag names another."""
    place_flags: ClassVar[Sequence[str]] = ("config", "state")
    """Which of the flags that say where things are its user may give."""
    fact_types: ClassVar[Mapping[str, Callable[[str], object]]] = {}
    """How the texts it writes down about itself are read for programs."""

    # --- for whoever looks -----------------------------------------------------------------

    def noun(self, facts: Mapping[str, str]) -> str:
        """What its URIs are called, by what the state says of itself."""
        return "URIs"

    def typed_facts(self, facts: Mapping[str, str]) -> dict[str, object]:
        return typed(facts, self.fact_types)

    def choice_for_people(self, key: str, value: str) -> str:
        return value

    def panels(self, counts: Mapping[str, int]) -> Sequence[Panel]:
        """Its own views, by what its tasks have counted up to some moment."""
        return ()

    def metrics(self, counts: Mapping[str, int]) -> Mapping[str, Metric]:
        """Those of its own that such counts tell, by name."""
        return {}

    def views(self, file: Path, pace: Pace) -> Sequence[Panel]:
        """Those that need more than counts: read from a state's file, or what lies beside it."""
        return ()

    def details(self, settings: Any) -> Sequence[Panel]:
        """Those for which its stores have to be asked, for the live page; they may take a while."""
        return ()

    def known_as(self, file: Path, uris: Sequence[str]) -> Mapping[str, str]:
        """What people call these URIs of a state's file, where that is something else."""
        return {}

    def for_programs(self, counts: Mapping[str, int]) -> dict[str, object]:
        """What stands in the JSON besides what every job has."""
        return {}

    def stored(self, settings: Any) -> Mapping[str, int] | None:
        """What its store holds; None if there is none yet. Unreachable or Unavailable if it does
        not answer."""
        return None

    def command_before(self, facts: Mapping[str, str]) -> str:
        """What its user typed, where a state of an older version has not written that down."""
        return self.name

    # --- for whoever starts it -------------------------------------------------------------

    def arguments(self, parser: ArgumentParser) -> None:
        """Add the flags that are its own."""

    def home(self, settings: Any) -> Path:
        """Its state folder, where nobody names another."""
        return Path(settings.state)

    def homes(self, settings: Any) -> Sequence[Path]:
        """All its state folders, where one job has several at once."""
        return (self.home(settings),)

    def products(self, settings: Any) -> Mapping[str, Path]:
        """Folders of what it has harvested, outside of its state, by the flag that names each:
        they are set aside with it."""
        return {}

    def set_aside(self, settings: Any) -> Sequence[str]:
        """For a new beginning: what it has harvested that lies in no folder, such as tables of a
        server; what was done, in words."""
        return ()

    def prepared(self, settings: Any, arguments: Namespace) -> Any:
        """The settings with what only this job reads from them; UsageError if they are wrong."""
        return settings

    def stages(self, settings: Any) -> Sequence[Stage]:
        raise UsageError(
            f"nobody here knows the job {self.name!r}: use the version of Sheaf that began it"
        )

    def plan(self, settings: Any, arguments: Namespace) -> Iterable[tuple[str, str]]:
        """What it would do, by what lies on the disk; nothing is made, and nobody is asked."""
        return ()

    def opened(self, settings: Any, arguments: Namespace, stop: Event) -> Job:
        """Nothing of it is asked or written before `Job.open`, except to see that its places are
        its own."""
        raise UsageError(f"the job {self.name!r} cannot be started here")

    def staff(self, name: str, settings: Any, welcome: Any, post: Any, stop: Event) -> Any:
        """Who works on a node of that name (see `cluster.staff`)."""
        raise UsageError(f"the job {self.name!r} cannot be done on a node")

    def shipping(self, settings: Any) -> Any:
        """What of it goes to the receiving node (see `jobs.shipping`)."""
        raise UsageError(f"the job {self.name!r} has nothing to ship")

    def rehearsed(self, settings: Any, scratch: Any, arguments: Namespace, stop: Event) -> Job:
        """For a trial that touches nothing: `scratch` are the settings with an empty folder in the
        place of what they name."""
        return self.opened(scratch, arguments, stop)


class Job:
    """One that is open. What is not said here otherwise is what a job without any of it does."""

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

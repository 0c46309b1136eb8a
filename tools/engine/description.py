"""What is known of a job without opening anything, so that whoever only looks at a state or puts
failed ones back to work needs no network and no store.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..errors import UsageError
from ..journal.facts import typed
from ..journal.reader import WholeFile
from .panel import Panel

if TYPE_CHECKING:
    from .job import Job
    from .stage import Stage

Pace = Callable[[str], float | None]
"""How many of what is counted under a name come in a second, over the last minute; or None."""


class Series(NamedTuple):
    """Something that tasks count and whose pace is worth telling.

    `key` is the name of the count; one that ends with a space is the beginning of several.
    """

    title: str
    key: str


class Metric(NamedTuple):
    """A number for whoever watches from outside, or one for each value of a label. A host or an
    address is no such value: there would be no end of them."""

    help: str
    value: float | Mapping[str, float]
    label: str = ""


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
    changed_by: ClassVar[Mapping[str, Sequence[str]]] = {}
    """The settings that its own flags change, and those flags, by their names in the options."""
    taken_from: ClassVar[Mapping[str, str]] = {}
    """The settings that every job has and that it takes from elsewhere: where that is."""

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
        """What its store holds, which may take a while to count; None if there is none yet.
        Unreachable or Unavailable if it does not answer."""
        return None

    def table_names(self, settings: Any) -> Sequence[str]:
        """Of its store, without counting anything. Raises what `stored` raises."""
        return ()

    def listing(self, settings: Any, table: str, after: str, most: int) -> Any:
        """So many rows of a table of its store, behind a place (see `tables.listing`); None if it
        has no such table. Raises what `stored` raises."""
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

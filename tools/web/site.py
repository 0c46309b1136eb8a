"""What is served: a state with its job, looked at no more often than it can have changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from ..base.seldom import Answer, Aside, Seldom
from ..engine.description import Description
from ..engine.panel import Panel
from ..errors import HarvestError, StateDamaged
from ..journal.effective import Value
from ..journal.reader import failures_at, hosts_at
from ..journal.reasons import Failures
from ..reports.view import STRANGER, View, view_of
from .log_file import has_ended
from .newest import NewFile, newest_files
from .paces import MOST

if TYPE_CHECKING:
    from .explorer import Explorer

T = TypeVar("T")

FRESH_S = 0.4  # as long an answer is good for whoever asks next
TIMES, LONGEST_FRESH_S = 10, 5.0  # or so many times as long as it took
STORED_S, NEWEST_S = 5.0, 3.0


@dataclass(frozen=True)
class Sources:
    """Where things are. `job_of` says whose state a file is; `values` are the settings where
    no harvest has written down its own."""

    settings: Any
    file: Path
    job_of: Callable[[Path], Description]
    values: Sequence[Value] = ()
    command_of: Callable[[Mapping[str, str]], str] = lambda facts: ""
    is_read_only: bool = False


@dataclass
class Site:
    sources: Sources
    _lock: Lock = field(default_factory=Lock)
    _view: View | None = None
    _until: float = 0.0
    _changes: int = 0
    _stored: Aside[Mapping[str, int] | None] = field(init=False)
    _details: Aside[Sequence[Panel]] = field(init=False)
    newest: Seldom[list[NewFile]] = field(init=False)
    failures: Seldom[Failures] = field(init=False)
    _kept: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settings = self.sources.settings
        self._stored = Aside(lambda: self.job.stored(settings), STORED_S)
        self._details = Aside(lambda: self.job.details(settings), STORED_S)
        self.newest = Seldom(lambda: newest_files(self._own_media), NEWEST_S)
        self.forget()

    @cached_property
    def explorer(self) -> Explorer:
        """The graph, for the pages that show it."""
        from .explorer import Explorer

        return Explorer(self)

    def close(self) -> None:
        if "explorer" in self.__dict__:
            self.explorer.close()

    @property
    def file(self) -> Path:
        return self.sources.file

    @property
    def state(self) -> Path:
        return self.sources.file.parent

    @property
    def media(self) -> Path | None:
        folder: Path | None = getattr(self.sources.settings, "media", None)
        return folder

    @property
    def _own_media(self) -> Path | None:
        """Not those of another job, which may lie in the usual place."""
        return self.media if "media" in self.job.place_flags else None

    @property
    def job(self) -> Description:
        return self.sources.job_of(self.file) if self.file.exists() else STRANGER

    def view(self) -> View:
        """Without failures, which have pages of their own, and of hosts with the most asked ones.
        Raises what a state that cannot be read raises."""
        counted = self.last_stored()
        stored = counted.value if counted else None
        with self._lock:
            if self._view is None or time.monotonic() >= self._until:
                if not self.file.exists():
                    raise StateDamaged(f"there is no harvest at {self.file} yet")
                changes = self._changes
                self._view, fresh_s = self._new_view(stored)
                if changes == self._changes:  # else it may be of before the last one
                    self._until = time.monotonic() + fresh_s
            return self._view

    def _new_view(self, stored: Mapping[str, int] | None) -> tuple[View, float]:
        """And for how many seconds it is good: longer if it took long."""
        begun = time.monotonic()
        view = view_of(self.file, self.job, stored, has_failures=False, most_hosts=MOST)
        return view, min(max(FRESH_S, TIMES * (time.monotonic() - begun)), LONGEST_FRESH_S)

    def whole_view(self) -> View:
        """With all failures and hosts."""
        view, failures = self.view(), self.failures()
        assist = view.seen.assist._replace(hosts=hosts_at(self.file))
        seen = view.seen._replace(
            failures=failures.reasons,
            groups=failures.groups,
            rare_groups=failures.rare_groups,
            assist=assist,
        )
        return view._replace(seen=seen)

    def forget(self) -> None:
        """Something was changed: the next look is a new one, whatever is being looked at now."""
        self._changes += 1
        self._until = 0.0
        self.failures = Seldom(lambda: failures_at(self.file))

    def remembered(self, name: str, make: Callable[[], T]) -> T:
        """What a page keeps from one look to the next, made at the first."""
        with self._lock:
            if name not in self._kept:
                self._kept[name] = make()
            found: T = self._kept[name]
            return found

    def has_ended(self) -> bool:
        return has_ended(self.state / "log")

    def stored(self) -> Answer[Mapping[str, int] | None] | None:
        """What the store holds, as it was counted last; None before that. Raises why it does not
        answer."""
        return self._stored.known()

    def details(self) -> Answer[Sequence[Panel]] | None:
        """The job's own, for which its stores are asked, as they were counted last."""
        return self._details.known()

    @property
    def store_trouble(self) -> str:
        """Why it does not answer now, if it does not."""
        return self._stored.trouble

    def last_stored(self) -> Answer[Mapping[str, int] | None] | None:
        """What it holds, where that is one thing among others: from before, if it is silent now."""
        with suppress(HarvestError):
            self.stored()
        return self._stored.last

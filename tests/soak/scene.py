"""Everything a fault can lay its hands on, and how it waits for its moment."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from threading import Event

from tests.soak.disk import Disk
from tests.soak.harvest import Harvest
from tests.soak.hosts import Neighbourhood

TICK_S = 0.02


@dataclass
class Scene:
    """One round: a harvest and its neighbourhood."""

    near: Neighbourhood
    harvest: Harvest
    state_disk: Disk
    media_disk: Disk
    chance: Random
    show: Callable[[], None]
    trouble_until: float = 0.0
    detail: str = ""
    _pending: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    _never: Event = field(default_factory=Event)
    _requests_at_start: int = 0

    def wait(
        self,
        seconds: float,
        until: Callable[[], bool] = lambda: False,
        tick_s: float = TICK_S,
    ) -> bool:
        """Until it holds; False if it does not in time, or the process has ended before."""
        deadline = time.monotonic() + seconds
        while not until():
            if time.monotonic() > deadline or not self.harvest.is_running:
                return until()
            self._never.wait(tick_s)
            self.tick()
        return True

    def tick(self) -> None:
        now = time.monotonic()
        due = [each for each in self._pending if each[0] <= now]
        self._pending = [each for each in self._pending if each[0] > now]
        for _, action in due:
            action()
        self.show()

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        self._pending.append((time.monotonic() + seconds, action))

    def trouble(self, seconds: float) -> None:
        """For so long the harvest may find nobody who answers."""
        self.trouble_until = max(self.trouble_until, time.monotonic() + seconds)

    def is_in_trouble(self) -> bool:
        """Was there any while this process ran?"""
        return self.trouble_until > self.harvest.began

    def recover(self) -> None:
        """Whatever was to end later ends now."""
        for _, action in self._pending:
            action()
        self._pending = []
        self.near.recover()
        self.trouble_until = min(self.trouble_until, time.monotonic())

    def is_up(self) -> bool:
        """It has asked for more than whether the source is there: it listens to signals."""
        return self.harvest.is_running and self.requests >= self._requests_at_start + 2

    def start(self) -> None:
        self._requests_at_start = self.requests
        self.harvest.start()

    @property
    def requests(self) -> int:
        return sum(each.requests for each in self.near.hosts)

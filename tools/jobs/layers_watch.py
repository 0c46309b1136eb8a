"""What is watched beside a task's visits: hosts that stay silent; and each hour what is left."""

from __future__ import annotations

import time

from ..engine.harvest import Harvest
from ..layers import snapshot
from ..network.hosts import Hosts
from ..settings import Settings
from .silent_hosts import HOUR_S, give_up_silent


class Watch:
    def __init__(self, harvest: Harvest, hosts: Hosts, settings: Settings) -> None:
        self._harvest = harvest
        self._hosts = hosts
        self._settings = settings
        self._due = time.monotonic() + HOUR_S

    def look(self) -> None:
        """Nothing that is needed often."""

    def ask(self) -> None:
        """By the minute."""
        if time.monotonic() >= self._due:
            self._due += HOUR_S
            snapshot.write(self._settings.pools_file)
        patience_h = self._settings.layers.host_patience_h
        give_up_silent(self._harvest, self._hosts, patience_h, "requests")

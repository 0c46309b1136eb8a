"""What is watched beside a task's visits: hosts that stay silent; and each hour what is left."""

from __future__ import annotations

import time

from ..engine.harvest import Harvest
from ..layers import snapshot
from ..network.hosts import Hosts
from ..settings import Settings
from .silent_hosts import HOUR_S, SilentHosts

WITHOUT_RULES = "if you may ask without robots.txt, `robots = false` in the task does"


class Watch:
    def __init__(self, harvest: Harvest, hosts: Hosts, settings: Settings) -> None:
        self._silent = SilentHosts(harvest, hosts, settings.layers, "request", WITHOUT_RULES)
        self._settings = settings
        self._due = time.monotonic() + HOUR_S

    def look(self) -> None:
        """Often: does anything go on?"""
        self._silent.look()

    def ask(self) -> None:
        """By the minute."""
        if time.monotonic() >= self._due:
            self._due += HOUR_S
            snapshot.write(self._settings.pools_file)
        self._silent.ask()

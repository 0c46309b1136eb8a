"""What is watched beside a crawl: its archive, its time, and hosts that stay silent."""

from __future__ import annotations

import logging
import time

from ..archive.store import Archive
from ..engine.harvest import Harvest, Request
from ..network.hosts import Hosts
from ..pages.settings import PagesSettings
from .silent_hosts import SilentHosts

logger = logging.getLogger(__name__)

WITHOUT_RULES = "if you may ask without robots.txt, --no-robots does"


class Watch:
    def __init__(
        self, harvest: Harvest, hosts: Hosts, archive: Archive, settings: PagesSettings
    ) -> None:
        self._harvest = harvest
        self._silent = SilentHosts(harvest, hosts, settings, "page", WITHOUT_RULES)
        self._archive = archive
        self._limit_s = settings.seconds
        self._begun = time.monotonic()
        self._has_ended = False

    def look(self) -> None:
        """Often: is the archive still ours, is there time left, and does anything go on?"""
        self._archive.check()
        self._look_at_time()
        self._silent.look()

    def ask(self) -> None:
        """By the minute."""
        self._silent.ask()

    def _look_at_time(self) -> None:
        limit = self._limit_s
        if limit is not None and not self._has_ended and time.monotonic() - self._begun >= limit:
            self._has_ended = True
            logger.warning("the %g seconds of this run are over", limit)
            self._harvest.ask(Request("stop"))

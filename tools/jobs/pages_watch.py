"""What is watched beside a crawl: its archive, its time, and hosts that stay silent."""

from __future__ import annotations

import logging
import time

from ..archive.store import Archive
from ..engine.harvest import Harvest, Request
from ..network.hosts import Hosts
from ..pages.settings import PagesSettings
from .silent_hosts import give_up_silent

logger = logging.getLogger(__name__)


class Watch:
    def __init__(
        self, harvest: Harvest, hosts: Hosts, archive: Archive, settings: PagesSettings
    ) -> None:
        self._harvest = harvest
        self._hosts = hosts
        self._archive = archive
        self._settings = settings
        self._begun = time.monotonic()
        self._has_ended = False

    def look(self) -> None:
        """Often: is the archive still ours, and is there time left?"""
        self._archive.check()
        limit = self._settings.seconds
        if limit is not None and not self._has_ended and time.monotonic() - self._begun >= limit:
            self._has_ended = True
            logger.warning("the %g seconds of this run are over", limit)
            self._harvest.ask(Request("stop"))

    def ask(self) -> None:
        """By the minute: the pages of a host that has been silent for hours fail."""
        give_up_silent(self._harvest, self._hosts, self._settings.host_patience_h, "pages")

"""What is watched beside a crawl: its archive, its time, and hosts that stay silent."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from ..archive.store import Archive
from ..base.text import amount
from ..engine.harvest import Harvest, Request
from ..network.hosts import Hosts
from ..pages.settings import PagesSettings

logger = logging.getLogger(__name__)

HOUR_S = 3600.0


def said_of(resting: Sequence[tuple[str, float, str]]) -> str:
    """Of hosts that are left alone, the first to come back first, each until a moment of the
    monotonic clock."""
    if not resting:
        return ""
    lane, until, reason = resting[0]
    moment = time.localtime(time.time() + until - time.monotonic())
    number = amount(len(resting), "host")
    return f"waiting for {number}, next: {lane} at {time.strftime('%H:%M', moment)} ({reason})"


class Watch:
    def __init__(
        self, harvest: Harvest, hosts: Hosts, archive: Archive, settings: PagesSettings
    ) -> None:
        self._harvest = harvest
        self._download = harvest.job.stages[0]
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
        for lane, _, reason in self._hosts.resting():
            hours = self._hosts.silent_for(lane) / HOUR_S
            if hours >= self._settings.host_patience_h:
                self._give_up(lane, f"the host is away: {reason}")

    def _give_up(self, lane: str, reason: str) -> None:
        pools, number = self._harvest.pools, 0
        while urls := pools.in_lane(self._download, lane):
            if not (given_up := self._harvest.give_up("download", urls, reason)):
                break  # somebody else holds them now
            number += given_up
        logger.warning("%s: %d pages are given up (%s)", lane, number, reason)

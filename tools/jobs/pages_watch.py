"""What is watched beside a crawl: its archive, its time, and hosts that stay silent."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from ..archive.store import Archive
from ..base.text import amount, duration
from ..engine.harvest import Harvest, Request
from ..network.hosts import Hosts
from ..pages.settings import PagesSettings
from ..pages.visit import NO_RULES

logger = logging.getLogger(__name__)

HOUR_S = 3600.0
CLOCKS_S = 0.5
MOST_AT_ONCE = 100  # hosts that are given up by those who have other things to do
WITHOUT_RULES = "; if you may ask without robots.txt, --no-robots does"

Resting = tuple[str, float, str]
"""A host, until which moment of the monotonic clock it is left alone, and why."""


def said_of(resting: Sequence[Resting]) -> str:
    """Of hosts that are left alone, the first to come back first."""
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
        self._has_told = False  # that nothing goes on

    def look(self) -> None:
        """Often: is the archive still ours, is there time left, and does anything go on?"""
        self._archive.check()
        self._look_at_time()
        resting = self._hosts.resting()
        if resting and self._is_still(resting[0][1]):
            self._tell(resting)
            self._give_up_silent(resting[:MOST_AT_ONCE], self._patience_s(resting))
        else:
            self._has_told = False

    def ask(self) -> None:
        """By the minute: the pages of a host that has been silent for hours fail."""
        self._give_up_silent(self._hosts.resting(), self._settings.host_patience_h * HOUR_S)

    def _look_at_time(self) -> None:
        limit = self._settings.seconds
        if limit is not None and not self._has_ended and time.monotonic() - self._begun >= limit:
            self._has_ended = True
            logger.warning("the %g seconds of this run are over", limit)
            self._harvest.ask(Request("stop"))

    # --- hosts that rest -------------------------------------------------------------------

    def _is_still(self, until: float) -> bool:
        """Nobody is at work, and the first thing to happen is that a host comes back then."""
        pools = self._harvest.pools
        if pools.at_work or any(pools.is_ready(stage) for stage in self._harvest.job.stages):
            return False
        due = pools.seconds_to_next_due(self._download)
        return due is not None and due > until - time.monotonic() - CLOCKS_S

    def _tell(self, resting: Sequence[Resting]) -> None:
        if not self._has_told:
            self._has_told = True
            silence = duration(self._patience_s(resting))
            advice = WITHOUT_RULES if _lacks_rules(resting) else ""
            logger.warning(
                "%s; pages of a host that stays silent for %s fail. Ctrl-C stops here, and the "
                "same command goes on%s",
                *(said_of(resting), silence, advice),
            )

    def _patience_s(self, resting: Sequence[Resting]) -> float:
        """If nobody's robots.txt could be had and there is no page yet, the seeds or the line are
        to blame, and nobody should wait for hours to hear that."""
        usual = self._settings.host_patience_h * HOUR_S
        if _lacks_rules(resting) and not self._harvest.pools.count("finished"):
            return min(self._settings.start_patience_s, usual)
        return usual

    def _give_up_silent(self, resting: Sequence[Resting], patience_s: float) -> None:
        for lane, _, reason in resting:
            if self._hosts.silent_for(lane) >= patience_s:
                self._give_up(lane, f"the host is away: {reason}")

    def _give_up(self, lane: str, reason: str) -> None:
        pools, number = self._harvest.pools, 0
        while urls := pools.in_lane(self._download, lane):
            if not (given_up := self._harvest.give_up("download", urls, reason)):
                break  # somebody else holds them now
            number += given_up
        if number:
            logger.warning("%s: %s given up (%s)", lane, amount(number, "page"), reason)


def _lacks_rules(resting: Sequence[Resting]) -> bool:
    return all(reason.startswith(NO_RULES) for _, _, reason in resting)

"""Hosts that are left alone: who they are, in words, and what becomes of what waits for them.

Promise: where nothing goes on but waiting, that is told at once, with what can be done about it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Protocol

from ..base.text import amount, duration
from ..engine.harvest import Harvest
from ..journal import rests
from ..network.courtesy import NO_RULES
from ..network.hosts import Hosts

logger = logging.getLogger(__name__)

HOUR_S = 3600.0
CLOCKS_S = 0.5
MOST_AT_ONCE = 100  # hosts that are given up by those who have other things to do

Resting = tuple[str, float, str]
"""A host, until which moment of the monotonic clock it is left alone, and why."""


class Patience(Protocol):
    """How long somebody waits for hosts; the second where nothing was ever fetched."""

    @property
    def host_patience_h(self) -> float: ...
    @property
    def start_patience_s(self) -> float: ...


class SilentHosts:
    """Of those whom the first stage of a harvest asks for `noun`s; `advice` is how one asks without
    robots.txt."""

    def __init__(
        self, harvest: Harvest, hosts: Hosts, patience: Patience, noun: str, advice: str
    ) -> None:
        self._harvest = harvest
        self._hosts = hosts
        self._patience = patience
        self._noun = noun
        self._advice = advice
        self._stage = harvest.job.stages[0]
        self._has_told = False  # that nothing goes on

    def look(self) -> None:
        """Often: does anything go on?"""
        resting = self._hosts.resting()
        if resting and self._is_still(resting[0][1]):
            self._tell(resting)
            self._give_up_silent(resting[:MOST_AT_ONCE], self._patience_s(resting))
        else:
            self._has_told = False

    def ask(self) -> None:
        """By the minute: what waits for a host that has been silent for hours fails."""
        self._give_up_silent(self._hosts.resting(), self._patience.host_patience_h * HOUR_S)

    def _is_still(self, until: float) -> bool:
        """Nobody is at work, and the first thing to happen is that a host comes back then."""
        pools = self._harvest.pools
        if pools.at_work or any(pools.is_ready(stage) for stage in self._harvest.job.stages):
            return False
        due = pools.seconds_to_next_due(self._stage)
        return due is not None and due > until - time.monotonic() - CLOCKS_S

    def _tell(self, resting: Sequence[Resting]) -> None:
        if not self._has_told:
            self._has_told = True
            silence = duration(self._patience_s(resting))
            logger.warning(
                "%s; %ss of a host that stays silent for %s fail. Ctrl-C stops here, and the "
                "same command goes on%s",
                *(said_of(resting), self._noun, silence),
                f"; {self._advice}" if _lacks_rules(resting) else "",
            )

    def _patience_s(self, resting: Sequence[Resting]) -> float:
        """If nobody's robots.txt could be had and there is no page yet, the seeds or the line are
        to blame, and nobody should wait for hours to hear that."""
        usual = self._patience.host_patience_h * HOUR_S
        if _lacks_rules(resting) and not self._harvest.pools.count("finished"):
            return min(self._patience.start_patience_s, usual)
        return usual

    def _give_up_silent(self, resting: Sequence[Resting], patience_s: float) -> None:
        for lane, _, reason in resting:
            if self._hosts.silent_for(lane) >= patience_s:
                self._give_up(lane, f"the host is away: {reason}")

    def _give_up(self, lane: str, reason: str) -> None:
        pools, number = self._harvest.pools, 0
        while uris := pools.in_lane(self._stage, lane):
            if not (given_up := self._harvest.give_up(self._stage.name, uris, reason)):
                break  # somebody else holds them now
            number += given_up
        if number:
            logger.warning("%s: %s given up (%s)", lane, amount(number, self._noun), reason)


def left_alone(hosts: Hosts) -> list[rests.Resting]:
    """By the wall clock, for whoever looks from outside."""
    apart = time.time() - time.monotonic()
    return [rests.Resting(lane, apart + until, why) for lane, until, why in hosts.resting()]


def said_of(resting: Sequence[Resting]) -> str:
    """Of hosts that are left alone, the first to come back first."""
    if not resting:
        return ""
    lane, until, reason = resting[0]
    moment = time.localtime(time.time() + until - time.monotonic())
    number = amount(len(resting), "host")
    return f"waiting for {number}, next: {lane} at {time.strftime('%H:%M', moment)} ({reason})"


def _lacks_rules(resting: Sequence[Resting]) -> bool:
    return all(reason.startswith(NO_RULES) for _, _, reason in resting)

"""Hosts that are left alone: who they are, in words, and what becomes of what waits for them."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from ..base.text import amount
from ..engine.harvest import Harvest
from ..network.hosts import Hosts

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


def give_up_silent(harvest: Harvest, hosts: Hosts, patience_h: float, noun: str) -> None:
    """What waits in the first stage for a host that has been silent for hours fails."""
    for lane, _, reason in hosts.resting():
        if hosts.silent_for(lane) / HOUR_S >= patience_h:
            reason = f"the host is away: {reason}"
            number = _give_up(harvest, lane, reason)
            logger.warning("%s: %d %s are given up (%s)", lane, number, noun, reason)


def _give_up(harvest: Harvest, lane: str, reason: str) -> int:
    stage, number = harvest.job.stages[0], 0
    while uris := harvest.pools.in_lane(stage, lane):
        if not (given_up := harvest.give_up(stage.name, uris, reason)):
            break  # somebody else holds them now
        number += given_up
    return number

"""Whose fault is it that a file does not come: the file's own, or its host's?

Promise: while a host answers nobody its files are waited for, and nobody's attempt is spent; one
that answers nobody for a day is given up, so that a dead host cannot hold up the end of a harvest.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ..base.backoff import Rest
from ..errors import HarvestError, ServerTrouble, Unavailable
from ..network.guard import host_of

SEVERAL = 3  # files in a row that do not come, with none that does
LONGEST_REST_S = 3600.0
LONGEST_OUTAGE_S = 86_400.0

LetRest = Callable[[str, str, float], float]
"""An address, why its host is left alone, for how many seconds; gives how long it is."""


@dataclass(slots=True)
class Outage:
    rest: Rest
    since: float = field(default_factory=time.monotonic)
    urls: set[str] = field(default_factory=set)

    def is_believed(self, url: str) -> bool:
        """One file that does not come is no outage; a day of it is one no more."""
        if len(self.urls) < SEVERAL:
            self.urls.add(url)
        return len(self.urls) >= SEVERAL and time.monotonic() - self.since < LONGEST_OUTAGE_S


class FileHosts:
    """Any number of threads may share one."""

    def __init__(self, let_rest: LetRest, first_rest_s: float) -> None:
        self._let_rest = let_rest
        self._first_rest_s = first_rest_s
        self._outages: dict[str, Outage] = {}

    def answered(self, url: str) -> None:
        if self._outages:
            self._outages.pop(host_of(url), None)

    def failed(self, url: str, error: ServerTrouble) -> HarvestError:
        """What becomes of a file that did not come."""
        new = Outage(Rest(self._first_rest_s, LONGEST_REST_S))
        outage = self._outages.setdefault(host_of(url), new)
        if not outage.is_believed(url):
            return error
        outage.rest.begin()
        return Unavailable(str(error), self._let_rest(url, str(error), outage.rest.left))

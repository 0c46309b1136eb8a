"""Whose fault is it that a file does not come: the file's own, or its host's?

Promise: while a host answers nobody its files are waited for, and nobody's attempt is spent; one
that answers nobody for a day is given up, so that a dead host cannot hold up the end of a harvest.
What one process finds out of a host all know.
"""

from __future__ import annotations

import time

from ..errors import HarvestError, ServerTrouble, Unavailable
from ..network.guard import host_of
from ..network.rests import Rests

SEVERAL = 3  # files in a row that do not come, with none that does
LONGEST_OUTAGE_S = 86_400.0


class FileHosts:
    """Any number of threads may share one."""

    def __init__(self, rests: Rests, first_rest_s: float) -> None:
        self._rests = rests
        self._first_rest_s = first_rest_s
        self._failed: dict[str, set[str]] = {}  # by host, until one comes

    def answered(self, url: str) -> None:
        if self._failed:
            self._failed.pop(host_of(url), None)

    def failed(self, url: str, error: ServerTrouble) -> HarvestError:
        """What becomes of a file that did not come."""
        host = host_of(url)
        if not self._is_down(host, url):
            return error
        return Unavailable(
            str(error), self._rests.begin(host, str(error), None, self._first_rest_s)
        )

    def _is_down(self, host: str, url: str) -> bool:
        """One file that does not come is no outage; a day of it is one no more."""
        if (since := self._rests.ill_since(host)) is not None:
            return time.monotonic() - since < LONGEST_OUTAGE_S
        failed = self._failed.setdefault(host, set())
        if len(failed) < SEVERAL:
            failed.add(url)
        return len(failed) >= SEVERAL

"""Which hosts are left alone, until when and why.

Others than hosts may rest here, too, such as providers: their names hold a space.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ..base.backoff import Rest
from ..errors import Unavailable
from .budgets import DAY_S

logger = logging.getLogger(__name__)

FIRST_REST_S = 60.0
LONGEST_REST_S = 3600.0


class Trouble(NamedTuple):
    """Somebody is left alone for so many seconds, and has not been well since that moment."""

    host: str
    seconds: float
    reason: str
    since: float


@dataclass(slots=True)
class Patient:
    rest: Rest
    reason: str = ""
    since: float | None = None


class Rests:
    """Who is left alone until when. Any number of threads may share it. `on_begin` and `on_end` are
    told of each that begins to rest, and that is well again."""

    def __init__(self) -> None:
        self._patients: dict[str, Patient] = {}
        self.on_begin: Callable[[Trouble], object] = lambda trouble: None
        self.on_end: Callable[[str], object] = lambda host: None

    def now(self) -> list[Trouble]:
        """Those that are not well, whether or not they may be asked again."""
        patients = [(host, each, each.since) for host, each in list(self._patients.items())]
        return [
            Trouble(host, each.rest.left, each.reason, since)
            for host, each, since in patients
            if since is not None
        ]

    def number(self) -> int:
        """Of hosts that are left alone now."""
        patients = list(self._patients.items())
        return sum(each.rest.left > 0 for host, each in patients if " " not in host)

    def left(self, host: str) -> float:
        """Seconds; 0 if it does not rest."""
        patient = self._patients.get(host)
        return 0.0 if patient is None else patient.rest.left

    def ill_since(self, host: str) -> float | None:
        """It has rested, and answered nobody since; None if it is well."""
        patient = self._patients.get(host)
        return None if patient is None else patient.since

    def require_none(self, host: str) -> None:
        patient = self._patients.get(host)
        if patient is not None and (left := patient.rest.left):
            text = f"{host} rests for another {left:.0f} s: {patient.reason}"
            raise Unavailable(text, delay=left)

    def begin(
        self, host: str, reason: str, seconds: float | None, first_s: float | None = None
    ) -> float:
        """How long the host is left alone: as long as asked, else a while that grows, from
        `first_s` on.

        Requests under way together are refused together: that is one rest, not several, and the
        longest of those asked for.
        """
        rest = Rest(FIRST_REST_S if first_s is None else first_s, LONGEST_REST_S, spread=0.1)
        patient = self._patients.setdefault(host, Patient(rest))
        patient.reason = reason  # before anybody can ask why
        pause = patient.rest.begin(None if seconds is None else min(max(0.0, seconds), DAY_S))
        pause = patient.rest.left if pause is None else pause
        patient.since = since = time.monotonic() if patient.since is None else patient.since
        logger.debug("%s is not asked for %.1f s: %s", host, pause, reason)
        self.on_begin(Trouble(host, pause, reason, since))
        return pause

    def end(self, host: str) -> None:
        """It answered: the next rest counts as the first."""
        patient = self._patients.get(host)
        if patient is not None and patient.since is not None:
            self.on_end(host)
            patient.since = None
            patient.rest.succeeded()

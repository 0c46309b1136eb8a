"""Which hosts are left alone, until when and why."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ..base.backoff import Rest
from ..errors import Unavailable
from .budgets import DAY_S

logger = logging.getLogger(__name__)

FIRST_REST_S = 60.0
LONGEST_REST_S = 3600.0


class Rests:
    """Who is left alone until when. Any number of threads may share it."""

    def __init__(self) -> None:
        self._rests: dict[str, Rest] = {}
        self._reasons: dict[str, str] = {}
        self.on_begin: Callable[[str, float, str], object] = lambda host, pause, reason: None

    def now(self) -> list[tuple[str, float, str]]:
        """Hosts that are left alone, for how long and why."""
        rests = [(host, rest.left) for host, rest in list(self._rests.items())]
        return [(host, left, self._reasons[host]) for host, left in rests if left > 0]

    def number(self) -> int:
        """Of hosts that are left alone now."""
        return sum(rest.left > 0 for rest in list(self._rests.values()))

    def require_none(self, host: str) -> None:
        rest = self._rests.get(host)
        if rest is not None and (left := rest.left):
            reason = self._reasons[host]
            raise Unavailable(f"{host} rests for another {left:.0f} s: {reason}", delay=left)

    def begin(self, host: str, reason: str, seconds: float | None) -> float:
        """How long the host is left alone: as long as asked, else a while that grows.

        Requests under way together are refused together: that is one rest, not several, and the
        longest of those asked for.
        """
        self._reasons[host] = reason  # before anybody can ask why
        rest = self._rests.setdefault(host, Rest(FIRST_REST_S, LONGEST_REST_S, spread=0.1))
        pause = rest.begin(None if seconds is None else min(max(0.0, seconds), DAY_S))
        pause = rest.left if pause is None else pause
        logger.debug("%s is not asked for %.1f s: %s", host, pause, reason)
        self.on_begin(host, pause, reason)
        return pause

    def end(self, host: str) -> None:
        """It answered: the next rest counts as the first."""
        if host in self._rests:
            self._rests[host].succeeded()

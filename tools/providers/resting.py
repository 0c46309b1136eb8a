"""A provider that is left alone while it cannot answer.

Promise: who asks gets `Unavailable` while the provider rests, without a request, whichever process
found that it is away. Trouble with one search is that search's fault only if the provider still
answers what it has answered before.
"""

from __future__ import annotations

import logging

from ..errors import BadStatus, HarvestError, ServerTrouble, Unavailable
from ..media.offer import Candidate, Provider
from ..network.rests import LONGEST_REST_S, Rests

logger = logging.getLogger(__name__)

REFUSALS = frozenset({401, 402, 403, 451})  # it does not want us, whatever we ask


class PatientProvider:
    def __init__(self, provider: Provider, first_rest_s: float, rests: Rests) -> None:
        self.provider = provider
        self.name = provider.name
        self.kinds = provider.kinds
        self.is_for_relations = provider.is_for_relations
        self.is_link_only = provider.is_link_only
        self._rests = rests
        self._patient = f"provider {self.name}"
        self._first_rest_s = first_rest_s
        self._last_good: tuple[str, str] | None = None

    @property
    def is_resting(self) -> bool:
        return self._rests.left(self._patient) > 0

    def search(self, text: str, kind: str) -> list[Candidate]:
        if left := self._rests.left(self._patient):
            raise Unavailable(f"{self.name} is paused", left)
        try:
            found = self.provider.search(text, kind)
        except Unavailable as error:
            raise self._rest(error, error.delay) from error
        except BadStatus as error:
            if error.status in REFUSALS:
                logger.warning("%s refuses us: %s", self.name, error)
                raise self._rest(error, LONGEST_REST_S) from error
            raise
        except ServerTrouble as error:
            if self._answers_others(text, kind):
                raise
            raise self._rest(error, None) from error
        self._rests.end(self._patient)
        self._last_good = text, kind
        return found

    def _answers_others(self, text: str, kind: str) -> bool:
        if self._last_good in (None, (text, kind)):
            return False
        try:
            self.provider.search(*self._last_good)
        except HarvestError:
            return False
        return True

    def _rest(self, error: HarvestError, asked: float | None) -> Unavailable:
        """Searches that were under way together fail together: that is one rest."""
        is_new = not self.is_resting
        pause = self._rests.begin(self._patient, str(error), asked, self._first_rest_s)
        if is_new:
            logger.warning("%s: no answer, pausing for %.0f s: %s", self.name, pause, error)
        return Unavailable(f"{self.name}: {error}", pause)

"""Asking a host for one page: what was asked so far, and what becomes of a host that is away.

Promise: no answer is larger or slower than the settings allow. A host that does not answer costs
its pages an attempt each time; once it seems to be away, it rests and they wait with it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ..archive.answer import Answered
from ..base.why import Why
from ..documents.address import resolve
from ..engine.stage import Task
from ..errors import GiveUp, HarvestError
from ..network.client import Client
from ..network.courtesy import NO_RULES, away, rest_if_asked, without_rules
from ..network.hosts import Hosts
from ..network.large_answers import Turn
from ..network.request import REDIRECTS
from ..network.response import Response
from ..network.trouble import NoAnswer, NoUse
from .lookup import KnownPage
from .own_headers import OwnHeaders

SAFE, PLAIN = "https://", "http://"
ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@dataclass(slots=True)
class Visit:
    """What one task has asked, and by which address."""

    task: Task
    address: str
    lane: str
    begun: float = field(default_factory=time.time)
    answers: list[Answered] = field(default_factory=list)
    may_be_plain: bool = False  # if https cannot be had, http will do
    turn: Turn = field(default_factory=Turn)  # as long as a large answer is in its hands


class Visitor:
    def __init__(self, client: Client, hosts: Hosts, own: OwnHeaders, timeout_s: float) -> None:
        self._client = client
        self._hosts = hosts
        self._own = own
        self._timeout_s = timeout_s

    def ask(
        self, visit: Visit, address: str, most: int, known: KnownPage | None = None
    ) -> Response:
        """Any answer but one that asks for a pause; `known` is what it may say is unchanged."""
        try:
            return self._asked(visit, address, most, known)
        except NoAnswer as error:
            if error.why.is_network:
                raise self.away(visit, str(error)) from error
            raise

    def ask_rules(self, visit: Visit, address: str, most: int) -> Response:
        """Its robots.txt: a host of which that cannot be had rests, and is asked for nothing."""
        try:
            response = self._asked(visit, address, most)
        except NoAnswer as error:
            if error.why is Why.PROXY:
                raise
            raise self._without_rules(visit, str(error)) from error
        except NoUse as error:
            raise GiveUp(f"{NO_RULES}: {error}") from error
        if response.status >= 500:
            raise self._without_rules(visit, f"HTTP {response.status}")
        return response

    def _asked(
        self, visit: Visit, address: str, most: int, known: KnownPage | None = None
    ) -> Response:
        headers = {"Accept": ACCEPT, **self._own.of(visit.lane, address)}
        if known is not None and known.etag:
            headers["If-None-Match"] = known.etag
        if known is not None and known.last_modified:
            headers["If-Modified-Since"] = known.last_modified
        try:
            with self._client.turn(address):  # it may have to wait for that
                self._hosts.asking(visit.lane)
                response = self._client.ask(
                    "GET",
                    address,
                    headers=headers,
                    seconds=self._timeout_s,
                    most=most,
                    most_unpacked=most,
                    turn=visit.turn,
                )
        except NoAnswer as error:
            if visit.may_be_plain and error.why.is_network and address.startswith(SAFE):
                return self._asked_plainly(visit, address, most, known)
            raise
        rest_if_asked(self._hosts, visit.lane, response)
        return response

    def _asked_plainly(
        self, visit: Visit, address: str, most: int, known: KnownPage | None
    ) -> Response:
        """A seed was typed without a scheme, and nobody answers by https."""
        visit.may_be_plain = False
        visit.address = PLAIN + visit.address.removeprefix(SAFE)
        return self._asked(visit, PLAIN + address.removeprefix(SAFE), most, known)

    def answered(self, visit: Visit) -> None:
        """The host is there."""
        self._hosts.answered(visit.lane)

    def away(self, visit: Visit, reason: str) -> HarvestError:
        """What becomes of a page whose host did not answer, or could not."""
        return away(self._hosts, visit.lane, reason)

    def _without_rules(self, visit: Visit, why: str) -> HarvestError:
        return without_rules(self._hosts, visit.lane, f"{NO_RULES}: {why}")


def sent_to(response: Response) -> str | None:
    """Where a redirect leads; None if it is none, or does not say where."""
    target = response.header("Location")
    is_redirect = response.status in REDIRECTS and target.strip()
    return resolve(response.url, target) if is_redirect else None

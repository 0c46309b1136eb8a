"""What the robots.txt of each host allows, read before anything else of it is asked for."""

from __future__ import annotations

import time
from threading import Lock

from ..base.why import Why
from ..documents.address import resolve
from ..errors import GiveUp
from ..network.client import Client
from ..network.courtesy import NO_RULES, rest_if_asked, without_rules
from ..network.hosts import Hosts
from ..network.request import Request, followed
from ..network.response import Response
from ..network.robots import MOST_OF_A_FILE, Rules, rules_in
from ..network.trouble import NoAnswer, NoUse

MOST_BYTES = 20 * MOST_OF_A_FILE  # a larger one is none
KEPT_S = 86_400.0  # it is read again after a day


class Robots:
    """Limit: the rules are held in memory, so each start reads them again."""

    def __init__(self, client: Client, hosts: Hosts, timeout_s: float) -> None:
        self._client = client
        self._hosts = hosts
        self._timeout_s = timeout_s
        self._known: dict[str, tuple[float, Rules]] = {}
        self._locks: dict[str, Lock] = {}
        self._lock = Lock()

    def read(self, lane: str, address: str) -> bool:
        """See to it that the rules of this host are known; False if they were."""
        with self._lock:
            lock = self._locks.setdefault(lane, Lock())
        with lock:  # nobody else waits for long: an answer has its deadline
            if self._rules(lane) is not None:
                return False
            rules = self._asked(lane, resolve(address, "/robots.txt") or address)
            if rules.crawl_delay is not None:
                self._hosts.crawl_delay(lane, rules.crawl_delay)
            self._known[lane] = time.monotonic(), rules
            return True

    def require_allowed(self, lane: str, address: str) -> None:
        """GiveUp if the rules, as far as they are known, forbid it."""
        rules = self._rules(lane)
        if rules is not None and (rule := rules.rule_for(address)) is not None:
            raise GiveUp(f"robots.txt: {rule}")

    def _rules(self, lane: str) -> Rules | None:
        read_at, rules = self._known.get(lane, (0.0, None))
        return rules if rules and time.monotonic() - read_at < KEPT_S else None

    def _asked(self, lane: str, address: str) -> Rules:
        self._hosts.asking(lane)
        try:
            response: Response = followed(self._ask, Request("GET", address))
        except NoAnswer as error:
            if error.why is Why.PROXY:
                raise
            raise without_rules(self._hosts, lane, f"{NO_RULES}: {error}") from error
        except NoUse as error:
            raise GiveUp(f"{NO_RULES}: {error}") from error
        rest_if_asked(self._hosts, lane, response)
        rules = rules_in(response.status, response.body[:MOST_OF_A_FILE])
        if rules is None:
            raise without_rules(self._hosts, lane, f"{NO_RULES}: HTTP {response.status}")
        self._hosts.answered(lane)
        return rules

    def _ask(self, method: str, url: str, **more: object) -> Response:
        return self._client.ask(
            method, url, seconds=self._timeout_s, most=MOST_BYTES, most_unpacked=MOST_BYTES
        )

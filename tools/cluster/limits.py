"""The limits of hosts, in a process that does not keep them: the coordinator is asked.

Promise: a host with limits is asked only with a permit that is still good; one that rests, by
whoever it was told, is not asked. Who has neither costs no question.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from threading import Event

from ..errors import Unavailable
from ..network.limits import Limit, Limits, OneTurn
from ..network.rests import Rests
from .messages import Again, Answered, Ask, Back, Message, Pause, Permit, Refusal, Rested, Resting
from .post import Post
from .wire import error_of

MOST_LATE = 50  # permits in a row
BUSY_S = 5.0
SHORT_S = 60.0  # a permit for longer is one for any number of requests


class SharedTurn:
    def __init__(self, post: Post, host: str, permit: Permit, until: float) -> None:
        self._post = post
        self._host = host
        self._permit = permit.number
        self.until = until
        self._is_used = False

    def use(self) -> None:
        """One that was held up on its way would come together with the next ones."""
        late = 0
        while time.monotonic() > self.until:
            if late == MOST_LATE:
                raise Unavailable(f"this computer is too busy to ask {self._host} in time", BUSY_S)
            late += 1
            self.renew(self._is_used)
        self._is_used = True
        if self.until - time.monotonic() < SHORT_S:  # a second request takes another
            self.until = 0.0

    def give_back(self, begun: float, size: int) -> None:
        self._post.tell(Back(self._permit, size))

    def renew(self, is_used: bool = False) -> None:
        """Waits for another one, instead."""
        self._is_used = False
        again = _permitted(self._post, lambda number: Again(number, self._permit, is_used))
        self.until = again[1]


class SharedRests(Rests):
    """As the coordinator tells them."""

    def __init__(self, post: Post) -> None:
        super().__init__()
        self._post = post

    def begin(
        self, host: str, reason: str, seconds: float | None, first_s: float | None = None
    ) -> float:
        answer = self._post.ask(lambda number: Pause(number, host, reason, seconds, first_s))
        pause = answer.seconds if isinstance(answer, Rested) else 0.0
        super().begin(host, reason, pause)  # if not told already
        return pause

    def told(self, resting: Resting) -> None:
        super().begin(resting.host, resting.reason, resting.seconds)
        self._patients[resting.host].since = time.monotonic() - resting.ill_s

    def end(self, host: str) -> None:
        if self.ill_since(host) is not None:
            super().end(host)
            self._post.tell(Answered(host))

    def told_well(self, host: str) -> None:
        super().end(host)


class SharedLimits:
    """`limited` are the hosts that have limits; those of `own` are kept here, for us alone."""

    def __init__(self, post: Post, limited: Collection[str], own: Limits | None = None) -> None:
        self._post = post
        self._limited = frozenset(limited)
        self._own = own
        self.rests = SharedRests(post)

    @classmethod
    def of(
        cls, post: Post, limits: Mapping[str, Limit], per_node: Collection[str], stop: Event
    ) -> SharedLimits:
        """Turns are the coordinator's to grant, but for hosts that count each node alone."""
        alone = {host: limits[host] for host in per_node if host in limits}
        return cls(post, limits.keys() - alone.keys(), Limits(alone, stop, None) if alone else None)

    def take_turn(self, host: str) -> SharedTurn | OneTurn | None:
        self.rests.require_none(host)
        if self._own is not None and (turn := self._own.take_turn(host)) is not None:
            return turn
        if host not in self._limited:
            return None
        return SharedTurn(self._post, host, *_permitted(self._post, lambda n: Ask(n, host)))

    def close(self) -> None:
        """Nothing is open."""


def _permitted(post: Post, worded: Callable[[int], Message]) -> tuple[Permit, float]:
    """And until when it is good, by our own clock."""
    asked = time.monotonic()
    answer = post.ask(worded)
    if isinstance(answer, Refusal):
        raise error_of(answer.error)
    if not isinstance(answer, Permit):
        raise Unavailable("the coordinator answers something else")
    way_s = post.quickest_after(time.monotonic() - asked - answer.waited_s)
    return answer, asked + answer.waited_s + answer.good_s + way_s

"""The limits of hosts, in a process that does not keep them: the coordinator is asked.

Promise: a host with limits is asked only with a permit that is still good; one that rests, by
whoever it was told, is not asked. Who has neither costs no question.
"""

from __future__ import annotations

import time
from collections.abc import Collection

from ..errors import Unavailable
from ..network.limits import Rests
from .messages import Answered, Ask, Back, Pause, Permit, Refusal, Rested
from .post import Post
from .wire import error_of

MOST_LATE = 50  # permits in a row
BUSY_S = 5.0


class SharedTurn:
    def __init__(self, post: Post, permit: Permit) -> None:
        self._post = post
        self._permit = permit

    def give_back(self, begun: float, size: int) -> None:
        self._post.tell(Back(self._permit.number, size))


class SharedRests(Rests):
    """As the coordinator tells them."""

    def __init__(self, post: Post) -> None:
        super().__init__()
        self._post = post

    def begin(self, host: str, reason: str, seconds: float | None) -> float:
        answer = self._post.ask(lambda number: Pause(number, host, reason, seconds))
        pause = answer.seconds if isinstance(answer, Rested) else 0.0
        self.told(host, pause, reason)
        return pause

    def told(self, host: str, seconds: float, reason: str) -> None:
        super().begin(host, reason, seconds)

    def end(self, host: str) -> None:
        if host in self._rests:
            del self._rests[host]
            self._post.tell(Answered(host))


class SharedLimits:
    """`limited` are the hosts that have limits."""

    def __init__(self, post: Post, limited: Collection[str]) -> None:
        self._post = post
        self._limited = frozenset(limited)
        self.rests = SharedRests(post)

    def take_turn(self, host: str) -> SharedTurn | None:
        self.rests.require_none(host)
        return self._permitted(host) if host in self._limited else None

    def close(self) -> None:
        """Nothing is open."""

    def _permitted(self, host: str) -> SharedTurn:
        """One that was held up on its way would come together with the next ones."""
        for _ in range(MOST_LATE):
            answer = self._post.ask(lambda number: Ask(number, host))
            if isinstance(answer, Refusal):
                raise error_of(answer.error)
            if isinstance(answer, Permit) and time.monotonic() <= answer.until:
                return SharedTurn(self._post, answer)
            self._post.tell(Back(answer.number, 0))
        raise Unavailable(f"this computer is too busy to ask {host} in time", BUSY_S)

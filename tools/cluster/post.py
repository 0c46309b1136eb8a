"""What a node says to its coordinator, and what it asks it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from ..errors import Unavailable
from ..network.limits import PATIENCE_S
from .link import Broken
from .messages import Found, Message, Permit, Question, Refusal, Rested
from .wire import encoded, table_of_error

ANSWER_S = 4 * PATIENCE_S  # a turn is waited for three times: a place, its bytes, its rate

IS_OPEN = "is_open"  # a question: does anybody wait for the task of this token?
LONGEST_WAY_S = 1.0
RELAXED = 1.1  # with every answer, should the way become longer

Reply = Permit | Refusal | Rested | Found


class Way(Protocol):
    """What carries bytes to the coordinator."""

    def send(self, message: bytes) -> None:
        """Broken if that cannot be."""


class Post:
    """Any thread may use it."""

    def __init__(self, link: Way) -> None:
        self._link = link
        self._numbers = count(1)
        self._waiting: dict[int, SimpleQueue[Reply]] = {}
        self._quickest_s = LONGEST_WAY_S

    def tell(self, message: Message) -> None:
        """If nobody is there any more, whoever receives here ends this process."""
        with suppress(Broken):
            self._link.send(encoded(message))

    def ask(self, worded: Callable[[int], Message], seconds: float = ANSWER_S) -> Reply:
        number, reply = next(self._numbers), SimpleQueue[Reply]()
        self._waiting[number] = reply
        try:
            self._link.send(encoded(worded(number)))
            return reply.get(timeout=seconds)
        except (Empty, Broken):
            raise Unavailable("the coordinator does not answer") from None
        finally:
            del self._waiting[number]

    def quickest_after(self, way_s: float) -> float:
        """How long a question and its answer are under way at the least, of late: what takes longer
        was held up. One more has just taken so long."""
        self._quickest_s = max(0.0, min(way_s, RELAXED * self._quickest_s, LONGEST_WAY_S))
        return self._quickest_s

    def look_up(self, what: str, *arguments: Any, seconds: float = ANSWER_S) -> Any:
        """Something that only the coordinator knows; None if it does not."""
        answer = self.ask(lambda number: Question(number, what, list(arguments)), seconds)
        return answer.value if isinstance(answer, Found) else None

    def give_up(self) -> None:
        """Nobody answers what was asked so far."""
        error = table_of_error(Unavailable("the coordinator does not answer"))
        for number, waiting in list(self._waiting.items()):
            waiting.put(Refusal(number, error))

    def heard(self, reply: Reply) -> bool:
        """False if nobody waits for it any more."""
        if (waiting := self._waiting.get(reply.number)) is None:
            return False
        waiting.put(reply)
        return True

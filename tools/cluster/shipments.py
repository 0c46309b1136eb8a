"""What whoever ships the files of a node asks of that node, in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import count
from queue import Empty, SimpleQueue
from threading import get_ident

from ..errors import Unavailable
from .messages import Message, Noted, Shipped

NOTED_S = 30.0
MOST_OWNERS = 1000  # in one message

Errand = Callable[[], None]


class Shipments:
    """`later` has something done by the node's main thread; `say` tells the coordinator."""

    def __init__(self, later: Callable[[Errand], None], say: Callable[[Message], None]) -> None:
        self._later, self._say = later, say
        self._numbers = count(1)
        self._noting: dict[int, SimpleQueue[Noted]] = {}
        self.main_thread = get_ident()

    def at_quiet_point(self, work: Errand) -> None:
        """Do this while no verdict is being obeyed, and so nobody writes into the books."""
        done: Future[None] = Future()

        def errand() -> None:
            if done.set_running_or_notify_cancel():
                try:
                    work()
                    done.set_result(None)
                except Exception as error:
                    done.set_exception(error)

        if get_ident() == self.main_thread:
            errand()
        else:
            self._later(errand)
        done.result(NOTED_S)

    def arrived(self, owners: Sequence[str]) -> None:
        """Their files are safe: the coordinator has noted it when this returns."""
        for first in range(0, len(owners), MOST_OWNERS):
            number, noted = next(self._numbers), SimpleQueue[Noted]()
            self._noting[number] = noted
            try:
                self._say(Shipped(number, list(owners[first : first + MOST_OWNERS])))
                noted.get(timeout=NOTED_S)
            except Empty:
                raise Unavailable("the coordinator does not answer: it is told later") from None
            finally:
                del self._noting[number]

    def noted(self, message: Noted) -> None:
        """From any thread."""
        if (waiting := self._noting.get(message.number)) is not None:
            waiting.put(message)

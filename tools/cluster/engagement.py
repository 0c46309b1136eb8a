"""A node's work for one harvest: from the tasks it is given to the verdicts on what it found.

Promise: each task that is begun is answered for, as long as this process lives, and after that
where files belong to it: first they are written down, then the coordinator is told, then they are
booked or dropped as it says. What is not heard is said again.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from threading import Event, Lock

from ..engine.executor import Answer
from ..engine.judgement import judged
from ..engine.stage import Done, Task
from ..errors import Died, HarvestError, Interrupted, RetryLater
from .bus import LARGEST_UNPACKED, packed
from .hands import ACK, NOT_ME, Hands, InHand
from .lines import Line
from .messages import Message, Result, Table, Welcome, Work
from .pending import Pending
from .staff import NodeCarrier, NodeStaff
from .wire import Malformed, encoded, table_of_done, table_of_error, task_of

logger = logging.getLogger(__name__)

AGAIN_S = 5.0  # until a result is sent again
MOST_DELIVERED = 3  # nodes that fell silent over one task, before it is suspected
LEAST_UNANSWERED = 32
MOST_OVER = 1000


@dataclass(slots=True)
class Unanswered:
    result: Result
    sent: float = field(default_factory=time.monotonic)


class Engagement:
    """`say` sends a message to the coordinator; `is_open` asks it whether anybody waits for the
    task of a token."""

    def __init__(
        self,
        welcome: Welcome,
        staff: NodeStaff,
        is_open: Callable[[int], bool],
        hands: Hands,
        pending: Pending,
        say: Callable[[Message], None],
        stop: Event,
    ) -> None:
        self.welcome, self.staff, self.stop = welcome, staff, stop
        self._is_open, self._hands, self._pending, self._say = is_open, hands, pending, say
        self.line = Line()
        self._locals = count(1)
        self._lock = Lock()
        # By stage and URI: the next stage may be given before the verdict on this one is heard.
        self._unanswered: dict[tuple[str, str], Unanswered] = {}
        self._over: deque[int] = deque(maxlen=MOST_OVER)  # tokens that were judged lately
        self.places: dict[str, int] = {}  # that the coordinator has agreed to
        self._held: dict[str, tuple[float, str]] = {}  # by stage: until when, and why
        self._holds: dict[str, dict[str, str]] = {}  # by stage and who holds it: why
        staff.executor.open(self._came)
        for result in pending.all():
            self._unanswered[result.stage, result.uri] = Unanswered(result, 0.0)

    # --- what it may do --------------------------------------------------------------------

    def hold_for(self, stage: str, seconds: float, reason: str) -> None:
        self._held[stage] = time.monotonic() + seconds, reason
        self._recall(stage)

    def hold(self, stage: str, holder: str, reason: str | None) -> None:
        """Until this one has no reason any more."""
        holds = self._holds.setdefault(stage, {})
        holds.pop(holder, None)
        if reason is not None:
            holds[holder] = reason
            self._recall(stage)

    def why_held(self, stage: str) -> str:
        until, reason = self._held.get(stage, (0.0, ""))
        if until > time.monotonic():
            return reason
        return next(iter(self._holds.get(stage, {}).values()), "")

    @property
    def held(self) -> str:
        """Of any stage."""
        found = ((stage, self.why_held(stage)) for stage in self.places)
        return "; ".join(f"{stage}: {why}" for stage, why in found if why)

    def open_places(self) -> dict[str, int]:
        """Those that take tasks now."""
        is_stopping, is_clogged = self.stop.is_set(), self._is_clogged()
        return {
            stage: 0 if is_stopping or is_clogged or self.why_held(stage) else number
            for stage, number in self.places.items()
        }

    def _is_clogged(self) -> bool:
        """The coordinator is away: what is found stays here."""
        most = max(LEAST_UNANSWERED, 4 * sum(self.places.values()))
        return len(self._unanswered) > most

    def pull(self) -> None:
        with self._lock:
            going = self.open_places()
            for stage, number in going.items():
                if number:
                    self._hands.pull(stage, number)
            self._hands.pull_own(max(going.values(), default=0))

    def begin_to_stop(self) -> None:
        """Whoever waits gives up waiting; what nobody has begun goes to others."""
        self.stop.set()
        for stage in self.staff.stages:
            self._recall(stage)

    def _recall(self, stage: str) -> None:
        if stage in self.staff.stages:
            self.staff.executor.recall(stage)

    @property
    def is_idle(self) -> bool:
        return not self._hands and not self._unanswered

    def tokens(self) -> list[int]:
        """Of all that is in hand here, answered for or not."""
        with self._lock:
            sent = [each.result.token for each in self._unanswered.values()]
            return [*self._hands.tokens(), *sent]

    # --- a task comes ----------------------------------------------------------------------

    def begin(self, work: Work, reply: str, delivered: int) -> None:
        """One that was given to others before may be over by now: what it brought may be here."""
        stage = self.staff.stages.get(work.stage)
        if delivered > 1 and not self._is_open(work.token):
            self._hands.say(InHand(0, work.token, work.stage, work.uri, reply), ACK)
            return
        with self._lock:
            if self._is_here(work, reply):
                return
            if work.token in self._over:  # only the word of that was lost
                self._hands.say(InHand(0, work.token, work.stage, work.uri, reply), ACK)
                return
            task = InHand(next(self._locals), work.token, work.stage, work.uri, reply)
            if stage is None or self.open_places().get(work.stage, 0) == 0:
                self._hands.say(task, NOT_ME)
                return
            self._hands.take(task)
        leased = task_of(work, stage)
        leased.token = task.local
        if delivered > MOST_DELIVERED:
            why = f"{delivered - 1} nodes fell silent while it was at work"
            self._came(task.local, "node", Died(why), lambda verdict: None)
            return
        try:
            self.staff.carriers[work.stage].arrived(work.uri, work.cargo, delivered > 1)
            self.staff.executor.give([leased])
        except Exception as error:  # what came with it cannot be used
            self._came(task.local, "node", judged(leased, error), lambda verdict: None)

    def _is_here(self, work: Work, reply: str) -> bool:
        """Somebody works on it, or has: by the token that counts now."""
        if (known := self._unanswered.get((work.stage, work.uri))) is not None:
            known.result, known.sent = known.result._replace(token=work.token), 0.0
            self._hands.say(InHand(0, work.token, work.stage, work.uri, reply), ACK)
            return True
        return self._hands.again(work.stage, work.uri, work.token, reply)

    # --- a place's own thread --------------------------------------------------------------

    def _came(self, local: int, holder: str, result: Done | Exception, answer: Answer) -> None:
        try:
            self._conclude(local, holder, result)
        except Exception:  # a bug here would leave everybody waiting
            logger.exception("a result")
        finally:
            answer("settled")  # the place is free: the verdict comes later

    def _conclude(self, local: int, holder: str, result: Done | Exception) -> None:
        with self._lock:
            task = self._hands.end(local)
        stage = self.staff.stages[task.stage]
        leased = Task(0, task.uri, stage, None, 0, 0, token=task.token)
        found = result if isinstance(result, Done) else judged(leased, result)
        if not holder and isinstance(found, Interrupted):  # nobody had begun it
            self.staff.carriers[task.stage].given_back(task.uri)
            self._hands.say(task, NOT_ME)
            return
        message = self._result(task, found, self.staff.carriers[task.stage])
        with self._lock:
            self._unanswered[task.stage, task.uri] = Unanswered(message)
        self._say(message)
        self._hands.say(task, ACK)

    def _result(self, task: InHand, found: Done | HarvestError, carrier: NodeCarrier) -> Result:
        """Written down, if files belong to it; what cannot be said is an error."""
        of = task.token, task.stage, task.uri
        try:
            cargo = carrier.leaving(task.uri, found)
            is_done = isinstance(found, Done)
            done = table_of_done(found) if isinstance(found, Done) else None
            error = None if isinstance(found, Done) else table_of_error(found)
            message = Result(*of, done, error, cargo, self.traffic())
            packed(encoded(message, LARGEST_UNPACKED))
            if is_done and carrier.keeps_files:
                self._pending.keep(message)
            return message
        except HarvestError as trouble:
            return Result(*of, None, table_of_error(trouble), None, None)
        except (Malformed, TypeError, ValueError) as trouble:
            sentence = f"what it found cannot be sent: {trouble}"
            return Result(*of, None, table_of_error(RetryLater(sentence)), None, None)

    def traffic(self) -> Table | None:
        if self.staff.traffic is None:
            return None
        return self.line.counted(self.staff.traffic.drained())

    # --- what became of it -----------------------------------------------------------------

    def judged(self, token: int, verdict: str) -> None:
        with self._lock:
            found = [each for each in self._unanswered.values() if each.result.token == token]
        for each in found:
            result, carrier = each.result, self.staff.carriers[each.result.stage]
            carrier.judged(result, verdict)
            if carrier.keeps_files:
                self._pending.forget(result.uri)
            with self._lock:
                self._unanswered.pop((result.stage, result.uri), None)
                self._over.append(token)

    def say_again(self) -> None:
        """What was not answered in time."""
        now = time.monotonic()
        with self._lock:
            due = [each for each in self._unanswered.values() if now - each.sent > AGAIN_S]
            for each in due:
                each.sent = now
        for each in due:
            self._say(each.result._replace(traffic=None))

    def close(self) -> None:
        self.staff.executor.close(0.0)
        self.staff.close()

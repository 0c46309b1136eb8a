"""Works on tasks on other machines: some stages there, all others in threads here.

Promise: the pools are the truth. A result counts if its token is that of a lease, or if its URI
waits and nobody holds it; it is asked before anything is stored, and whoever brought it is told
what became of it. What the bus forgets is sent again, what a silent node had goes to another. What
a node says is a stranger's word until it is checked.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from queue import SimpleQueue
from threading import Event

from ..engine.executor import Came, Member, nobody
from ..engine.pools import Pools
from ..engine.stage import Stage, Task, Worker
from ..engine.threads import ThreadExecutor
from ..errors import ComeBack, Interrupted, Unavailable
from .abroad import Abroad, StaysHere
from .bus import LARGEST_UNPACKED, Bus, packed
from .desk import Desk
from .grants import Grants
from .handed_out import Given, HandedOut
from .lookout import LOOK_S, Lookout
from .messages import Drain, Finish, Goodbye, Message, Result, Stop
from .results import Results
from .roster import Roster
from .subjects import TO_ALL, to_node
from .task_queue import TaskQueue
from .wire import LONGEST_TEXT, Malformed, encoded, work_of

logger = logging.getLogger(__name__)

AHEAD = 1.25  # tasks for each place: the next lies ready in the queue
QUIET_S = 2.0  # after a start: what nodes had from the life before comes home first
UNMOVED_S = 300.0  # so long nothing is shipped before nobody is waited for
AWAY_S = 60.0  # until a task whose files lie on a silent node is looked at again


class NodeExecutor:
    """The Executor of a cluster. `patience_s`: so long files of a silent node are waited for."""

    def __init__(
        self,
        stages: Iterable[Stage],
        workers: Mapping[str, Worker],
        abroad: Abroad,
        bus: Callable[[Callable[[], None]], Bus],
        stop: Event,
        patience_s: float,
        here: Sequence[Stage] = (),
    ) -> None:
        """`bus` makes one, given what to call when its connection comes back; `here` are the stages
        as they would be without nodes, for what cannot travel."""
        stages = list(stages)
        self._stages = {stage.name: stage for stage in stages if stage.name in abroad.cargoes}
        self._here = ThreadExecutor(here or stages, workers)
        names = ((stage.name, stage.waiting) for stage in stages)
        known = {"finished", "failed", *(name for both in names for name in both)}
        self._abroad = abroad
        self._stop = stop
        self._patience_s = patience_s
        self._out = HandedOut()
        self._resting: dict[str, int] = {}
        self.roster = Roster()
        ways = self._out, self.roster, abroad, self._stages, known
        self._results = Results(*ways, self.tell)
        self._bus = bus(lambda: self._lookout.connection_is_back())
        self._queue = TaskQueue(self._bus, self._stages)
        self._grants = self._new_grants()
        self._desk = Desk(self._bus, abroad, self.roster, self._grants, self)
        self._returned: SimpleQueue[tuple[int, Exception]] = SimpleQueue()
        self._quiet_until = math.inf
        self._is_quiet, self._is_told = True, False
        self._closing = Event()
        self._lookout = Lookout(self._bus, self._queue, self._out, self)

    def _new_grants(self) -> Grants | None:
        limits = self._abroad.limits
        if limits is None:
            return None
        most = sum(stage.workers for stage in self._stages.values())
        return Grants(limits, most, lambda message: self._say(TO_ALL, message))

    def begin(self, pools: Pools) -> None:
        """The pools are open: nodes may come. Unreachable if the server is not there."""
        self._pools = pools
        self._results.open(self._came, pools)
        self.roster.custody = pools.custody
        self._desk.open()
        self._queue.make()
        self._quiet_until = time.monotonic() + QUIET_S
        self._lookout.begin(pools)

    # --- what every executor does ----------------------------------------------------------

    def open(self, came: Came) -> None:
        self._came = came
        self._here.open(came)

    def places(self, stage: str) -> int:
        if stage not in self._stages:
            return self._here.places(stage)
        if time.monotonic() < self._quiet_until or self._closing.is_set():
            return 0
        resting = self._resting.get(stage, 0)
        number = math.ceil(AHEAD * self.roster.places(stage))
        return max(0, min(number, self._stages[stage].workers - resting))

    def give(self, tasks: Sequence[Task]) -> None:
        self._here.give([task for task in tasks if task.stage.name not in self._stages])
        there = [task for task in tasks if task.stage.name in self._stages]
        kept = self._pools.custody.nodes_of([task.uri for task in there]) if there else {}
        for task in there:
            self._give(task, kept.get(task.uri, ""))

    def recall(self, stage: str) -> None:
        self._here.recall(stage)
        if stage not in self._stages:
            return
        unbegun = self._out.take_unbegun(stage, self.roster.holders())
        if not unbegun:
            return
        try:
            if self._bus.is_connected:
                self._queue.take_back(stage)
        except Unavailable as error:  # whoever begins one of them comes too late, or is adopted
            logger.warning("tasks of %s stay in the queue: %s", stage, error)
        for task in unbegun:
            self._came(task.token, "", Interrupted("recalled before anybody began"), nobody)

    def rest(self, stage: str, numbers: Collection[int]) -> None:
        if stage in self._stages:
            self._resting[stage] = len(numbers)
        else:
            self._here.rest(stage, numbers)

    def members(self) -> Sequence[Member]:
        nodes = self.roster.shown(self._out.at_work(), self._pools.custody.numbers())
        there = [Member(each.name, {}, {}, node=each) for each in nodes]
        return [*self._here.members(), *there]

    def close(self, grace_s: float) -> None:
        deadline = time.monotonic() + grace_s
        self._here.close(grace_s)
        for stage in self._stages:
            self.recall(stage)
        while len(self._out) and (left := deadline - time.monotonic()) > 0:
            self._closing.wait(min(left, LOOK_S))
        self._closing.set()
        self._results.is_closed = True
        self._say(TO_ALL, Goodbye(not self._stop.is_set()))
        self._lookout.close()
        self._desk.close()
        self._bus.close()
        if self._grants is not None:
            self._grants.close()

    def finish(self) -> None:
        """All is done: nodes ship what they have. Whoever gets nowhere for a while is not waited
        for; nor is anybody when the user has had enough."""
        left, moved = -1, time.monotonic()
        while waiting := self.roster.unfinished():
            for each in waiting:  # again and again: one may have come or come back only now
                self.tell(each.name, Finish())
            now = sum(each.number("waiting_bytes") for each in waiting)
            if now != left:
                left, moved = now, time.monotonic()
            if time.monotonic() - moved > UNMOVED_S or self._stop.wait(LOOK_S):
                names = ", ".join(each.name for each in waiting)
                logger.warning("not all of the files of %s are shipped yet", names)
                return

    # --- handing out -----------------------------------------------------------------------

    def _give(self, task: Task, at: str) -> None:
        """`at` is the node that has files of it. One that was silent for too long counts for
        nothing: it is begun afresh."""
        if at and not self.roster.is_awake(at):
            silent_s = time.time() - self._pools.custody.last_seen().get(at, 0.0)
            if silent_s < self._patience_s:
                why = f"its files lie on node {at}, which is silent"
                self._returned.put((task.token, ComeBack(why, AWAY_S)))  # not amid handing out
                return
            at = ""
        self.send(self._out.add(task, at))

    def send(self, given: Given) -> None:
        task = given.task
        try:
            if len(task.note or "") > LONGEST_TEXT:
                raise StaysHere
            cargo = self._abroad.cargoes[task.stage.name].outgoing(task)
            content = packed(encoded(work_of(task, cargo), LARGEST_UNPACKED))
        except (StaysHere, Malformed):  # it cannot travel
            if self._out.end(task.token) is not None:
                self._here.give([task])
            return
        except Exception as error:  # whatever happens, the task comes back
            if self._out.end(task.token) is not None:
                self._returned.put((task.token, error))
            return
        given.sent = given.seen = time.monotonic()
        self._queue.send(task.stage.name, content, given.at)

    # --- for the desk ----------------------------------------------------------------------

    def tell(self, node: str, message: Message) -> None:
        self._say(to_node(node), message)

    def changed(self) -> None:
        """There are more places, or fewer."""
        with self._pools.changed:
            self._pools.changed.notify_all()

    def brought(self, node: str, message: Result) -> str | None:
        return self._results.brought(node, message)

    def heard_of(self, node: str) -> None:
        if (seen := self.roster[node]) is not None:
            self._out.see(node, seen.tokens)

    def welcome(self, node: str) -> None:
        """It may have to do what nobody else can."""
        self._queue.make_for(node)

    def shipped(self, node: str, owners: Sequence[str]) -> None:
        self._pools.custody.release(node, owners)

    def drain(self, node: str) -> None:
        """It takes no more, and leaves when it has done what it has."""
        self.tell(node, Drain())

    def forget(self, node: str) -> None:
        """It never comes back; should it, what it has counts for nothing."""
        self._out.forget_verdicts(node)
        self.changed()

    def is_open(self, token: int) -> bool:
        """Does anybody wait for what becomes of it?"""
        return self._out.is_open(token)

    def _say(self, subject: str, message: Message) -> None:
        self._bus.say(subject, packed(encoded(message)))

    # --- for the lookout -------------------------------------------------------------------

    def look(self) -> None:
        if self._stop.is_set() and not self._is_told:
            self._is_told = True
            self._say(TO_ALL, Stop())
        while not self._returned.empty():
            token, error = self._returned.get()
            self._came(token, "", error, nobody)
        is_over = self._is_quiet and time.monotonic() >= self._quiet_until
        self._is_quiet = self._is_quiet and not is_over
        if self._desk.lose_silent() or is_over:
            self.changed()

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
from dataclasses import replace
from queue import SimpleQueue
from threading import Event, Lock, Thread

from ..engine.executor import Answer, Came, Member, Verdict, nobody
from ..engine.pools import Pools
from ..engine.stage import Done, Stage, Task, Worker
from ..engine.threads import ThreadExecutor
from ..errors import ComeBack, Interrupted, Unavailable
from .abroad import Abroad, StaysHere
from .bus import LARGEST_UNPACKED, Bus, packed
from .cargo import result_of
from .desk import Desk
from .grants import Grants
from .handed_out import Given, HandedOut
from .messages import Drain, Finish, Goodbye, Judged, Message, Result, Stop
from .roster import Roster
from .scope import Scope
from .subjects import TO_ALL, to_node
from .task_queue import TaskQueue
from .wire import LONGEST_TEXT, Malformed, encoded, work_of

logger = logging.getLogger(__name__)

AHEAD = 1.25  # tasks for each place: the next lies ready in the queue
QUIET_S = 2.0  # after a start: what nodes had from the life before comes home first
LOOK_S = 1.0
LOST_S = 30.0  # so long nobody has had it, and it is in no queue
LOST_WITH_QUEUE_S = 6.0  # if the queue itself was lost
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
        self._known = {"finished", "failed", *(name for both in names for name in both)}
        self._abroad = abroad
        self._stop = stop
        self._patience_s = patience_s
        self._lock = Lock()  # never held while anybody else is called
        self._out = HandedOut()
        self._resting: dict[str, int] = {}
        self.roster = Roster()
        self._scope = Scope(self.roster)
        self._bus = bus(self._on_back)
        self._queue = TaskQueue(self._bus, self._stages)
        self._grants = self._new_grants()
        self._desk = Desk(self._bus, abroad, self.roster, self._grants, self)
        self._returned: SimpleQueue[tuple[int, Exception]] = SimpleQueue()
        self._quiet_until = math.inf
        self._lost_s = LOST_S
        self._closing = Event()
        self._watch = Thread(target=self._look, name="nodes", daemon=True)

    def _new_grants(self) -> Grants | None:
        limits = self._abroad.limits
        if limits is None:
            return None
        most = sum(stage.workers for stage in self._stages.values())
        return Grants(limits, most, lambda message: self._say(TO_ALL, message))

    def begin(self, pools: Pools) -> None:
        """The pools are open: nodes may come. Unreachable if the server is not there."""
        self._pools = pools
        self.roster.custody = pools.custody
        self._desk.open()
        self._queue.make()
        self._quiet_until = time.monotonic() + QUIET_S
        self._watch.start()

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
        with self._lock:
            unbegun = self._out.unbegun(stage, self.roster.holders())
            for each in unbegun:
                self._out.end(each.task.token)
        if not unbegun:
            return
        try:
            self._queue.take_back(stage)
        except Unavailable as error:  # whoever begins one of them comes too late, or is adopted
            logger.warning("tasks of %s stay in the queue: %s", stage, error)
        for each in unbegun:
            self._came(each.task.token, "", Interrupted("recalled before anybody began"), nobody)

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
        self._say(TO_ALL, Goodbye(not self._stop.is_set()))
        if self._watch.ident is not None:
            self._watch.join(2 * LOOK_S)
        self._desk.close()
        self._bus.close()
        if self._grants is not None:
            self._grants.close()

    def finish(self) -> None:
        """All is done: nodes ship what they have. Whoever gets nowhere for a while is not waited
        for; nor is anybody when the user has had enough."""
        self._say(TO_ALL, Finish())
        left, moved = -1, time.monotonic()
        while waiting := [
            each for each in self.roster.awake() if not each.sight.get("is_finished")
        ]:
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
        with self._lock:
            given = self._out.add(task, at)
        self._send(given)

    def _send(self, given: Given) -> None:
        task = given.task
        try:
            if len(task.note or "") > LONGEST_TEXT:
                raise StaysHere
            cargo = self._abroad.cargoes[task.stage.name].outgoing(task)
            content = packed(encoded(work_of(task, cargo), LARGEST_UNPACKED))
        except (StaysHere, Malformed):  # it cannot travel
            with self._lock:
                self._out.end(task.token)
            self._here.give([task])
            return
        except Exception as error:  # whatever happens, the task comes back
            self._end(task.token, error)
            return
        given.sent = given.seen = time.monotonic()
        self._queue.send(task.stage.name, content, given.at)

    def _end(self, token: int, error: Exception) -> None:
        with self._lock:
            given = self._out.end(token)
        if given is not None:
            self._came(token, "", error, nobody)

    # --- what nodes bring: in the desk's thread --------------------------------------------

    def brought(self, node: str, message: Result) -> None:
        """The result of a task; whoever brings it is told what became of it."""
        with self._lock:
            given = self._out.get(message.token)
            verdict = self._out.verdict(message.token, node)
            is_first = given is not None and not given.came_from
            if given is not None and is_first:
                given.came_from = node
        if given is not None and not is_first:  # it is being stored: the verdict comes then
            if given.came_from != node:
                self._judge(node, message.token, "stale")
        elif given is not None:
            self._hand_in(node, given, message)
        elif verdict is not None:
            self._judge(node, message.token, verdict)
        elif (orphan := self._adopted(node, message)) is not None:
            self._hand_in(node, orphan, message)
        else:
            self._judge(node, message.token, self._verdict_of_store(node, message))

    def _adopted(self, node: str, message: Result) -> Given | None:
        """Its lease is gone with an earlier life or a broken connection, and nobody has begun it
        anew: so it counts."""
        stage = self._stages.get(message.stage)
        if stage is None or self._closing.is_set():
            return None
        tasks = self._pools.lease_named(stage, [message.uri])
        if not tasks:
            return None
        with self._lock:
            return self._out.add(tasks[0], came_from=node)

    def _verdict_of_store(self, node: str, message: Result) -> Verdict:
        """It may have been stored, and only the word of it was lost."""
        cargo = self._abroad.cargoes.get(message.stage)
        if cargo is None or message.done is None:
            return "stale"
        is_its_own = self._pools.custody.node_of(message.uri) == node
        try:
            is_stored = is_its_own and cargo.is_stored(message.uri, message.cargo)
        except ValueError:
            is_stored = False
        return "settled" if is_stored else "stale"

    def _hand_in(self, node: str, given: Given, message: Result) -> None:
        task, seen = given.task, self.roster[node]
        task.holder = task.holder or node
        cargo = self._abroad.cargoes[task.stage.name]
        result = result_of(task, message, cargo, self._known)
        has_files = cargo.has_files(message.cargo)
        if isinstance(result, Done):
            self._scope.answered(task.stage.name)
            if seen is not None:
                seen.done.add()
            if has_files:
                result = replace(result, kept_at=node)
        else:
            result, hold = self._scope.judged(node, task.stage.name, result)
            if hold is not None:
                self.tell(node, hold)
        ways = task.token, message.token, task.uri, has_files
        self._came(task.token, node, result, self._answer(node, *ways))

    def _answer(self, node: str, token: int, told: int, uri: str, has_files: bool) -> Answer:
        def answer(verdict: Verdict) -> None:
            if verdict == "again" and has_files:
                self._pools.custody.keep_at(uri, node)
            with self._lock:
                self._out.end(token)
                self._out.remember(told, node, verdict)
            self._judge(node, told, verdict)

        return answer

    def _judge(self, node: str, token: int, verdict: Verdict) -> None:
        self.tell(node, Judged(token, verdict))

    # --- for the desk ----------------------------------------------------------------------

    def tell(self, node: str, message: Message) -> None:
        self._say(to_node(node), message)

    def changed(self) -> None:
        """There are more places, or fewer."""
        with self._pools.changed:
            self._pools.changed.notify_all()

    def heard_of(self, node: str) -> None:
        with self._lock:
            seen = self.roster[node]
            if seen is not None:
                self._out.see((token, node) for token in seen.tokens)

    def welcome(self, node: str) -> None:
        """It may have to do what nobody else can."""
        self._queue.make_for(node)

    def shipped(self, node: str, owners: Sequence[str]) -> None:
        self._pools.custody.release(node, owners)

    def drain(self, node: str) -> None:
        """It takes no more, and leaves when it has done what it has."""
        self.tell(node, Drain())

    def is_open(self, token: int) -> bool:
        """Does anybody wait for what becomes of it?"""
        with self._lock:
            given = self._out.get(token)
            return given is not None and not given.came_from

    def _say(self, subject: str, message: Message) -> None:
        self._bus.say(subject, packed(encoded(message)))

    # --- its own thread --------------------------------------------------------------------

    def _on_back(self) -> None:
        """The server may be a new one: its queue was in its memory. Called in the bus's thread."""
        self._lost_s = 0.0

    def _look(self) -> None:
        is_told, was_quiet = False, True
        while not self._closing.wait(LOOK_S):
            try:
                if self._stop.is_set() and not is_told:
                    is_told = True
                    self._say(TO_ALL, Stop())
                if was_quiet and time.monotonic() >= self._quiet_until:
                    was_quiet = False
                    self.changed()
                while not self._returned.empty():
                    token, error = self._returned.get()
                    self._came(token, "", error, nobody)
                self._look_after()
            except Unavailable as away:
                logger.warning("%s", away)
            except Exception:  # a bug here would leave everybody waiting
                logger.exception("nodes")

    def _look_after(self) -> None:
        if self._desk.lose_silent():
            self.changed()
        if not self._bus.is_connected:
            return
        if not self._lost_s:
            self._queue.make()
            self._lost_s = LOST_WITH_QUEUE_S
        with self._lock:
            unseen = self._out.unseen_for(self._lost_s)
        lost = self._drop_taken_back(unseen)
        for stage in {each.task.stage.name for each in lost}:
            if self._lost_s < LOST_S or not self._queue.number(stage):
                for each in lost:
                    if each.task.stage.name == stage:
                        logger.info("uri=%r is handed out again: nobody has it", each.task.uri)
                        self._send(each)
        if self._lost_s < LOST_S and not unseen:
            self._lost_s = LOST_S

    def _drop_taken_back(self, given: Sequence[Given]) -> list[Given]:
        """Those that somebody still waits for; nobody does for the others."""
        leased = self._pools.still_leased(each.task for each in given)
        for each in given:
            if each.task.token not in leased:
                with self._lock:
                    self._out.end(each.task.token)
        return [each for each in given if each.task.token in leased]

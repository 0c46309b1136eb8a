"""What nodes bring, and what they are told became of it.

Promise: a result counts once: if its token is that of a lease, or if its URI waits and nobody holds
it. It is asked before anything is stored. Whoever brings the same twice is told the same twice;
whoever comes too late is told so, and drops what he has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from ..engine.executor import Answer, Came, Verdict
from ..engine.pools import Pools
from ..engine.stage import Done, Stage
from .abroad import Abroad
from .cargo import NotRight, result_of
from .handed_out import Given, HandedOut
from .messages import Judged, Message, Result
from .roster import Roster
from .scope import Scope

Tell = Callable[[str, Message], None]


class Results:
    """`known` are the stages and pools that there are; `tell` says something to a node."""

    def __init__(
        self,
        out: HandedOut,
        roster: Roster,
        abroad: Abroad,
        stages: Mapping[str, Stage],
        known: Collection[str],
        tell: Tell,
    ) -> None:
        self._out, self._roster, self._abroad = out, roster, abroad
        self._stages, self._known, self._tell = stages, known, tell
        self._scope = Scope(roster)
        self.is_closed = False  # nobody stores anything any more

    def open(self, came: Came, pools: Pools) -> None:
        self._came, self._pools = came, pools

    def brought(self, node: str, message: Result) -> str | None:
        """What is wrong with it, if anything is."""
        given, is_first = self._out.claim(message.token, node, message.stage, message.uri)
        if given is not None and is_first:
            return self._hand_in(node, given, message)
        if given is not None:  # it is being stored: the verdict comes then
            if given.came_from != node:
                self._judge(node, message.token, "stale")
        elif (verdict := self._out.verdict(message.token, node)) is not None:
            self._judge(node, message.token, verdict)
        elif (orphan := self._adopted(node, message)) is not None:
            return self._hand_in(node, orphan, message)
        else:
            self._judge(node, message.token, self._verdict_of_store(node, message))
        return None

    def _adopted(self, node: str, message: Result) -> Given | None:
        """Its lease is gone with an earlier life or a broken connection, and nobody has begun it
        anew: so it counts."""
        stage = self._stages.get(message.stage)
        if stage is None or self.is_closed:
            return None
        tasks = self._pools.lease_named(stage, [message.uri])
        return self._out.add(tasks[0], came_from=node) if tasks else None

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

    def _hand_in(self, node: str, given: Given, message: Result) -> str | None:
        task, seen = given.task, self._roster[node]
        task.holder = task.holder or node
        cargo = self._abroad.cargoes[task.stage.name]
        result = brought = result_of(task, message, cargo, self._known)
        is_wrong = isinstance(brought, NotRight)
        has_files = not is_wrong and cargo.has_files(message.cargo)
        if isinstance(result, Done):
            self._scope.answered(task.stage.name)
            if seen is not None:
                seen.done.add()
            result = replace(result, kept_at=node if has_files else "")
        else:
            result, hold = self._scope.judged(node, task, result)
            if hold is not None:
                self._tell(node, hold)
        self._came(task.token, node, result, self._answer(node, given, message, has_files))
        return str(brought) if is_wrong else None

    def _answer(self, node: str, given: Given, message: Result, has_files: bool) -> Answer:
        def answer(verdict: Verdict) -> None:
            if verdict == "again" and has_files:
                self._pools.custody.keep_at(given.task.uri, node)
            self._out.end(given.task.token)
            self._out.remember(message.token, node, verdict)
            self._judge(node, message.token, verdict)

        return answer

    def _judge(self, node: str, token: int, verdict: Verdict) -> None:
        self._tell(node, Judged(token, verdict))

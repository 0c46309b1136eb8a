"""Who works on the stages of a structure, and what is written down of those that fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from ..engine.pools import Pools
from ..engine.stage import Done, Task, Worker
from ..errors import ComeBack, Unavailable
from ..settings import Settings
from ..structure.dispatch import Dispatch
from ..structure.documents import Documents
from ..structure.export import hash_of
from ..structure.hosts import Hosts
from ..structure.parse import Parse
from ..structure.raw import raw_of
from ..structure.records import ExportLine, Failure
from ..structure.registry import Parsers
from ..structure.sources.source import Source
from ..structure.status import CLASSES, QUEUES
from ..structure.store import FAILED
from .structure_declared import structure_in


class Workers:
    """`pools` are those of the harvest, once they are open."""

    def __init__(
        self,
        settings: Settings,
        sources: Mapping[str, Source],
        documents: Documents,
        parsers: Parsers,
        pools: Callable[[], Pools],
    ) -> None:
        self._settings, self._sources, self._documents = settings, sources, documents
        self._parsers, self._pools = parsers, pools
        self._name = structure_in(settings).name
        self._scripts: dict[int, str] = {}  # by token, the hash of the script that is at work

    def dispatch(self, is_alone: bool) -> Worker:
        dispatch = Dispatch(
            self._name,
            self._sources,
            self._documents,
            self._parsers,
            waiting=lambda: self._pools().ranks("to_parse"),
            tallied=lambda name: self._pools().tallied(name),
            remembered=lambda: self._pools().remembered(),
            most_waiting=self._settings.structure.most_waiting,
            priority=structure_in(self._settings).priority,
        )

        def dispatched(task: Task) -> Done:
            """If nobody parses meanwhile and there is no more room, it is over."""
            try:
                return dispatch(task)
            except ComeBack:
                return Done("finished")

        return dispatched if is_alone else dispatch

    def parse(self, hosts: Hosts, to: str) -> Worker:
        parse = Parse(self._name, self._sources, self._parsers, hosts, to)

        def parsed(task: Task) -> Done:
            """An edit of the script while it works is seen as one: its hash is read before."""
            self._scripts[task.token] = self._script_now(task)[1]
            done = parse(task)
            del self._scripts[task.token]
            return done

        return by_class(parsed)

    def _script_now(self, task: Task) -> tuple[str, str]:
        """The parser of a document, and the hash of its script; "" for what nobody can say."""
        raw = raw_of(task.note or "")
        rule = self._parsers.rule_for(raw.source, raw.type)
        if rule is None:
            return raw.parser, ""
        try:
            return rule.parser, self._parsers.script_of(rule).hash
        except Unavailable:
            return rule.parser, ""

    def failed(self, task: Task, reason: str) -> object:
        hash_, now = hash_of(task.uri), time.time()
        if task.stage.name == "parse":
            parser, script = self._script_now(task)
            return Failure(hash_, parser, self._scripts.pop(task.token, script), now)
        if task.stage.name == "export":
            return ExportLine(hash_, now, FAILED, reason=reason)
        return None


def by_class(work: Worker) -> Worker:
    """Counted by the queue it came from, so that its pace is known."""

    def worked(task: Task) -> Done:
        done = work(task)
        queue = f"{QUEUES[task.stage.name]}:{CLASSES[task.priority]}"
        return replace(done, tally={**done.tally, queue: 1})

    return worked

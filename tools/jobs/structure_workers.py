"""Who works on the stages of a structure, and what is written down of those that fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from ..engine.pools import Pools
from ..engine.stage import Done, Task, Worker
from ..errors import ComeBack, GiveUp
from ..settings import Settings
from ..structure.dispatch import Dispatch
from ..structure.documents import Documents
from ..structure.export_line import ExportLine
from ..structure.hosts import Hosts
from ..structure.parse import NO_RULE, Parse
from ..structure.queues import hash_of, queue_of
from ..structure.registry import Parsers
from ..structure.sources.source import Source
from ..structure.store import FAILED
from .structure_declared import structure_in

SUPERSEDED = "superseded"


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
            """Bytes that are gone from where they were seen first may be elsewhere too."""
            result = _tried(parse, task)
            for note in self._other_notes(task) if _is_gone(result) else ():
                if not _is_gone(other := _tried(parse, replace(task, note=note))):
                    result = other
                    break
            if isinstance(result, GiveUp):
                raise result
            return replace(result, tally={**result.tally, queue_of(task): 1})

        return parsed

    def _other_notes(self, task: Task) -> list[str]:
        return [note for note in self._documents.notes_of(hash_of(task.uri)) if note != task.note]

    def failed(self, task: Task, reason: str) -> object:
        """For the log of exports; of a parser that failed its worker has said so."""
        if task.stage.name == "export":
            return ExportLine(hash_of(task.uri), time.time(), FAILED, reason=reason)
        return None


def _tried(parse: Parse, task: Task) -> Done | GiveUp:
    try:
        return parse(task)
    except GiveUp as error:
        return error


def _is_gone(result: Done | GiveUp) -> bool:
    """Or nobody reads what has such a name."""
    return isinstance(result, GiveUp) or SUPERSEDED in result.tally or result.reason == NO_RULE

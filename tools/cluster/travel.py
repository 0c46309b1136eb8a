"""Tasks whose results are plain data: what goes along and what comes home, for any job.

Promise: a result that cannot travel, because it is too large or not of a kind that can be told, is
made once more by the coordinator itself, and costs nobody an attempt. What hosts say goes home with
every result, well or not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import Any

import orjson

from ..engine.stage import Done, Task, Worker
from ..errors import ComeBack, HarvestError
from .abroad import Plain, StaysHere
from .hosts import HostReports, NodeHosts
from .messages import Result
from .wire import LARGEST, LONGEST_NOTE

HOSTS, RECORDS, STAYS = "hosts", "records", "stays"


class TravelCarrier:
    """On a node. `pack` makes plain data of the records of a result; TypeError if it cannot."""

    keeps_files = False

    def __init__(self, pack: Callable[[Any], Any], hosts: NodeHosts | None = None) -> None:
        self._pack = pack
        self._hosts = hosts
        self._lock = Lock()
        self._stays: set[str] = set()

    def wrapped(self, work: Worker) -> Worker:
        """The worker whose results can travel."""

        def worked(task: Task) -> Done:
            done = work(task)
            with suppress(TypeError, RecursionError):
                records = self._pack(done.records)
                if _size(records, done) <= LARGEST:
                    return replace(done, records=records)
            with self._lock:
                self._stays.add(task.uri)
            raise ComeBack("what it gives cannot travel: the coordinator does it itself", 0.0)

        return worked if self._hosts is None else self._hosts.polite(worked)

    def arrived(self, uri: str, cargo: Any, is_again: bool) -> None:
        if self._hosts is not None and isinstance(cargo, dict):
            self._hosts.arrived(uri, cargo.get(HOSTS), is_again)

    def given_back(self, uri: str) -> None:
        if self._hosts is not None:
            self._hosts.given_back(uri)

    def leaving(self, uri: str, result: Done | HarvestError) -> Any:
        with self._lock:
            stays = uri in self._stays
            self._stays.discard(uri)
        said = None if self._hosts is None else self._hosts.leaving(uri)
        records = result.records if isinstance(result, Done) else None
        return {HOSTS: said, RECORDS: records, STAYS: stays}

    def judged(self, result: Result, verdict: str) -> None:
        """Nothing of it is here."""


def _size(records: Any, done: Done) -> int:
    """Beyond all bounds if it cannot be said at all."""
    notes = [note for group in done.found for note in group.notes or () if note is not None]
    if any(len(note) > LONGEST_NOTE for note in notes):
        return LARGEST + 1
    found = [group.uris for group in done.found]
    return len(orjson.dumps([records, notes, found]))


class TravelCargo(Plain):
    """At the coordinator. A job says what goes along (`more`) and reads what comes (`records`)."""

    def __init__(self, reports: HostReports | None = None) -> None:
        self._reports = reports
        self._lock = Lock()
        self._stays: set[str] = set()

    def more(self, task: Task) -> Mapping[str, Any]:
        return {}

    def records(self, task: Task, done: Done, said: Any) -> object:
        """ValueError if it cannot be right."""
        raise NotImplementedError

    def outgoing(self, task: Task) -> Any:
        with self._lock:
            if task.uri in self._stays:
                self._stays.discard(task.uri)
                raise StaysHere
        more = self.more(task)
        hosts = None if self._reports is None else self._reports.outgoing(task)
        return {HOSTS: hosts, **more}

    def incoming(self, task: Task, result: Done | HarvestError, cargo: Any) -> object:
        said = cargo if isinstance(cargo, dict) else {}
        try:  # a host may be asked again when what was found of it is known
            done = result if isinstance(result, Done) else None
            records = self.records(task, done, said.get(RECORDS)) if done else None
        finally:
            if self._reports is not None:
                result = self._reports.incoming(task, result, said.get(HOSTS))
        if isinstance(result, Done):
            return records
        if said.get(STAYS) is True:
            with self._lock:
                self._stays.add(task.uri)
        return result


def field(said: Any, name: str, kind: type | tuple[type, ...]) -> Any:
    """Of a table that somebody sent; ValueError if it has none of that kind. A truth is no
    number."""
    value = said.get(name) if isinstance(said, dict) else None
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if type(value) not in kinds:
        raise ValueError(f"its {name} cannot be right")
    return value

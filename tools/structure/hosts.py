"""The parsers' processes: each thread that parses has its own, kept while its script is the same.

Promise: whatever a parser does, its document ends with JSON or with GiveUp and the reason, within
its time and a second, and the next document finds a process that is well. A document is judged by
itself: what spoils a process that has parsed others before is tried once more in a new one.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from ..errors import GiveUp, Interrupted
from .parser_process import Parsed, ParserProcess, Spoilt
from .registry import Limits, Script
from .sandbox import Sandbox
from .scratch import Scratch

KEPT = 4
"""Processes of a thread: documents of several kinds come in turn, and starting one takes long."""
CLOSED_WITHIN_S = 10.0


class Own:
    """The processes of one thread, the one that was used last at the end; held while it works."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.processes: dict[tuple[str, int], ParserProcess] = {}

    def end(self) -> None:
        while self.processes:
            self.processes.popitem()[1].end()


class Hosts:
    """Without `sandbox` parsers run as we do; whoever is asked to run them says which."""

    def __init__(self, limits: Limits | None = None, sandbox: Sandbox | None = None) -> None:
        self._limits = limits or Limits()
        self._sandbox = sandbox or Sandbox()
        self._scratch = Scratch()
        self._lock = threading.Lock()
        self._of: dict[threading.Thread, Own] = {}
        self._is_closed = False

    def parse(self, script: Script, raw: bytes, about: Mapping[str, Any]) -> Parsed:
        """GiveUp with the reason; Unavailable if no process can be started; Interrupted when all
        is closed meanwhile."""
        own = self._own()
        with own.lock:
            try:
                return self._judged_by_itself(own, script, raw, about)
            finally:
                for key in [key for key, each in own.processes.items() if each.is_spent]:
                    own.processes.pop(key).end()

    def close(self) -> None:
        self._is_closed = True
        with self._lock:
            all_own = [*self._of.values()]
        for own in all_own:
            for process in [*own.processes.values()]:
                process.kill()
        for own in all_own:
            if own.lock.acquire(timeout=CLOSED_WITHIN_S):
                own.end()
                own.lock.release()
        self._scratch.close()

    def _judged_by_itself(
        self, own: Own, script: Script, raw: bytes, about: Mapping[str, Any]
    ) -> Parsed:
        process = self._process(own, script)
        is_first = process.asked == 0
        try:
            return process.parse(raw, about)
        except Spoilt as spoilt:
            process.is_spent = True
            if self._is_closed:
                raise Interrupted("parsing was stopped") from None
            if is_first or spoilt.is_its_own:
                raise GiveUp(spoilt.reason) from None
        own.processes.pop(_key(script)).end()
        return self._judged_by_itself(own, script, raw, about)

    def _process(self, own: Own, script: Script) -> ParserProcess:
        """One that has this very script; the one that was used least recently makes room."""
        limits = script.limits or self._limits
        process = own.processes.pop(_key(script), None)
        if process is not None and (process.script.hash, process.limits) != (script.hash, limits):
            process.end()
            process = None
        if process is None:
            process = ParserProcess(script, limits, self._sandbox, self._scratch.new())
        own.processes[_key(script)] = process
        if len(own.processes) > KEPT:
            own.processes.pop(next(iter(own.processes))).end()
        if self._is_closed:
            process.is_spent = True
            raise Interrupted("parsing was stopped")
        return process

    def _own(self) -> Own:
        thread = threading.current_thread()
        own = self._of.get(thread)
        if own is None:
            with self._lock:
                gone = [each for each in self._of if not each.is_alive()]
                left = [self._of.pop(each) for each in gone]
                own = self._of[thread] = Own()
            for each in left:
                each.end()
        return own


def _key(script: Script) -> tuple[str, int]:
    return script.name, script.rule

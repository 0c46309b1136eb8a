"""A process with a clock that the test sets: under libfaketime, told line by line what to do.

Lines in: `at 2025-03-30T00:59:59` (set the wall clock), `until 3 good` (go on until so many
outcomes of that work), `ticks 5`, `forget` (the outcomes so far), `close 0.5`. A line out for each.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, get_ident, main_thread

from tools.assist.schedule import Clock, Outcome
from tools.errors import StopHarvest

PATIENCE_S = 30.0
TICK_S = 0.02


def good() -> str:
    assert get_ident() != main_thread().ident
    return "all is well"


def broken() -> str:
    raise LookupError("no\nsuch thing")


def fatal() -> str:
    raise StopHarvest("the disk is full")


def system() -> str:
    raise PermissionError(13, "Permission denied", "/etc/shadow")


def leaves() -> str:
    sys.exit("away")


def hangs() -> str:
    Event().wait()
    raise AssertionError


WORKS: dict[str, Callable[[], str]] = {
    each.__name__: each for each in (good, broken, fatal, system, leaves, hangs)
}


class World:
    def __init__(self, times: dict[str, str]) -> None:
        self.outcomes: list[Outcome] = []
        self.clock = Clock(self.told)
        for name, crontab in times.items():
            self.clock.add(name, crontab, WORKS[name.split("-")[0]])
        self._offset = 0.0
        self._file = Path(os.environ["FAKETIME_TIMESTAMP_FILE"])

    def told(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        if outcome.name.endswith("-unheard"):
            raise OSError("nobody listens")

    def at(self, moment: str) -> None:
        real = time.time() - self._offset
        self._offset = datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp() - real
        new = self._file.with_name("new")
        new.write_text(f"{self._offset:+.3f}\n")
        new.replace(self._file)

    def start(self) -> None:
        self.clock.start()

    def until(self, count: str, name: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while sum(each.name == name for each in self.outcomes) < int(count):
            assert time.monotonic() < deadline, self.outcomes
            self.ticks("1")
        self.ticks("5")

    def ticks(self, count: str) -> None:
        for _ in range(int(count)):
            self.clock.tick()
            Event().wait(TICK_S)

    def forget(self) -> None:
        self.outcomes.clear()

    def close(self, patience_s: str) -> None:
        self.clock.close(float(patience_s))


def main() -> None:
    logging.basicConfig(level="INFO", format="%(levelname)s %(message)s")
    world = World(json.loads(sys.argv[1]))
    for line in sys.stdin:
        command, *arguments = line.split()
        begun = time.monotonic()
        getattr(world, command)(*arguments)
        took = time.monotonic() - begun
        print(json.dumps({"took": took, "outcomes": world.outcomes}), flush=True)


if __name__ == "__main__":
    main()

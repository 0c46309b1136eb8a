"""A whole harvest of many hosts: everybody gets its pause, and nobody sleeps for it."""

from __future__ import annotations

import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from threading import Event, Lock
from typing import Any, cast

import pytest

from tools.engine.harvest import Harvest
from tools.engine.stage import Done, Found, Stage, Task

HOSTS, PAGES, PAUSE_S = 30, 5, 0.05


class Pauses:
    """From the end of one request to the next of its host."""

    def __init__(self) -> None:
        self._moments: dict[str, float] = {}

    def ready_at(self, lane: str) -> float:
        return self._moments.get(lane, 0.0)

    def places(self, lane: str) -> int:
        return 1

    def begun(self, lane: str) -> None: ...

    def ended(self, lane: str, seconds: float) -> None:
        self._moments[lane] = time.monotonic() + PAUSE_S


class Job:
    def __init__(self) -> None:
        self.stages = (Stage("get", 3, "fair", lane=lambda uri: uri.split("/")[0], gate=Pauses()),)
        self.seeds = (Found("get", [f"{host}/0" for host in range(HOSTS)]),)
        self.visits: dict[str, list[float]] = defaultdict(list)
        self.workers = {"get": self.work}
        self._lock = Lock()

    def work(self, task: Task) -> Done:
        host, page = task.uri.split("/")
        with self._lock:
            self.visits[host].append(time.monotonic())
        links = [f"{host}/{int(page) + 1}"] if int(page) + 1 < PAGES else []
        return Done("finished", [Found("get", links)])

    def store(self, records: object) -> None: ...

    def identity(self) -> dict[str, str]:
        return {}

    choices = allowed = identity


@pytest.mark.timeout(60)
def test_each_host_has_its_pause_and_three_workers_do_for_thirty_hosts(tmp_path: Path) -> None:
    job = Job()
    harvest = Harvest(cast(Any, job), tmp_path / "pools.db", Event(), 3, 1.0)
    begun = time.monotonic()
    harvest.run()
    seconds = time.monotonic() - begun
    assert harvest.pools.count("finished") == HOSTS * PAGES
    harvest.close()
    for visits in job.visits.values():
        pauses = [later - sooner for sooner, later in pairwise(visits)]
        assert len(pauses) == PAGES - 1 and min(pauses) >= PAUSE_S
    assert seconds < HOSTS * PAGES * PAUSE_S  # all pauses, if a worker slept through each

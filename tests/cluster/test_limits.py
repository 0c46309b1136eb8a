"""The limits of a host are kept over all processes, as the host sees it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from threading import Event

import pytest
import requests

from tests.cluster.test_executor import NoCargo
from tests.cluster.workers import workers
from tests.engine.executor_contract import Scene, until
from tests.support.chance import any_seed
from tests.support.worlds.faults import FaultServer
from tools.cluster.executor import Away, ProcessExecutor
from tools.engine.executor import processes_of
from tools.engine.stage import Done, Stage, Task
from tools.errors import Died, ServerTrouble, Unavailable
from tools.network.guard import host_of
from tools.network.limits import Limit, Limits
from tools.network.traffic import Traffic

STAGE = Stage("fetch", 8)
COMMAND = (sys.executable, "-m", "tests.cluster.asking")


class Asking(Scene):
    def __init__(
        self,
        url: str,
        folder: Path,
        limit: Limit | None,
        processes: int = 2,
        is_held_up: bool = False,
    ) -> None:
        host = host_of(url)
        limited = {} if limit is None else {host: limit}
        self.limits, self.traffic = Limits(limited, Event(), None), Traffic()
        setup = {"host": host, "limited": list(limited), "is_held_up": is_held_up}
        ways = "", setup, self.limits, self.traffic
        away = Away({"fetch": NoCargo()}, processes, COMMAND, *ways)
        super().__init__(ProcessExecutor([STAGE], {}, away, Event()), folder)
        self._url = url

    def wait_until_all_work(self, count: int) -> None:
        self.wait_for(count)
        until(lambda: all(each.since for each in processes_of(self.executor)), "all are ready")

    def ask(self, path: str, count: int) -> list[Task]:
        numbers = range(self._last + 1, self._last + count + 1)
        self._last += count
        uris = {number: f"{self._url}{path}#{number}" for number in numbers}
        tasks = [Task(each, uri, STAGE, None, 0, 0, token=each) for each, uri in uris.items()]
        self.executor.give(tasks)
        return tasks


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


MakeAsking = Callable[..., Asking]


@pytest.fixture
def asking(server: FaultServer, tmp_path: Path) -> Iterator[MakeAsking]:
    made: list[Asking] = []

    def make(
        limit: Limit | None, processes: int = 2, is_held_up: bool = False, url: str = ""
    ) -> Asking:
        made.append(Asking(url or server.url, tmp_path, limit, processes, is_held_up))
        return made[-1]

    yield make
    for each in made:
        each.executor.close(0.0)


def most_in_a_second(times: list[float]) -> int:
    times = sorted(times)
    return max(bisect_right(times, each + 1.0) - at for at, each in enumerate(times))


@pytest.mark.parametrize("most", [10, 30])
def test_a_host_sees_no_more_than_its_limit_in_any_second(
    asking: MakeAsking, server: FaultServer, most: int
) -> None:
    scene = asking(Limit((f"{most}/second",)))
    scene.ask("/ok", 4 * most)
    arrivals = scene.wait_for(4 * most)
    assert all(isinstance(each.result, Done) for each in arrivals)
    times = [each.arrived for each in server.requests]
    assert len(times) == 4 * most
    assert most_in_a_second(times) <= most * 1.1 + 1
    assert max(times) - min(times) < 8.0, "the limit is used"
    assert scene.traffic.requests == 4 * most and scene.traffic.classes["2xx"] == 4 * most


def test_who_is_held_up_before_he_asks_waits_for_another_turn(
    asking: MakeAsking, server: FaultServer
) -> None:
    most, count = 6, 24
    scene = asking(Limit((f"{most}/second",)), is_held_up=True)
    scene.ask("/ok", count)
    assert all(isinstance(each.result, Done) for each in scene.wait_for(count))
    times = [each.arrived for each in server.requests]
    assert len(times) == count and most_in_a_second(times) <= most * 1.1 + 1


class Counting:
    """A server that shares no process with those who ask it."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.cluster.counting"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{self._process.stdout.readline().strip()}"

    def times(self) -> list[float]:
        found: list[float] = requests.get(f"{self.url}/times", timeout=30).json()
        return found

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def load() -> Iterator[None]:
    """Others want the processor, too: more than there is."""
    burn = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(burn) for _ in range(2 * (os.cpu_count() or 1))]
    yield
    for each in others:
        each.kill()
        each.wait()


@pytest.mark.timeout(120)
@pytest.mark.usefixtures("load")
@pytest.mark.parametrize("path", ["/kept", "/new"])
def test_so_it_is_under_load_while_processes_are_killed(asking: MakeAsking, path: str) -> None:
    """Over connections that are kept, or a new one for each request."""
    most, count, chance = 40, 200, Random(any_seed())
    with closing(Counting()) as server:
        scene = asking(Limit((f"{most}/second",)), 4, url=server.url)
        tasks = {task.token: task for task in scene.ask(path, count)}
        given_again = kills = 0
        deadline = time.monotonic() + 100
        while len(scene.arrivals) - given_again < count:
            assert time.monotonic() < deadline
            time.sleep(chance.uniform(0.1, 0.5))
            if scene.arrivals and kills < 6 and (pids := list(workers("tests.cluster.asking"))):
                os.kill(chance.choice(pids), signal.SIGKILL)
                kills += 1
            lost = [each for each in list(scene.arrivals) if not isinstance(each.result, Done)]
            scene.executor.give([tasks[each.token] for each in lost[given_again:]])
            given_again = len(lost)
        times = server.times()
    assert kills and len(times) >= count
    assert most_in_a_second(times) <= most * 1.1 + 1


def test_a_place_is_the_processs_own_until_it_dies(asking: MakeAsking, server: FaultServer) -> None:
    scene = asking(Limit(at_once=1))
    scene.ask("/hang", 1)
    until(lambda: bool(server.requests), "it is asked")
    scene.ask("/ok", 4)
    time.sleep(0.5)
    assert len(server.requests) == 1, "there is one place"
    for pid in list(workers("tests.cluster.asking")):
        os.kill(pid, signal.SIGKILL)
    until(lambda: len(scene.arrivals) == 5, "all come back")
    assert any(isinstance(each.result, Died) for each in scene.arrivals)
    scene.ask("/ok", 4)
    until(lambda: len(server.requests) >= 5, "the place is free")


def test_what_one_process_is_told_all_heed(asking: MakeAsking, server: FaultServer) -> None:
    scene = asking(None)
    scene.ask("/ok", 8)
    scene.wait_until_all_work(8)
    scene.ask("/status/429", 1)
    (*_, refused) = scene.wait_for(9)
    assert isinstance(refused.result, Unavailable) and scene.limits.rests.number() == 1
    before = len(server.requests)
    scene.ask("/ok", 16)
    arrivals = scene.wait_for(25)
    assert all(isinstance(each.result, Unavailable) for each in arrivals[9:])
    assert len(server.requests) == before


def test_a_provider_that_refuses_one_process_rests_in_all(
    asking: MakeAsking, server: FaultServer
) -> None:
    scene = asking(None)
    scene.ask("/search/ok", 8)
    scene.wait_until_all_work(8)
    scene.ask("/search/status/403", 1)
    scene.wait_for(9)
    before = len(server.requests)
    scene.ask("/search/ok", 16)
    arrivals = scene.wait_for(25)
    assert all("is paused" in str(each.result) for each in arrivals[9:])
    assert len(server.requests) == before, "nobody asks it"
    assert scene.limits.rests.number() == 0, "its host is not to blame"
    scene.ask("/ok", 2)
    assert all(isinstance(each.result, Done) for each in scene.wait_for(27)[25:])


def test_an_outage_is_counted_by_all(asking: MakeAsking, server: FaultServer) -> None:
    """Once it is known it costs no other process several files to find out."""
    scene = asking(None)
    host = host_of(server.url)
    scene.ask("/ok", 8)
    scene.wait_until_all_work(8)
    scene.limits.rests.begin(host, "it answers nobody", 0.0)  # as one of them has found
    until(lambda: not scene.limits.rests.left(host), "it may be asked again")
    scene.ask("/status/500", 1)
    (*_, lost) = scene.wait_for(9)
    assert isinstance(lost.result, Unavailable)
    assert scene.limits.rests.left(host) > 100, "it grows"


def test_whoever_is_well_again_is_well_for_all(asking: MakeAsking, server: FaultServer) -> None:
    scene = asking(None)
    host = host_of(server.url)
    scene.ask("/ok", 8)
    scene.wait_until_all_work(8)
    scene.limits.rests.begin(host, "it answers nobody", 0.0)
    scene.ask("/ok", 1)
    scene.wait_for(9)
    until(lambda: scene.limits.rests.ill_since(host) is None, "it is well")
    scene.ask("/status/500", 2)  # each gets one
    lost = scene.wait_for(11)[9:]
    assert all(isinstance(each.result, ServerTrouble) for each in lost), "nobody is blamed yet"


def test_who_comes_later_learns_who_is_not_well(asking: MakeAsking, server: FaultServer) -> None:
    scene = asking(None)
    host = host_of(server.url)
    scene.limits.rests.begin(host, "it answers nobody", 3600.0)
    scene.ask("/ok", 4)
    assert all("it answers nobody" in str(each.result) for each in scene.wait_for(4))
    assert not server.requests

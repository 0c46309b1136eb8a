"""Nothing more can be started, a draft cannot be lent, a worker is signalled before it listens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from tests.cluster.test_executor import COMMAND, NoCargo
from tests.cluster.workers import workers
from tests.engine.executor_contract import PLACES, STAGE, Scene, until
from tools.base.resident import descendants
from tools.cluster.executor import Away, ProcessExecutor
from tools.engine.stage import Done, Task
from tools.errors import HarvestError, Unavailable


class NoMoreThreads:
    """As the system is when nobody may have another one, for so many calls."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]) -> None:
        self.refused = 0
        start = Thread.start

        def refusing(thread: Thread) -> None:
            if thread.name.startswith(names) and self.refused < 2:
                self.refused += 1
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(Thread, "start", refusing)


def test_without_a_thread_to_see_to_processes_tasks_come_back_unspent(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    NoMoreThreads(monkeypatch, ("processes",))
    for count in (1, 2):
        scene.give(1)
        (*_, arrival) = scene.wait_for(count)
        assert isinstance(arrival.result, Unavailable) and "thread" in str(arrival.result)
    scene.give(PLACES)
    assert all(isinstance(each.result, Done) for each in scene.wait_for(2 + PLACES)[2:])


def test_without_a_thread_to_listen_to_a_process_it_is_ended_and_tried_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = NoMoreThreads(monkeypatch, ("process 1", "process 2"))
    scene.give(PLACES)
    assert all(isinstance(each.result, Done) for each in scene.wait_for(PLACES))
    assert refusing.refused == 2
    until(lambda: len(list(workers())) == 2, "nobody is left of those")


class Spoilt(NoCargo):
    """What should go along cannot be read, once."""

    def __init__(self) -> None:
        self.asked = 0

    def outgoing(self, _task: Task) -> Any:
        self.asked += 1
        if self.asked == 2:
            raise PermissionError(13, "Permission denied")
        return "\ud800" if self.asked == 3 else None  # no text that can be said


class Unreadable(NoCargo):
    """What comes home cannot be kept, once."""

    def __init__(self) -> None:
        self.came = 0

    def incoming(self, _task: Task, _result: Done | HarvestError, _cargo: Any) -> object:
        self.came += 1
        if self.came == 2:
            raise PermissionError(13, "Permission denied")
        return None


def test_what_cannot_be_kept_comes_back_with_the_reason_and_ends_nobody(tmp_path: Path) -> None:
    away = Away({STAGE.name: Unreadable()}, 1, COMMAND)
    scene = Scene(ProcessExecutor([STAGE], {}, away, Event()), tmp_path)
    try:
        scene.give(5)
        results = [each.result for each in scene.wait_for(5)]
        assert [type(each) for each in results if not isinstance(each, Done)] == [PermissionError]
        assert len(list(workers())) == 1
    finally:
        scene.executor.close(10.0)


def test_what_cannot_be_sent_comes_back_with_the_reason_and_holds_nobody_up(tmp_path: Path) -> None:
    spoilt = Away({STAGE.name: Spoilt()}, 1, COMMAND)
    scene = Scene(ProcessExecutor([STAGE], {}, spoilt, Event()), tmp_path)
    try:
        scene.give(5)
        arrivals = scene.wait_for(5)
        errors = [each.result for each in arrivals if not isinstance(each.result, Done)]
        assert len(errors) == 2 and isinstance(errors[0], PermissionError)
        assert len({each.holder for each in arrivals}) > 1
    finally:
        scene.executor.close(10.0)


def test_whoever_asks_what_all_threads_do_ends_nobody(
    scene: Scene, capfd: pytest.CaptureFixture[str]
) -> None:
    scene.give(PLACES, "waiting")
    until(lambda: scene.at_work() == PLACES, "they are at work")
    for pid in workers():
        os.kill(pid, signal.SIGQUIT)
    scene.open_gate()
    assert all(isinstance(each.result, Done) for each in scene.wait_for(PLACES))
    assert "wait_at_gate" in capfd.readouterr().err


HURRIED = """
import sys
from pathlib import Path
from threading import Event
from tests.cluster.test_executor import away
from tests.engine.executor_contract import STAGE, Scene
from tools.cluster.executor import ProcessExecutor
scene = Scene(ProcessExecutor([STAGE], {}, away(), Event()), Path(sys.argv[1]))
scene.give(3)
scene.wait_for(3)
print([type(each.result).__name__ for each in scene.arrivals])
scene.executor.close(5.0)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_process_that_only_begins_hears_no_signal_of_the_terminal(
    tmp_path: Path, number: signal.Signals
) -> None:
    """They are for the harvest, whatever the workers are at when they come."""
    with subprocess.Popen(
        [sys.executable, "-c", HURRIED, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        until(lambda: len(list(descendants(process.pid))) == 2, "they are started")
        for pid in descendants(process.pid):
            os.kill(pid, number)
        said, complaint = process.communicate(timeout=60)
    assert (said.strip(), complaint) == (str(["Done"] * 3), "")

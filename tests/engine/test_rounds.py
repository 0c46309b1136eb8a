"""Several rounds in one process: the wait between them can be stopped and paused."""

from __future__ import annotations

import os
import signal
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Timer

import pytest

from tests.jobs.second_job import WordsJob
from tools.engine import harvest as harvests
from tools.engine.harvest import Harvest
from tools.journal.facts import next_round
from tools.journal.reader import facts_in
from tools.settings import Settings

pytestmark = pytest.mark.timeout(60)
HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in HANDLED}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@contextmanager
def harvest(folder: Path, before: Harvest | None = None) -> Iterator[Harvest]:
    (folder / "start.txt").write_text("some words")
    arguments = Namespace(folder=folder, pause_s=0.0, begin="start.txt")
    job, stop = WordsJob(Settings(state=folder), arguments, Event()), Event()
    notes = before.notes if before else None
    with closing(job), closing(Harvest(job, folder / "pools.db", stop, 3, 1.0, notes=notes)) as run:
        run.run()
        yield run


def send(number: int, after_s: float) -> Timer:
    timer = Timer(after_s, os.kill, (os.getpid(), number))
    timer.start()
    return timer


def test_the_wait_ends_when_the_moment_has_come_and_is_told_to_who_looks(tmp_path: Path) -> None:
    with harvest(tmp_path) as run:
        moment = time.time() + 0.3
        assert run.wait_until(moment)
        assert time.time() >= moment
        assert next_round(facts_in(tmp_path / "pools.db"), os.getpid()) == moment
    with harvest(tmp_path, run):
        assert next_round(facts_in(tmp_path / "pools.db"), os.getpid()) is None


def test_a_clock_that_is_set_back_makes_the_wait_hardly_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harvests, "SET_BACK_S", 0.3)
    begun, real = time.monotonic(), time.time
    with harvest(tmp_path) as run:
        moment = real() + 0.3
        Timer(0.1, lambda: monkeypatch.setattr(time, "time", lambda: real() - 86_400)).start()
        assert run.wait_until(moment)
    assert 0.5 < time.monotonic() - begun < 10


def test_the_wait_can_be_stopped(tmp_path: Path) -> None:
    with harvest(tmp_path) as run:
        send(signal.SIGTERM, 0.1)
        assert not run.wait_until(time.time() + 600)


def test_a_pause_lasts_beyond_the_moment(tmp_path: Path) -> None:
    with harvest(tmp_path) as run:
        os.kill(os.getpid(), signal.SIGUSR1)
        resumed = time.time() + 1.0
        send(signal.SIGUSR2, 1.0)
        assert run.wait_until(time.time() + 0.1)
        assert time.time() >= resumed - 0.05


def test_a_stop_that_comes_between_two_rounds_is_not_lost(tmp_path: Path) -> None:
    with harvest(tmp_path) as run:
        assert run.wait_until(time.time())
        os.kill(os.getpid(), signal.SIGTERM)  # nobody reads this one's notes any more
    with harvest(tmp_path, run) as later:
        assert not later.wait_until(time.time() + 600)

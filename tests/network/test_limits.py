"""A host is asked as often, as fast and by as many as its limits allow, over a restart too."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.support.worlds.faults import FaultServer
from tools.errors import GiveUp, HarvestError, Interrupted, StopHarvest, Unavailable, UsageError
from tools.network import limits
from tools.network.budgets import DAY_S
from tools.network.client import Client
from tools.network.limits import Limit, Limits, Turns, merged
from tools.network.rates import MOMENT_MS, Rates, spaced
from tools.network.rests import Rests
from tools.network.settings import HttpSettings

HOST = "pictures.example"
MOMENT_S = MOMENT_MS / 1000  # that a request may be on its way
THREE_A_DAY = {HOST: Limit(("3/day",))}


class Clock:
    """Both clocks of the computer, which go when told to."""

    def __init__(self) -> None:
        self.wall = 1_800_000_000.0
        self.steady = 10_000.0

    def pass_by(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "time", lambda: clock.wall)
    monkeypatch.setattr(time, "monotonic", lambda: clock.steady)
    monkeypatch.setattr(Rates, "_now", lambda _: int(clock.steady * 1000))
    return clock


class PassingEvent(Event):
    """Nobody really waits for it: the clock goes instead."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.waits: list[float] = []
        self._clock = clock

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.waits.append(timeout)
        self._clock.pass_by(timeout)
        return self.is_set()


@pytest.fixture
def stop(clock: Clock) -> PassingEvent:
    return PassingEvent(clock)


def never_rests(host: str) -> None: ...


# ---- rates


def test_a_turn_that_is_used_too_late_is_another_one(clock: Clock, stop: PassingEvent) -> None:
    turns = Turns(HOST, Limit(("3/minute",)), stop)
    first = turns.take(never_rests)
    first.use()
    late = turns.take(never_rests)
    clock.pass_by(10)
    begun = clock.steady
    late.use()  # nobody was asked before: that counts once
    turns.take(never_rests).use()
    assert stop.waits == []
    late.use()  # a second request, over a connection that is not stale
    assert clock.steady - begun == pytest.approx(50 + MOMENT_S, abs=0.1)


def test_where_nothing_is_counted_a_turn_is_good_for_long(clock: Clock, stop: PassingEvent) -> None:
    turn = Turns(HOST, Limit(at_once=1), stop).take(never_rests)
    clock.pass_by(3600)
    turn.use()
    turn.use()
    assert stop.waits == []


@pytest.mark.parametrize("most", [1, 3, 10, 30, 49, 50, 120, 200, 300, 500, 1000, 5000])
def test_those_of_a_second_are_spaced(most: int) -> None:
    """Held up for a moment they are no more than a tenth more and one; and few are lost."""
    (rate,) = spaced([(most, 1)])
    gap = (rate.interval + 1) / 1000
    in_a_second_and_a_moment = (1.0 + MOMENT_S) // gap * rate.limit + rate.limit
    assert in_a_second_and_a_moment <= most * 1.1 + 1
    assert rate.limit / gap >= most * 0.94


def test_a_rate_for_a_minute_is_waited_for(clock: Clock, stop: PassingEvent) -> None:
    turns = Turns(HOST, Limit(("2/minute",)), stop)
    begun = clock.steady
    for _ in range(5):
        turns.take(never_rests)
    assert clock.steady - begun == pytest.approx(2 * (60 + MOMENT_S), abs=0.1)
    assert all(wait <= 60.1 + MOMENT_S for wait in stop.waits)


@pytest.mark.parametrize(("rate", "seconds"), [("3/hour", 3600.0), ("3/day", DAY_S)])
def test_a_longer_wait_is_left_to_others(
    clock: Clock, stop: PassingEvent, rate: str, seconds: float
) -> None:
    turns = Turns(HOST, Limit((rate,)), stop)
    for _ in range(3):
        turns.take(never_rests)
    clock.pass_by(100)
    with pytest.raises(Unavailable, match=rf"{HOST} allows {rate}: not to be asked before 2") as no:
        turns.take(never_rests)
    assert no.value.delay == pytest.approx(seconds + MOMENT_S - 100, abs=0.1)
    assert stop.waits == []
    assert no.value.delay is not None
    clock.pass_by(no.value.delay)
    turns.take(never_rests)


def test_nobody_waits_for_more_than_a_minute_in_all(clock: Clock) -> None:
    class Crowded(PassingEvent):
        """Somebody else is always quicker."""

        def wait(self, timeout: float | None = None) -> bool:
            stopping = super().wait(timeout)
            while_we_waited.take(never_rests)
            return stopping

    stop = Crowded(clock)
    while_we_waited = Turns(HOST, Limit(("2/minute",)), stop)
    for _ in range(2):
        while_we_waited.take(never_rests)
        clock.pass_by(20)
    with pytest.raises(Unavailable):
        while_we_waited.take(never_rests)
    assert sum(stop.waits) <= limits.PATIENCE_S


def test_the_users_rates_come_before_ours() -> None:
    ours = {"Pictures.example:443": Limit(("2/second",), at_once=2), "b.example": Limit(("1/day",))}
    users = {"pictures.example": ("1/minute",), "c.example:8080": ("5/hour",)}
    assert merged(ours, users) == {
        "pictures.example": Limit(("1/minute",), at_once=2),
        "b.example": Limit(("1/day",)),
        "c.example:8080": Limit(("5/hour",)),
    }


def test_limits_of_our_own_are_checked_too() -> None:
    with pytest.raises(UsageError, match="is not like 120/minute"):
        Client(HttpSettings(), None, Event(), limits={HOST: Limit(("often",))})


# ---- rests


def test_who_rests_is_not_asked_and_the_reason_is_told(clock: Clock) -> None:
    rests = Rests()
    assert rests.begin(HOST, "its key is used up", 500.0) == pytest.approx(500)
    clock.pass_by(100)
    with pytest.raises(Unavailable, match="rests for another 400 s: its key is used up") as caught:
        rests.require_none(HOST)
    assert caught.value.delay == pytest.approx(400)
    clock.pass_by(400)
    rests.require_none(HOST)


def test_a_later_wish_does_not_shorten_a_rest(clock: Clock) -> None:
    rests = Rests()
    rests.begin(HOST, "HTTP 429", 500.0)
    assert rests.begin(HOST, "HTTP 429", 7.0) == pytest.approx(500)


@pytest.mark.parametrize(
    ("asked", "given"), [(-5.0, 0.0), (1e300, DAY_S), (float("inf"), DAY_S), (float("nan"), 0.0)]
)
def test_no_rest_is_absurd(clock: Clock, asked: float, given: float) -> None:
    assert Rests().begin(HOST, "because", asked) == pytest.approx(given)


def test_anybody_may_let_a_host_rest() -> None:
    client = Client(HttpSettings(), None, Event())
    assert 54 <= client.let_rest("https://Pictures.example/search?q=dog", "no more today") <= 66
    assert client.let_rest("music.example:8080", "no more today", 7.0) == pytest.approx(7.0)
    for url in ("https://pictures.example/other", "http://music.example:8080/"):
        with pytest.raises(Unavailable, match="no more today"):
            client.get(url, "*/*")
    client.close()


# ---- at once, and how fast


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


def client_with(server: FaultServer, limit: Limit, stop: Event) -> Client:
    host = f"127.0.0.1:{server.port}"
    return Client(HttpSettings(tries=1), None, stop, limits={host: limit}, trusted=[host])


def test_no_more_are_there_at_once_than_allowed(server: FaultServer) -> None:
    client = client_with(server, Limit(at_once=2), Event())
    with ThreadPoolExecutor(8) as threads:
        url = f"{server.url}/together/2/ok"  # answers two when two are there
        waiting = [threads.submit(client.get, url, "*/*") for _ in range(8)]
        assert [each.result().body for each in waiting] == [b"ok"] * 8
    client.close()
    assert server.most_at_once <= 3  # the server notices the end of an answer after its client


@pytest.mark.parametrize("path", ["/status/404", "/status/500", "/reset", "/429/retry-after/0"])
def test_a_place_is_given_back_whatever_happens(server: FaultServer, path: str) -> None:
    client = client_with(server, Limit(at_once=1), Event())
    for _ in range(3):
        with pytest.raises(HarvestError):
            client.get(server.url + path, "*/*")
    client.close()
    assert server.hits.total() == 3


def test_stopping_ends_the_wait_for_a_place(server: FaultServer) -> None:
    stop = Event()
    client = client_with(server, Limit(at_once=1), stop)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(client.get, f"{server.url}/held/ok", "*/*")
        assert server.asked.wait(30)
        second = threads.submit(client.get, f"{server.url}/ok", "*/*")
        stop.set()
        assert isinstance(second.exception(timeout=30), Interrupted)
        server.released.set()
        assert first.result().body == b"ok"
    client.close()


def test_the_wait_for_a_place_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PATIENCE_S", 0.0)
    monkeypatch.setattr(limits, "STOP_SEEN_WITHIN_S", 0.01)
    turns = Turns(HOST, Limit(at_once=1), Event())
    turns.take(never_rests)
    with pytest.raises(Unavailable, match=f"all 1 connections to {HOST} are busy"):
        turns.take(never_rests)
    turns.give_back(0.0, 0)
    turns.take(never_rests)


@pytest.mark.parametrize("at_once", [None, 2])
def test_bytes_have_their_time(clock: Clock, stop: PassingEvent, at_once: int | None) -> None:
    turns = Turns(HOST, Limit(at_once=at_once, bytes_per_s=1000.0), stop)
    begun = clock.steady
    for _ in range(10):
        turns.take(never_rests)
        asked = clock.steady
        clock.pass_by(0.5)
        turns.give_back(asked, 3000)
    turns.take(never_rests)
    if at_once:  # the other place may be free already
        turns.take(never_rests)
    assert clock.steady - begun == pytest.approx(30, abs=6)


def test_what_came_slowly_is_not_waited_for_again(clock: Clock, stop: PassingEvent) -> None:
    turns = Turns(HOST, Limit(bytes_per_s=1000.0), stop)
    turns.take(never_rests)
    asked = clock.steady
    clock.pass_by(5)
    turns.give_back(asked, 5000)
    turns.take(never_rests)
    assert stop.waits == []


def test_a_huge_answer_is_not_waited_for_in_the_worker(clock: Clock, stop: PassingEvent) -> None:
    turns = Turns(HOST, Limit(bytes_per_s=1000.0), stop)
    for _ in range(2):
        turns.take(never_rests)
        turns.give_back(clock.steady, 200_000)
        with pytest.raises(Unavailable, match=f"{HOST} allows 1,000 bytes a second") as caught:
            turns.take(never_rests)
        assert caught.value.delay == pytest.approx(200)
        clock.pass_by(200)


def test_stopping_ends_the_wait_for_bytes() -> None:
    stop = Event()
    turns = Turns(HOST, Limit(bytes_per_s=1000.0), stop)
    turns.take(never_rests)
    turns.give_back(time.monotonic(), 50_000)
    timer = threading.Timer(0.05, stop.set)
    timer.start()
    with pytest.raises(Interrupted):
        turns.take(never_rests)
    timer.join()


def test_bytes_that_came_in_vain_are_counted(server: FaultServer) -> None:
    client, begun = client_with(server, Limit(bytes_per_s=50.0), Event()), time.monotonic()
    for _ in range(2):
        with pytest.raises(GiveUp):
            client.get(f"{server.url}/status/404", "*/*")  # with seven bytes
    client.close()
    _, second = (request.arrived for request in server.requests)
    assert second - begun >= 7 / 50 - 0.01  # the first may have arrived late


# ---- over a restart


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "budgets"


@pytest.fixture
def start(file: Path, stop: PassingEvent) -> Iterator[Callable[..., Limits]]:
    """Begins anew with what the file holds."""
    running: list[Limits] = []

    def begin(known: Any = THREE_A_DAY) -> Limits:
        running.append(Limits(known, stop, file))
        return running[-1]

    yield begin
    for each in running:
        each.close()


def left(running: Limits, host: str = HOST) -> int:
    """How often it may still be asked; afterwards it may not."""
    for count in range(10_000):
        try:
            running.take_turn(host)
        except Unavailable:
            return count
    raise AssertionError("without end")


def test_a_limit_for_a_day_survives_a_restart(clock: Clock, start: Callable[..., Limits]) -> None:
    start().take_turn(HOST)
    clock.pass_by(3600)
    start().take_turn(HOST)
    clock.pass_by(3600)
    again = start()
    assert left(again) == 1
    with pytest.raises(Unavailable) as caught:
        again.take_turn(HOST)
    assert caught.value.delay == pytest.approx(DAY_S - 7200, abs=1)
    clock.pass_by(DAY_S - 7200 + 1)
    assert left(start()) == 1
    clock.pass_by(DAY_S)
    assert left(start()) == 3


def test_the_steady_clock_may_begin_anew(clock: Clock, start: Callable[..., Limits]) -> None:
    """As it does when the computer starts."""
    assert left(start()) == 3
    clock.steady = 5.0
    assert left(start()) == 0


def test_hosts_share_the_file_and_nothing_else(start: Callable[..., Limits]) -> None:
    both = {HOST: Limit(("3/day",)), "b.example:8080": Limit(("1/second", "5/day"))}
    assert left(start(both)) == 3
    again = start(both)
    assert (left(again), left(again, "b.example:8080")) == (0, 5)
    assert left(start(both), "b.example:8080") == 0


def test_only_limits_for_a_day_need_a_file(file: Path, start: Callable[..., Limits]) -> None:
    running = start({HOST: Limit(("1/minute", "3/hour"), at_once=2)})
    running.take_turn(HOST)
    assert not file.exists()


def test_without_a_file_a_day_is_that_of_the_process(stop: PassingEvent) -> None:
    assert left(Limits(THREE_A_DAY, stop, None)) == 3
    assert left(Limits(THREE_A_DAY, stop, None)) == 3


def test_a_clock_set_back_locks_nobody_out_for_ever(
    clock: Clock, start: Callable[..., Limits]
) -> None:
    assert left(start()) == 3
    clock.wall -= 365 * DAY_S
    assert left(start()) == 0
    clock.pass_by(DAY_S / 2)
    assert left(start()) == 0
    clock.pass_by(DAY_S / 2 + 1)
    assert left(start()) == 3


def test_a_clock_set_while_we_run_changes_nothing(
    clock: Clock, start: Callable[..., Limits]
) -> None:
    running = start()
    assert left(running) == 3
    for jump in (-3 * 3600, 3 * DAY_S):
        clock.wall += jump
        assert left(running) == 0


@pytest.mark.parametrize(
    "content",
    [
        b"\x00" * 100,
        b"\x80\n",
        b"SQLite format 3\x00",
        b"no moment pictures.example\n",
        b"1800000000.000 pictures.example\n1800000000.000\n",
        b"1800000000.000 pictures.example\n\n",
        b"1800000000.000 a b\n",
        b"1800000000.000 pictures.example\n\x00\x00\x00",
        b"nan pictures.example\n",
    ],
)
def test_a_damaged_file_costs_a_day_and_is_kept(
    file: Path,
    clock: Clock,
    start: Callable[..., Limits],
    caplog: pytest.LogCaptureFixture,
    content: bytes,
) -> None:
    file.write_bytes(content)
    assert left(start()) == 0
    assert (file.parent / "budgets.damaged").read_bytes() == content
    assert "left alone for a day" in caplog.text
    caplog.clear()
    assert left(start()) == 0
    clock.pass_by(DAY_S + 1)
    assert left(start()) == 3
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


@pytest.mark.parametrize("tail", [b"1", b"1800000000.0", b"1800000000.000 pict"])
def test_a_line_cut_short_is_no_request(
    file: Path, start: Callable[..., Limits], caplog: pytest.LogCaptureFixture, tail: bytes
) -> None:
    """It was not recorded whole, so it was not made."""
    file.write_bytes(b"1799999999.000 pictures.example\n" + tail)
    assert left(start()) == 2
    assert left(start()) == 0
    assert not caplog.records


def test_old_lines_do_not_pile_up(file: Path, clock: Clock, start: Callable[..., Limits]) -> None:
    for _ in range(5):
        assert left(start()) == 3
        clock.pass_by(DAY_S + 1)
    assert len(file.read_bytes().splitlines()) == 3


def test_a_file_that_cannot_be_written_ends_the_harvest_with_a_sentence(
    tmp_path: Path, stop: PassingEvent
) -> None:
    with pytest.raises(StopHarvest, match=r"record of daily limits in .*: (Not|Is|No)") as caught:
        Limits(THREE_A_DAY, stop, tmp_path / "missing" / "budgets")
    assert caught.value.exit_code == 5
    with pytest.raises(StopHarvest):
        Limits(THREE_A_DAY, stop, tmp_path)


@pytest.mark.parametrize("taken", [0, 7])
def test_who_cannot_be_recorded_is_not_asked(
    start: Callable[..., Limits], monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    """A full disk takes nothing, or half a line."""

    def write(file: int, data: bytes) -> int:
        if not taken:
            raise OSError(28, "No space left on device")
        return taken

    running = start()
    monkeypatch.setattr(os, "write", write)
    with pytest.raises(StopHarvest, match="No space left on device"):
        running.take_turn(HOST)


def test_kill_9_loses_no_request(file: Path, tmp_path: Path) -> None:
    program = f"""
import os, pathlib, signal, threading
from tools.network.limits import Limit, Limits
running = Limits({{"{HOST}": Limit(("3/day",))}}, threading.Event(), pathlib.Path({str(file)!r}))
running.take_turn("{HOST}")
running.take_turn("{HOST}")
os.kill(os.getpid(), signal.SIGKILL)
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, check=False)
    assert done.returncode == -signal.SIGKILL
    after = Limits(THREE_A_DAY, Event(), file)
    assert left(after) == 1
    after.close()
    assert list(tmp_path.iterdir()) == [file]


def test_a_pause_that_was_asked_for_is_given_to_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    for moment in (65_159.297_272, 0.1):
        monkeypatch.setattr(time, "monotonic", lambda moment=moment: moment)
        assert Rests().begin("example.org", "HTTP 429", 3600.0) == 3600.0

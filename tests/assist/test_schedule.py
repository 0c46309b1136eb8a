"""Work by the wall clock. The clock of a process of its own is set, in both directions."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.command import ROOT, clean_environment
from tests.support.needs import missing
from tools.assist.schedule import Clock, Outcome
from tools.base.crontab import Slots, parse
from tools.errors import UsageError

EVERY_HOUR, EVERY_THIRD, EVERY_MINUTE = "0 * * * *", "0 */3 * * *", "* * * * *"


def faketime() -> str:
    """The library itself: the program would be one process more to end."""
    found = sorted(Path("/usr/lib").glob("**/faketime/libfaketimeMT.so.1"))
    return str(found[0]) if found else missing("no libfaketime: apt-get install faketime")


class Process:
    """tests/worlds/clock.py, begun at a moment of our choice."""

    def __init__(self, folder: Path, moment: str, times: dict[str, str], **more: str) -> None:
        settings = {
            "LD_PRELOAD": faketime(),
            "FAKETIME_TIMESTAMP_FILE": str(folder / "offset"),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            **more,
        }
        (folder / "offset").write_text("+0\n")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.worlds.clock", json.dumps(times)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(**settings),
        )
        self.do("at", moment)
        self.do("start")

    def do(self, *command: object) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(" ".join(map(str, command)) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, self.end()
        answer: dict[str, Any] = json.loads(line)
        answer["outcomes"] = [Outcome(*each) for each in answer["outcomes"]]
        return answer

    def ran(self, *command: object) -> list[str]:
        """Which work ended at which minute."""
        outcomes = self.do(*command)["outcomes"]
        return sorted(f"{each.name} {clock_time(each.ended)}" for each in outcomes)

    def end(self) -> str:
        """Its log, after its end."""
        _, log = self._process.communicate(timeout=60)
        return log

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


def clock_time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%d. %H:%M")


Start = Callable[..., Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Process] = []

    def process(moment: str, times: dict[str, str], **more: str) -> Process:
        started.append(Process(tmp_path, moment, times, **more))
        return started[-1]

    yield process
    for each in started:
        each.kill()


# ---- the wall clock


def test_work_runs_on_the_hour_and_only_then(start: Start) -> None:
    clock = start("2025-06-01T11:59:59", {"good": EVERY_HOUR, "good-3": EVERY_THIRD, "good-0": ""})
    clock.do("until", 1, "good")
    assert clock.ran("until", 1, "good-3") == ["good 01. 12:00", "good-3 01. 12:00"]
    clock.do("at", "2025-06-01T12:59:59.5")
    assert clock.ran("until", 2, "good") == ["good 01. 12:00", "good 01. 13:00", "good-3 01. 12:00"]
    assert "INFO" not in clock.end()  # a line for each run would fill the log


def test_days_away_are_made_up_for_by_one_run_of_each(start: Start) -> None:
    times = {"good": EVERY_HOUR, "good-3": EVERY_THIRD, "good-minute": EVERY_MINUTE}
    clock = start("2025-06-01T10:20:10", times)
    assert clock.ran("ticks", 5) == []
    clock.do("at", "2025-06-04T10:20:10")
    for name in times:
        clock.do("until", 1, name)
    assert clock.ran("ticks", 5) == [f"{name} 04. 10:20" for name in sorted(times)]
    clock.do("at", "2025-06-04T10:59:59.5")
    ran = clock.ran("until", 2, "good")
    assert ran.count("good 04. 11:00") == 1
    assert "good-3 04. 11:00" not in ran


def test_half_a_century_away_is_made_up_for_at_once(start: Start) -> None:
    """A machine without a battery begins in 1970 until somebody tells it the time."""
    clock = start("1970-01-01T00:00:10", {"good": EVERY_MINUTE})
    clock.do("at", "2025-06-01T10:20:10")
    assert clock.ran("until", 1, "good") == ["good 01. 10:20"]


def test_hours_back_bring_neither_a_gap_nor_a_double(start: Start) -> None:
    clock = start("2025-06-01T12:59:59.5", {"good": EVERY_HOUR})
    assert clock.ran("until", 1, "good") == ["good 01. 13:00"]
    clock.do("forget")
    clock.do("at", "2025-06-01T09:59:59.5")  # half a second after the last run: 10:00 is no slot
    assert clock.ran("ticks", 50) == []
    clock.do("at", "2025-06-01T10:59:59.5")
    assert clock.ran("until", 1, "good") == ["good 01. 11:00"]
    clock.do("at", "2025-06-01T11:59:59.5")
    assert clock.ran("until", 2, "good") == ["good 01. 11:00", "good 01. 12:00"]
    assert clock.end().count("the clock was set back") == 1


def test_a_step_back_over_a_slot_does_not_repeat_it(start: Start) -> None:
    clock = start("2025-06-01T12:59:59.5", {"good": EVERY_HOUR})
    clock.do("until", 1, "good")
    clock.do("at", "2025-06-01T12:59:59.5")
    assert clock.ran("ticks", 50) == ["good 01. 13:00"]


def test_back_before_the_first_run_the_next_slot_is_the_next_one(start: Start) -> None:
    clock = start("2025-06-01T12:30:00", {"good": EVERY_HOUR})
    clock.do("ticks", 3)
    clock.do("at", "2025-06-01T09:59:59.5")
    assert clock.ran("until", 1, "good") == ["good 01. 10:00"]


@pytest.mark.parametrize("day", ["2025-03-30", "2025-10-26"])
def test_summer_time_is_nothing_to_the_clock(start: Start, day: str) -> None:
    """In Berlin it begins and ends at 01:00 UTC of these days."""
    clock = start(f"{day}T00:59:59.5", {"good": EVERY_HOUR}, TZ="Europe/Berlin")
    clock.do("until", 1, "good")
    clock.do("at", f"{day}T01:30:00")
    clock.do("ticks", 5)
    clock.do("at", f"{day}T01:59:59.5")
    clock.do("until", 2, "good")
    clock.do("at", f"{day}T02:59:59.5")
    hours = [each[-5:] for each in clock.ran("until", 3, "good")]
    assert hours == ["01:00", "02:00", "03:00"]


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "Europe/Berlin", "America/St_Johns"])
def test_times_are_in_utc_wherever_it_runs(start: Start, zone: str) -> None:
    times = {"good": EVERY_HOUR, "good-3": EVERY_THIRD, "good-day": "30 4 * * *"}
    clock = start("2025-06-01T02:59:59.5", times, TZ=zone)
    clock.do("until", 1, "good")
    assert clock.ran("until", 1, "good-3") == ["good 01. 03:00", "good-3 01. 03:00"]
    clock.do("at", "2025-06-01T03:59:59.5")
    clock.do("until", 2, "good")
    clock.do("forget")
    clock.do("at", "2025-06-01T04:29:59.5")
    assert clock.ran("until", 1, "good-day") == ["good-day 01. 04:30"]


CRONTABS = st.sampled_from(
    [EVERY_HOUR, EVERY_THIRD, EVERY_MINUTE, "*/20 * * * *", "30 4 * * *", "0 0 * * 1"]
)
MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2099, 1, 1), timezones=st.just(UTC))


@given(CRONTABS, MOMENTS, st.floats(0, 1))
def test_set_back_to_any_moment_the_distance_stays_usual(
    times: str, now: datetime, part: float
) -> None:
    """Between the half and one and a half of it, whenever the last run was."""
    slots = parse(times, "clock.test")
    usual = distance(slots, now)
    since = usual.total_seconds() * part
    slot = slots.after_set_back(now, since)
    assert slot is not None
    assert usual / 2 <= timedelta(seconds=since) + (slot - now) <= usual * 2
    assert timedelta(0) < slot - now <= usual * 1.5


def distance(slots: Slots, now: datetime) -> timedelta:
    first = slots.get_next_fire_time(now, now)
    assert first is not None
    second = slots.get_next_fire_time(first, first)
    assert second is not None
    return second - first


# ---- bad work


def test_work_that_fails_disturbs_nobody_and_runs_again(start: Start) -> None:
    names = ("good", "broken", "fatal", "system", "leaves", "good-unheard")
    clock = start("2025-06-01T10:00:59.5", dict.fromkeys(names, EVERY_MINUTE))
    for minute in (1, 2):
        for name in names:
            clock.do("until", minute, name)
        outcomes = clock.do("at", f"2025-06-01T10:0{minute}:59.5")["outcomes"]
        assert sorted(each.name for each in outcomes) == sorted(names * minute)
    assert {each.name: each.failure for each in outcomes} == {
        "good": None,
        "good-unheard": None,
        "broken": r"a bug in Sheaf: LookupError('no\nsuch thing')",
        "fatal": "the disk is full",
        "system": "[Errno 13] Permission denied: '/etc/shadow'",
        "leaves": "a bug in Sheaf: SystemExit('away')",
    }
    assert all((each.done is None) == (each.failure is not None) for each in outcomes)
    assert all(each.seconds >= 0 for each in outcomes)


def test_only_what_does_not_explain_itself_gets_a_traceback(start: Start) -> None:
    clock = start("2025-06-01T10:00:59.5", dict.fromkeys(("fatal", "system"), EVERY_MINUTE))
    for name in ("fatal", "system"):
        clock.do("until", 1, name)
    assert sorted(clock.end().splitlines()) == [
        "WARNING fatal failed: the disk is full",
        "WARNING system failed: [Errno 13] Permission denied: '/etc/shadow'",
    ]


def test_a_bug_leaves_its_traceback(start: Start) -> None:
    clock = start("2025-06-01T10:00:59.5", {"broken": EVERY_MINUTE})
    clock.do("until", 1, "broken")
    assert "LookupError: no" in clock.end()


def test_work_that_hangs_is_left_out_others_go_on_and_the_process_ends(start: Start) -> None:
    clock = start("2025-06-01T10:00:59.5", {"hangs": EVERY_MINUTE, "good": EVERY_MINUTE})
    for minute in (1, 2, 3):
        clock.do("until", minute, "good")
        clock.do("at", f"2025-06-01T10:0{minute}:59.5")
    assert {each.name for each in clock.do("until", 4, "good")["outcomes"]} == {"good"}
    assert 0.4 <= clock.do("close", 0.4)["took"] < 20
    assert clock.end().splitlines() == [
        "WARNING hangs still runs: it is left out until it ends",
        "WARNING hangs does not end: it is left behind",
    ]


def test_a_closed_clock_runs_nothing(start: Start) -> None:
    clock = start("2025-06-01T10:00:30", {"good": EVERY_MINUTE})
    clock.do("close", 60)
    clock.do("at", "2025-06-01T10:00:59.9")
    assert clock.ran("ticks", 20) == []
    assert clock.do("close", 60)["took"] < 20  # a second time is nothing
    assert clock.end() == ""


# ---- without a process


def test_what_ends_within_the_patience_is_told_and_later_it_is_not() -> None:
    told: list[Outcome] = []
    may_end, has_begun = Event(), Event()

    def work() -> str:
        has_begun.set()
        may_end.wait(30)
        return "late"

    clock = Clock(told.append)
    clock.add("late", EVERY_MINUTE, work)
    clock.start()
    (piece,) = clock._pieces
    clock._begin(piece)
    assert has_begun.wait(30)
    clock.close(0.05)
    may_end.set()
    assert piece.thread is not None
    piece.thread.join(30)
    assert told == []


def test_a_clock_that_was_not_started_can_be_closed() -> None:
    clock = Clock(lambda _: None)
    clock.add("good", EVERY_HOUR, str)
    clock.tick()
    clock.close(1)


def test_a_system_without_threads_is_a_failure_like_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_thread(_: object) -> None:
        raise RuntimeError("can't start new thread")

    told: list[Outcome] = []
    clock = Clock(told.append)
    clock.add("good", EVERY_HOUR, str)
    clock.start()
    with monkeypatch.context() as patch:
        patch.setattr("threading.Thread.start", no_thread)
        clock._begin(clock._pieces[0])
    clock.close(1)
    assert [each.failure for each in told] == [
        """a bug in Sheaf: RuntimeError("can't start new thread")"""
    ]


def test_a_tick_costs_next_to_nothing() -> None:
    """It comes five times a second for weeks; a set back clock makes it dearer until it is over."""
    clock = Clock(lambda _: None)
    for number in range(5):
        clock.add(f"good-{number}", EVERY_HOUR, str)
    clock.start()
    clock._latest = datetime.now(UTC) + timedelta(days=1)
    begun = time.process_time()
    for _ in range(100):
        clock.tick()
    assert (time.process_time() - begun) / 100 < 0.02
    clock.close(1)


# ---- crontabs


@pytest.mark.parametrize(
    "times",
    [
        *("hourly", "@hourly", "* * * *", "60 * * * *", "*/0 * * * *", "0 25 * * *", "0 0 0 * *"),
        *("* * * * 8", "* * * * 5-1", "* * * * 1,", "* * * * mond", "5-1 * * * *", "* * * * * *"),
    ],
)
def test_a_bad_crontab_is_refused_with_how_to_write_it(times: str) -> None:
    clock = Clock(lambda _: None)
    with pytest.raises(UsageError) as refused:
        clock.add("snapshot", times, str)
    said = str(refused.value)
    assert said.startswith("clock.snapshot must be minute, hour, day, month and weekday in UTC")
    assert '"0 */3 * * *"' in said and said.endswith(f"it is {times!r}")


def test_the_sentence_names_another_setting() -> None:
    with pytest.raises(UsageError, match=r"^notices\.progress_times must be"):
        Clock(lambda _: None).add("progress", "now", str, setting="notices.progress_times")


def test_a_day_that_never_comes_is_refused() -> None:
    with pytest.raises(UsageError, match=r"clock\.snapshot is '0 0 30 2 \*', which never comes"):
        Clock(lambda _: None).add("snapshot", "0 0 30 2 *", str)


@given(st.text(st.sampled_from("0123456789*/-, amonsulat#?L\t\n٣"), max_size=20) | st.text())
def test_any_text_is_a_crontab_or_refused(times: str) -> None:
    try:
        Clock(lambda _: None).add("snapshot", times, str)
    except UsageError as error:
        assert len(str(error).splitlines()) == 1


@pytest.mark.parametrize(
    ("weekday", "days"),
    [
        ("0", {"Sun"}),
        ("7", {"Sun"}),
        ("1", {"Mon"}),
        ("1-5", {"Mon", "Tue", "Wed", "Thu", "Fri"}),
        ("5-7", {"Fri", "Sat", "Sun"}),
        ("0-2", {"Sun", "Mon", "Tue"}),
        ("*/2", {"Sun", "Tue", "Thu", "Sat"}),
        ("1-5/2,sun", {"Mon", "Wed", "Fri", "Sun"}),
        ("mon-wed", {"Mon", "Tue", "Wed"}),
    ],
)
def test_weekdays_are_those_of_a_crontab(weekday: str, days: set[str]) -> None:
    slots = parse(f"30 4 * * {weekday}", "clock.test")
    moment, found = datetime(2025, 6, 1, tzinfo=UTC), set()
    for _ in range(7):
        slot = slots.get_next_fire_time(moment, moment)
        assert slot is not None
        moment = slot
        found.add(f"{slot:%a}")
    assert found == days


def test_the_usual_times_need_nothing_before_a_minute_is_full() -> None:
    """An import that takes as long as a short run."""
    code = """
import sys
from tools.assist.schedule import Clock
clock = Clock(print)
clock.add("good", "0 * * * *", str)
clock.start()
clock._pieces[0].due = clock._pieces[0].due.max.replace(tzinfo=clock._pieces[0].due.tzinfo)
clock.tick()
clock.close(1)
print("apscheduler" in sys.modules)
"""
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "False\n"


def test_work_can_be_hastened_and_waited_for() -> None:
    told: SimpleQueue[Outcome] = SimpleQueue()
    is_running, may_end = Event(), Event()

    def work() -> str:
        is_running.set()
        may_end.wait(30)
        return "done"

    clock = Clock(told.put)
    clock.add("ship", "0 0 1 1 *", work)
    clock.start()
    clock.run_soon("ship")
    assert is_running.wait(30)
    clock.run_soon("ship")  # it runs already: once is enough
    stop = Event()
    stop.set()
    clock.wait_for("ship", stop)  # somebody wants to stop: no waiting
    may_end.set()
    clock.wait_for("ship", Event())
    assert told.get(timeout=30).done == "done"
    clock.close(1)
    assert told.empty()
    clock.run_soon("ship")  # nothing any more

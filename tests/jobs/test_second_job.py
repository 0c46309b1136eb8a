"""Another job is a description, a class and an entry in the registry: the commands do the rest."""

from __future__ import annotations

import json
import shlex
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.second_job import FILE, totals_in
from tests.support.command import run, says, start
from tools.engine.description import Description
from tools.jobs import registry
from tools.jobs.conceptnet_description import CONCEPTNET

LAUNCH = "tests/jobs/launch.py"
FILES = 60
Told = dict[str, Any]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A tree of files, each of which names two others; one names a file that is not there."""
    folder = tmp_path / "texts"
    folder.mkdir()
    for at in range(FILES):
        named = [name(each) for each in (2 * at + 1, 2 * at + 2) if each < FILES]
        more = ["lost.txt"] if at == 7 else []
        (folder / name(at)).write_text(" ".join(["word"] * at + named + more), encoding="utf-8")
    return folder


def name(at: int) -> str:
    return f"{'abc'[at % 3]}{at}.txt" if at else "start.txt"


def totals(texts: Path) -> dict[str, int]:
    found: Counter[str] = Counter()
    for file in texts.iterdir():
        found[file.name[0]] += len(file.read_text(encoding="utf-8").split())
    return dict(found)


def words_flags(texts: Path, *more: object) -> list[object]:
    return ["main", "words", "--folder", texts, "--state", texts.parent / "state", *more]


def history(texts: Path, *flags: object) -> str:
    done = run(LAUNCH, "history", "--state", texts.parent / "state", *flags)
    assert done.returncode == 0, done.stderr
    return done.stdout


def told(texts: Path) -> Told:
    found: Told = json.loads(history(texts, "--json"))
    return found


def wait_for(texts: Path, is_so: Callable[[Told], bool]) -> Told:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if (texts.parent / "state/pools.db").exists():
            found = told(texts)
            if is_so(found):
                return found
        time.sleep(0.2)
    raise AssertionError("it did not come to that")


def harvested(texts: Path) -> Path:
    done = run(LAUNCH, *words_flags(texts))
    assert done.returncode == 0, done.stderr
    return texts.parent / "state"


def test_it_is_paused_killed_and_resumed_and_counts_everything_once(texts: Path) -> None:
    state = texts.parent / "state"
    working = start(LAUNCH, *words_flags(texts, "--pause-s", "0.2"))
    try:
        wait_for(texts, lambda seen: seen["pools"]["finished"] >= 5)
        assert "asked the harvest" in run(LAUNCH, "main", "pause", "--state", state).stdout
        wait_for(texts, lambda seen: seen["paused_since"] is not None)
        assert "paused since" in history(texts)
        assert run(LAUNCH, "main", "resume", "--state", state).returncode == 0
        wait_for(texts, lambda seen: seen["paused_since"] is None)
        seen = wait_for(texts, lambda seen: seen["pools"]["finished"] >= 12)
        assert seen["running"]["pid"] == working.pid
    finally:
        working.send_signal(signal.SIGKILL)
        working.communicate(timeout=60)
    seen = told(texts)
    assert seen["running"] is None and seen["pools"]["finished"] < FILES
    done = run(LAUNCH, *words_flags(texts))
    assert done.returncode == 0, done.stderr
    assert dict(totals_in(state / FILE)) == totals(texts)
    seen = told(texts)
    assert seen["pools"]["finished"] == FILES and seen["pools"]["failed"] == 1
    assert seen["done"] == {"read": FILES + 1, "sum": FILES} and seen["runs"] == 2


@pytest.fixture
def slow(texts: Path) -> Iterator[Path]:
    """It runs, and takes long."""
    working = start(LAUNCH, *words_flags(texts, "--pause-s", "0.2"))
    try:
        wait_for(texts, lambda seen: seen["pools"]["finished"] >= 1)
        yield texts
    finally:
        working.send_signal(signal.SIGKILL)
        working.communicate(timeout=60)


def ask(texts: Path, *words: object) -> str:
    done = run(LAUNCH, "main", *words, "--state", texts.parent / "state")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_stages_and_single_workers_are_paused_by_the_ordinary_commands(slow: Path) -> None:
    assert ask(slow, "pause", "read", "2").endswith("to pause read 2\n")
    seen = wait_for(slow, lambda seen: seen["paused_workers"] == {"read": [2]})
    assert seen["paused_since"] is None
    assert "paused: read 2; `python main.py resume` goes on" in history(slow)
    before = seen["done"]["read"]
    wait_for(slow, lambda seen: seen["done"]["read"] > before + 2)
    ask(slow, "pause", "read")
    ask(slow, "pause", "sum", "1")
    seen = wait_for(slow, lambda seen: seen["paused_workers"] == {"read": [1, 2], "sum": [1]})
    assert seen["paused_since"] is not None and "paused since" in history(slow)
    assert "paused: read" not in history(slow)
    ask(slow, "resume", "read", "1")  # though the whole is paused
    wait_for(slow, lambda seen: seen["paused_workers"] == {"read": [2], "sum": [1]})
    assert "paused: read 2, sum;" in history(slow)
    ask(slow, "resume")
    wait_for(slow, lambda seen: not seen["paused_workers"])
    log = (slow.parent / "state/log").read_text(encoding="utf-8")
    assert "pause read 2 on request" in log and "resume read 1 on request" in log


def test_who_is_not_there_cannot_be_paused(slow: Path) -> None:
    state = ("--state", slow.parent / "state")
    said = says(run(LAUNCH, "main", "pause", "reed", *state), 2)
    assert "there is no stage 'reed', but read and sum" in said
    said = says(run(LAUNCH, "main", "resume", "read", "3", *state), 2)
    assert "read has the workers 1 to 2, and no 3" in said
    said = says(run(LAUNCH, "main", "pause", "sum", "0", *state), 2)
    assert "sum has one worker, 1, and no 0" in said
    said = says(run(LAUNCH, "main", "pause", "read", "all", *state), 2)
    assert "'all' is not a whole number" in said


def test_a_pause_ends_with_its_process(texts: Path) -> None:
    working = start(LAUNCH, *words_flags(texts, "--pause-s", "0.2"))
    wait_for(texts, lambda seen: seen["pools"]["finished"] >= 1)
    ask(texts, "pause", "read", "1")
    wait_for(texts, lambda seen: seen["paused_workers"] == {"read": [1]})
    working.send_signal(signal.SIGSTOP)  # it does not take the next wish before it is killed
    ask(texts, "pause", "sum")
    working.send_signal(signal.SIGKILL)
    working.communicate(timeout=60)
    assert told(texts)["paused_workers"] == {}
    said = says(run(LAUNCH, "main", "pause", "read", "--state", texts.parent / "state"), 2)
    assert "no harvest runs in" in said
    state = harvested(texts)
    assert dict(totals_in(state / FILE)) == totals(texts)
    assert not list((state / "wishes").iterdir())


def test_its_end_is_told_in_its_own_words(texts: Path) -> None:
    done = run(LAUNCH, *words_flags(texts))
    assert done.returncode == 0 and done.stdout.endswith("done\n")
    by_letter = "".join(f"  {key}  {n:>3}\n" for key, n in sorted(totals(texts).items()))
    assert f"Words by letter\n{by_letter}" in done.stdout
    assert f"totals  {texts.parent / 'state' / FILE}" in done.stdout
    for other in ("relations", "concepts", "Graph", "media"):
        assert other not in done.stdout


def test_history_tells_what_the_job_says_of_itself(texts: Path) -> None:
    harvested(texts)
    text = history(texts)
    assert f"{FILES + 1} of {FILES + 1} files done (100%)" in text
    assert "files read" in text and "files summed" in text and "\nTotals\n" in text
    words = sum(totals(texts).values())
    assert f"Reading\n  words  {words:,}\n" in text
    assert f"Work\n  read  {FILES + 1}  ####" in text and "Words counted" not in text
    seen = told(texts)
    assert seen["totals"] == totals(texts) and seen["harvest"]["job"] == "words"
    assert seen["panels"][0] == {
        **{"title": "Reading", "kind": "table", "rows": [["words", words]]},
        "head": [],
    }
    assert "words" in seen["rates_per_s"] and "graph" not in seen and "media" not in seen
    assert max(map(len, text.splitlines())) <= 80


def test_its_course_is_drawn_with_its_own_curve(texts: Path) -> None:
    run(LAUNCH, *words_flags(texts, "--pause-s", "0.05"))
    picture = texts.parent / "course.svg"
    history(texts, "--plot", picture)
    drawn = picture.read_text(encoding="utf-8")
    for title in ("Pools", "Throughput", "Words counted", "files read", "to_read", "to_sum"):
        assert title in drawn
    assert "Media" not in drawn and "fetch" not in drawn


def test_what_failed_goes_back_to_work_by_the_ordinary_command(texts: Path) -> None:
    state = harvested(texts)
    assert history(texts, "--failed") == "lost.txt\tthere is no such file\t1\n"
    (texts / "lost.txt").write_text("found again", encoding="utf-8")
    said = run(LAUNCH, "main", "retry", "--state", state).stdout
    command = shlex.join(map(str, words_flags(texts)[1:]))
    assert said == f"1 go back to work; `python main.py {command}` goes on\n"
    harvested(texts)
    assert told(texts)["pools"]["failed"] == 0
    assert dict(totals_in(state / FILE)) == totals(texts)


def test_it_can_begin_from_a_snapshot_and_anew(texts: Path) -> None:
    state = harvested(texts)
    (snapshot,) = (state / "snapshots").iterdir()
    assert history(texts, "--check").count("sound") == 2
    done = run(LAUNCH, *words_flags(texts, "--resume", snapshot, "-q"))
    assert done.returncode == 0, done.stderr
    done = run(LAUNCH, *words_flags(texts, "--fresh"))
    assert done.returncode == 0 and "the old state is set aside" in done.stdout
    assert dict(totals_in(state / FILE)) == totals(texts)


def test_a_state_belongs_to_one_job(texts: Path, tmp_path: Path) -> None:
    state = harvested(texts)
    places = ("--state", state, "--media", tmp_path / "m")
    done = run("main.py", "--sample", "--no-media", *places)
    assert done.returncode == 2 and "holds a harvest of words, not of conceptnet" in done.stderr
    assert "nobody here knows the job 'words'" in says(run("main.py", "retry", "--state", state), 2)
    seen = run("history.py", "--state", state).stdout
    assert f"{FILES + 1} of {FILES + 1} URIs done" in seen


def test_its_flags_are_told_and_refused_like_all_others(texts: Path) -> None:
    assert "words        count the words" in run(LAUNCH, "main", "jobs").stdout
    said = run(LAUNCH, "main", "words", "--help").stdout
    assert "--folder DIR" in said and "--seed" not in said and "from its file start.txt" in said
    assert "words needs a folder" in says(run(LAUNCH, "main", "words"), 2)
    assert "--seed is not a flag of words" in says(run(LAUNCH, "main", "words", "--seed", "x"), 2)


def test_a_state_that_names_no_job_is_of_the_first_one() -> None:
    assert registry.job_of({}) is CONCEPTNET is registry.job_named(registry.DEFAULT)
    stranger = registry.job_of({"job": "dances"})
    assert type(stranger) is Description and stranger.name == "dances"

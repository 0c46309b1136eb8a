"""Reading a state from outside: everything of one moment, quickly, and unnoticed."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.command import ROOT
from tests.support.state_file import TALLY, make, make_old, minutes, write
from tools.base.text import width
from tools.base.why import Why
from tools.errors import StateDamaged
from tools.jobs.conceptnet_description import CONCEPTNET, media_in
from tools.journal.check import copies, inspect
from tools.journal.holder import Running, _is_locked, running
from tools.journal.instance import only_instance
from tools.journal.reader import RECENT, ClockWork, all_samples, failed, look, moment
from tools.journal.reasons import EXAMPLES, MOST_GROUPS, reason_group
from tools.journal.snapshots import LOCK, snapshot
from tools.network.trouble import failure
from tools.reports.as_json import as_json
from tools.reports.text import as_text, failed_line, verdict_line
from tools.reports.view import View


def test_everything_a_harvest_wrote_down(tmp_path: Path) -> None:
    uris = {"/c/en/a": "to_fetch", "/c/en/b": "to_fetch", "/c/en/c": "finished"}
    counts = {"done_fetch": 7, "media image commons": 5, "media audio free sound": 2}
    samples = [*minutes(3), *minutes(2, run=2)]
    file = make(tmp_path / "pools.db", uris, more=counts, samples=samples)
    write(
        file,
        ("INSERT INTO lease (id, stage) SELECT id, 'fetch' FROM uri WHERE uri = '/c/en/b'", ()),
        ("INSERT INTO host VALUES ('a', 1, 10), ('b', 5, 50)", ()),
        ("INSERT INTO chore VALUES ('snapshot', 9.0, 'x', NULL, NULL)", ()),
        ("INSERT INTO meta VALUES ('world', 'here')", ()),
    )
    seen = look(file)
    assert seen.pools == {
        **{"to_fetch": 1, "on_fetch": 1, "to_extend": 0, "on_extend": 0},
        **{"finished": 1, "failed": 0},
    }
    assert seen.done == {"fetch": 7, "extend": 0} and seen.facts == {"world": "here"}
    assert media_in(seen.counts) == {("image", "commons"): 5, ("audio", "free sound"): 2}
    assert list(seen.assist.hosts.items()) == [("b", (5, 50)), ("a", (1, 10))]
    assert seen.assist.clock_works == {"snapshot": ClockWork(9.0, "x", None, None)}
    assert seen.assist.samples == samples == all_samples(file)
    assert (seen.assist.runs, seen.assist.worked, seen.format) == (2, 180.0, 3)


def test_of_many_samples_the_first_and_the_latest(tmp_path: Path) -> None:
    samples = minutes(RECENT + 100)
    seen = look(make(tmp_path / "pools.db", samples=samples)).assist
    assert seen.samples == [samples[0], *samples[-RECENT:]]
    assert seen.worked == samples[-1].elapsed


def test_the_first_format_has_no_samples(tmp_path: Path) -> None:
    file = make_old(tmp_path / "pools.db", uris={"/c/en/a": "to_fetch"}, failures=[("/c/x", "no")])
    seen = look(file)
    assert seen.format == 1 and seen.pools["to_fetch"] == 1 and seen.failures == {"no": 1}
    assert seen.assist == ({}, {}, [], 0, 0.0, 0) and all_samples(file) == []
    assert failed(file) == [("/c/x", "no", 3)]


# --- one moment ----------------------------------------------------------------------------


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Path]:
    """A file in which everything says the same number, and the number changes all the time."""
    file, stop = make(tmp_path / "pools.db"), Event()
    write(file, ("INSERT INTO host VALUES ('h', 0, 0)", ()))
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA journal_mode = WAL")

    def work() -> None:
        with closing(sqlite3.connect(file, isolation_level=None, timeout=0)) as db:
            number = 0
            while not stop.is_set():
                number += 1
                counts = json.dumps(TALLY | {"finished": number})
                db.execute("BEGIN IMMEDIATE")
                db.execute("UPDATE tally SET counts = ?", (counts,))
                db.execute("INSERT OR REPLACE INTO meta VALUES ('n', ?)", (str(number),))
                db.execute("UPDATE host SET requests = ?", (number,))
                db.execute("COMMIT")

    worker = Thread(target=work, name="writer")
    worker.start()
    yield file
    is_alive = worker.is_alive()
    stop.set()
    worker.join(20)
    assert is_alive, "a reader made the writer wait"


def test_nothing_contradicts_anything(busy: Path) -> None:
    numbers: set[int] = set()
    deadline = time.monotonic() + 30
    while len(numbers) < 30 and time.monotonic() < deadline:
        seen = look(busy)
        number = seen.pools["finished"]
        assert seen.facts.get("n", "0") == str(number) == str(seen.assist.hosts["h"][0])
        numbers.add(number)
    assert len(numbers) == 30


def test_a_slow_reader_makes_nobody_wait_and_sees_one_moment(busy: Path) -> None:
    with moment(busy) as db:
        first = db.execute("SELECT requests FROM host").fetchone()
        deadline = time.monotonic() + 30
        while look(busy).assist.hosts["h"][0] <= first[0] + 5:
            assert time.monotonic() < deadline
        assert db.execute("SELECT requests FROM host").fetchone() == first


# --- failures ------------------------------------------------------------------------------


def test_failures_are_grouped_by_gist_with_examples(tmp_path: Path) -> None:
    failures: list[tuple[str, str | None]] = [
        (f"/c/en/{at}", f"HTTP 404 for http://example.org/c/en/{at}") for at in range(40)
    ]
    failures += [(f"/c/en/m{at}", f"malformed edge on the page: /a/[{at}]") for at in range(5)]
    failures += [("/c/en/x", None), ("/c/en/y", "http://here/ is odd")]
    seen = look(make(tmp_path / "pools.db", failures=failures))
    told = {group.reason_group: group.number for group in seen.groups}
    assert told == {"HTTP 404": 40, "malformed edge on the page": 5, "unknown": 1, "http": 1}
    reasons = dict(failures)
    for group in seen.groups:
        assert len(group.examples) == min(EXAMPLES, group.number)
        for uri, reason in group.examples:
            assert reason == (reasons[uri] or "unknown")
    assert sum(seen.failures.values()) == len(failures)


@pytest.mark.parametrize("why", Why)
def test_what_is_said_of_a_host_is_a_group_without_it(why: Why) -> None:
    assert reason_group(f"example.org:8080: {why} (OSError: x)") == why
    assert reason_group(f"robots.txt could not be had: a.example: {why}") == why
    assert reason_group(f"a.py:7: {why}s") == f"a.py:7: {why}s"


def test_hosts_that_fail_alike_are_one_group(tmp_path: Path) -> None:
    """As the network says it, of names with many digits too."""
    reasons = [str(failure(f"a{at}.example", ConnectionResetError())) for at in range(1000, 3000)]
    file = make(tmp_path / "pools.db", failures=[(f"/c/{each}", each) for each in reasons])
    [group] = look(file).groups
    assert (group.reason_group, group.number) == ("connection lost", 2000)
    assert len(group.examples) == EXAMPLES


def test_of_groups_the_most_frequent_are_told_and_how_many_more_there_are(tmp_path: Path) -> None:
    failures = [(f"/c/{at}", f"another {chr(0x4E00 + at)}") for at in range(1, MOST_GROUPS + 51)]
    seen = look(make(tmp_path / "pools.db", failures=[*failures, ("/c/often", failures[-1][1])]))
    assert len(seen.groups) == MOST_GROUPS and seen.groups[0].number == 2
    assert seen.rare_groups == (50, 50)
    view = View(tmp_path / "pools.db", seen, None, None, False, (), 0.0)
    assert "242  for 242 other reasons" in as_text(view)
    assert json.loads(as_json(view))["failures_left_out"] == {"groups": 50, "failures": 50}


def test_what_failed_is_listed_by_reason_and_age(tmp_path: Path) -> None:
    failures = [("/c/z", "B 1"), ("/c/y", "a"), ("/c/x", "B 1"), ("/c/w", None)]
    file = make(tmp_path / "pools.db", failures=failures)
    rows = [("/c/w", "unknown", 3), ("/c/z", "B 1", 3), ("/c/x", "B 1", 3), ("/c/y", "a", 3)]
    assert failed(file) == rows
    assert failed(file, "b") == rows[1:3] and failed(file, "b 2") == []


def test_a_hundred_thousand_failures_are_told_quickly(tmp_path: Path) -> None:
    failures = [(f"/c/{at}", f"HTTP 404 for http://host/{at}") for at in range(100_000)]
    file = make(tmp_path / "pools.db", failures=failures)
    begun = time.process_time()
    assert look(file).groups[0].number == 100_000
    assert time.process_time() - begun < 1.5


# --- does it run? --------------------------------------------------------------------------


def test_a_folder_without_harvest(tmp_path: Path) -> None:
    assert running(tmp_path / "nothing") is None
    assert running(tmp_path) is None


HOLD = """
import sys
from pathlib import Path
from tools.journal.instance import only_instance
with only_instance(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_harvest_is_seen_while_it_lives(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        lock = (tmp_path / LOCK).stat()
        assert running(tmp_path) == Running(holder.pid, lock.st_mtime)
        assert _is_locked(holder.pid, lock) and _is_locked(1, lock)  # as others may see it
        holder.kill()
        holder.wait(20)
        assert running(tmp_path) is None and not _is_locked(holder.pid, lock)


def test_the_number_of_another_process_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text(str(os.getpid()))
    assert running(tmp_path) is None
    for text in ("", "nonsense", "-1", "0", "99999999"):
        (tmp_path / LOCK).write_text(text)
        assert running(tmp_path) is None


CURIOUS = """
import sys
from pathlib import Path
from tools.journal.holder import running
running(Path(sys.argv[1]))
print("looking", flush=True)
while True:
    running(Path(sys.argv[1]))
"""


def test_who_looks_keeps_no_harvest_from_starting(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CURIOUS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as curious:
        try:
            assert curious.stdout is not None and curious.stdout.readline() == "looking\n"
            for _ in range(1000):
                with only_instance(tmp_path):  # raises AlreadyRunning if anybody held it
                    pass
        finally:
            curious.kill()


# --- is it sound? --------------------------------------------------------------------------


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    uris = {f"/c/en/{at:05}": ("finished", "to_fetch")[at % 2] for at in range(2000)}
    return make(tmp_path / "pools.db", uris, samples=minutes(50))


def test_sound_files_are_told_so(sound: Path, tmp_path: Path) -> None:
    snapshot(sound)
    (copy,) = copies(sound)
    for path in (sound, sound.parent / "snapshots" / copy.name):
        verdict = inspect(path)
        assert (verdict.trouble, verdict.format, verdict.uris) == ("", 3, 2000)
        assert verdict.size == path.stat().st_size and verdict.time == path.stat().st_mtime
    old = inspect(make_old(tmp_path / "old" / "pools.db", uris={"/c/en/a": "to_fetch"}))
    assert old.trouble == "was written by an early Sheaf (format 1, this one knows 3)"


def test_a_letter_of_a_uri_that_flipped_is_found(sound: Path) -> None:
    content = sound.read_bytes()
    assert content.count(b"/c/en/01234") == 2  # in the table and in its index
    sound.write_bytes(content.replace(b"/c/en/01234", b"/c/em/01234", 1))
    assert inspect(sound).trouble


def test_a_tally_that_is_wrong_is_found(sound: Path) -> None:
    write(sound, ("UPDATE tally SET counts = '{\"finished\": 3}'", ()))
    assert "tally is wrong about finished" in inspect(sound).trouble


@pytest.mark.parametrize("counts", ["[]", "{", '{"finished": "many"}', "7"])
def test_a_tally_that_is_none_is_damage(sound: Path, counts: str) -> None:
    write(sound, ("UPDATE tally SET counts = ?", (counts,)))
    assert inspect(sound).trouble
    with pytest.raises(StateDamaged):
        look(sound)


@pytest.mark.parametrize("size", [0, 1, 100, 4096, 20_000])
def test_a_file_that_was_cut_is_damaged(sound: Path, size: int) -> None:
    sound.write_bytes(sound.read_bytes()[:size])
    assert inspect(sound).trouble


def test_whatever_byte_flips_there_is_a_verdict_and_no_crash(sound: Path) -> None:
    content = bytearray(sound.read_bytes())
    found = 0
    places = range(16, len(content), len(content) // 80)
    for place in places:
        content[place] ^= 0x55
        sound.write_bytes(content)
        found += bool(inspect(sound).trouble)
        try:
            look(sound)
        except StateDamaged as error:
            assert str(sound) in str(error)
        content[place] ^= 0x55
    assert found > len(places) / 2


# --- texts from outside --------------------------------------------------------------------

HOSTILE = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]), st.sampled_from("\x1b\r\n\t\0\u202e犬é\u0301")
    )
)


@settings(max_examples=60)
@given(st.lists(HOSTILE, min_size=6, max_size=6), st.integers(0, 10**15))
def test_no_text_breaks_a_line_or_a_report(texts: list[str], number: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        name, reason, host, clock_work, provider, world = texts
        counts = {f"media image {provider}": number, "done_fetch": number}
        uris = {f"/c/{name}": "to_fetch"}
        failures = [(f"/f/{name}", reason), (f"/g/{name}", None)]
        samples = minutes(20)
        file = make(Path(folder) / "pools.db", uris, failures, counts, samples)
        write(
            file,
            ("INSERT INTO host VALUES (?, ?, ?)", (host, number, number)),
            ("INSERT INTO chore VALUES (?, ?, ?, ?, ?)", (clock_work, 1.0, name, 2.0, reason)),
            ("INSERT INTO meta VALUES ('world', ?), ('limit', ?)", (world, world)),
        )
        running_ = Running(1, 1e9)
        now = samples[-1].time + 9
        view = View(file, look(file), None, running_, False, copies(file), now, CONCEPTNET)
        for line in (*as_text(view).split("\n"), *(as_text(view, str.upper).split("\n"))):
            assert width(line) <= 80 and line.isprintable(), line
        assert json.loads(as_json(view))["hosts"] == {host: {"requests": number, "bytes": number}}
        for row in failed(file):
            line = failed_line(*row)
            assert line.count("\t") == 2 and line.replace("\t", "").isprintable()
        assert verdict_line(inspect(file), 0.0).isprintable()


def test_a_long_name_gives_way_to_its_numbers(tmp_path: Path) -> None:
    file = make(tmp_path / "pools.db")
    write(file, ("INSERT INTO host VALUES (?, 1234, 5000000)", ("host." * 40,)))
    text = as_text(View(file, look(file), None, None, False, (), 0.0))
    (line,) = (line for line in text.splitlines() if "host." in line)
    assert line.endswith("...     1,234  5.0 MB") and len(line) == 80

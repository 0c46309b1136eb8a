"""history.py, as a user runs it."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.test_rows import killed_amid
from tests.support.command import ROOT, clean_environment, run, says, start
from tests.support.state_file import make, make_old, minutes, write
from tools.journal.snapshots import snapshot
from tools.reports.screen import ENTER, LEAVE

BOLD = "\x1b[1m"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    uris = {f"/c/en/{at}": ("finished", "to_fetch")[at > 90] for at in range(100)}
    failures = [(f"/c/en/f{at}", f"HTTP 404 for http://h/{at}") for at in range(4)]
    failures.append(("/c/en/bad\tone", "it said \x1b[2J\nnonsense"))
    samples = minutes(70, begun=time.time() - 70 * 60)
    more = {"media image commons": 7, "media visual giphy": 2}
    path = make(tmp_path / "state" / "pools.db", uris, failures, more, samples)
    return write(
        path,
        ("INSERT INTO host VALUES ('api.example.org', 1234, 5000000)", ()),
        ("INSERT INTO chore VALUES ('snapshot', ?, '12 MB', NULL, NULL)", (time.time() - 600,)),
        (
            "INSERT INTO chore VALUES ('transport', ?, 'ok', ?, 'no route')",
            (time.time() - 9000, time.time() - 60),
        ),
        ("INSERT INTO meta VALUES ('world', 'a small world')", ()),
    )


def test_a_report_has_everything_in_eighty_columns(file: Path) -> None:
    snapshot(file)
    done = run("history.py", file.parent, cwd=file.parent.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout
    for part in (
        *("state: a small world", "96 of 105 concepts done (91%)", "not running; last active"),
        *("to_fetch", "last minute", "last hour", "this run", "concepts fetched", "10.0/min"),
        *("api.example.org", "1,234", "5.0 MB", "images", "gifs", "commons", "giphy"),
        *("4  HTTP 404", "/c/en/f0, /c/en/f1, /c/en/f2", "transport  FAILED", "no route"),
        *("10 min ago: 12 MB", "1 snapshot, the newest", "time left: about", "once it runs again"),
    ):
        text = done.stdout.replace("state/pools.db", "state").replace(f"{file}", "state")
        assert part in text, (part, done.stdout)


def test_programs_get_everything(file: Path) -> None:
    snapshot(file)
    told = json.loads(run("history.py", "--json", "--state", file.parent).stdout)
    assert told["pools"]["finished"] == 91 and told["done"]["fetch"] == 0
    assert told["graph"] is None and told["running"] is None and told["format"] == 3
    assert told["rates_per_s"]["concepts fetched"]["last hour"] == pytest.approx(1 / 6)
    assert told["left_s"]["low"] <= told["left_s"]["likely"] <= told["left_s"]["high"]
    assert told["hosts"] == {"api.example.org": {"requests": 1234, "bytes": 5000000}}
    assert {"kind": "visual", "provider": "giphy", "files": 2} in told["media"]
    assert told["failures_by_gist"][0]["gist"] == "HTTP 404"
    assert sum(told["failures"].values()) == 5
    assert told["chores"]["transport"]["failure"] == "no route"
    assert len(told["snapshots"]) == 1 and told["harvest"] == {"world": "a small world"}


def test_a_snapshot_and_an_old_one_are_read(file: Path, tmp_path: Path) -> None:
    done = run("history.py", snapshot(file))
    assert done.returncode == 0 and "as it was" in done.stdout and "not running" not in done.stdout
    old = make_old(tmp_path / "old" / "000001-x.db", uris={"/c/en/a": "to_fetch"})
    done = run("history.py", old)
    assert (done.returncode, done.stderr) == (0, "") and "0 of 1 concepts done (0%)" in done.stdout
    assert "Rates" not in done.stdout and "Hosts" not in done.stdout
    assert "not known" in done.stdout
    assert json.loads(run("history.py", old, "--json").stdout)["format"] == 1


def test_programs_get_numbers_lists_and_nothing_as_such(file: Path) -> None:
    facts = {
        **{"depth": "null", "min_weight": "1.0", "limit": "", "senses": "true"},
        **{"relations": "IsA PartOf", "languages": "en", "paused": "1 1e9"},
        "media": "5 images, 1 sounds and 0 gifs for both",
    }
    write(file, *(("INSERT INTO meta VALUES (?, ?)", pair) for pair in facts.items()))
    told = json.loads(run("history.py", "--json", file).stdout)
    assert told["harvest"] == {
        **{"world": "a small world", "depth": None, "min_weight": 1.0, "limit": None},
        **{"senses": True, "relations": ["IsA", "PartOf"], "languages": ["en"]},
        "media": {"images": 5, "sounds": 1, "gifs": 0, "for": "both"},
    }
    assert told["paused_since"] is None, "a process that is gone makes no pause"
    assert "of 105 concepts and relations done" in run("history.py", file).stdout


def test_a_text_that_is_no_number_stays_a_text(file: Path) -> None:
    write(file, ("INSERT INTO meta VALUES ('depth', 'deep'), ('media', 'many')", ()))
    told = json.loads(run("history.py", "--json", file).stdout)
    assert told["harvest"]["depth"] == "deep" and told["harvest"]["media"] == "many"


@pytest.mark.parametrize("pool", ["to_fetch", "finished"])
def test_a_file_that_is_read_is_no_concept(tmp_path: Path, pool: str) -> None:
    uris = {"file:dump.csv": pool, **{f"/c/en/{at}": "finished" for at in range(5)}}
    path = make(tmp_path / "pools.db", uris, more={"dump_lines": 12})
    done = run("history.py", path).stdout
    assert "5 of 5 concepts done (100%)" in done and "12 lines" in done
    told = json.loads(run("history.py", path, "--json").stdout)
    assert told["source_file"] == {"pool": pool, "lines": 12}
    assert told["pools"]["finished"] == 5 and told["pools"]["to_fetch"] == (pool == "to_fetch")


def test_failed_ones_for_programs(file: Path) -> None:
    told = json.loads(run("history.py", "--json", "--failed", "404", file).stdout)
    reason = "HTTP 404 for http://h/0"
    assert told[0] == {"uri": "/c/en/f0", "reason": reason, "attempts": 3} and len(told) == 4
    assert json.loads(run("history.py", file, "--failed", "no such", "--json").stdout) == []


def test_failed_ones_are_listed_a_line_each(file: Path) -> None:
    lines = run("history.py", "--failed", "--state", file.parent).stdout.split("\n")
    assert lines[0] == "/c/en/f0\tHTTP 404 for http://h/0\t3"
    assert lines[4] == "/c/en/bad\\tone\tit said \\x1b[2J\\nnonsense\t3"
    assert lines[5:] == [""]
    only = run("history.py", file, "--failed", "NONSENSE").stdout
    assert only.count("\n") == 1 and only.startswith("/c/en/bad")
    assert run("history.py", file, "--failed", "no such reason").stdout == ""


def test_who_has_seen_enough_may_go(tmp_path: Path) -> None:
    failures = [(f"/c/en/f{at}", "x" * 100) for at in range(5000)]
    path = make(tmp_path / "pools.db", failures=failures)
    listing = start("history.py", path, "--failed")
    assert listing.stdout is not None and listing.stdout.readline().startswith("/c/en/f0\t")
    listing.stdout.close()
    assert listing.wait(30) == 0
    assert listing.stderr is not None and listing.stderr.read() == ""
    listing.stderr.close()


# --- is it sound? --------------------------------------------------------------------------


def test_sound_files_are_good(file: Path) -> None:
    for _ in range(2):
        snapshot(file)
    done = run("history.py", "--check", "--state", file.parent)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == 3 and lines[0].startswith("pools.db") and lines[1].startswith("000001-")
    assert all("sound, format 3, 105 URIs" in line for line in lines)


@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign", "empty", "newer"])
def test_a_damaged_snapshot_is_told_with_its_code(file: Path, damage: str) -> None:
    spoilt = snapshot(file)
    snapshot(file)
    content = spoilt.read_bytes()
    spoils = {
        "cut": content[:9000],
        "flipped": content.replace(b"/c/en/57", b"/c/en/97", 1),
        "foreign": b"hello" * 999,
        "empty": b"",
    }
    spoilt.write_bytes(spoils.get(damage, content))
    if damage == "newer":
        write(spoilt, ("PRAGMA user_version = 99", ()))
    done = run("history.py", "--check", "--state", file.parent)
    lines = done.stdout.splitlines()
    assert done.returncode == 6 and len(lines) == 3, done.stdout
    assert ["DAMAGED" in line for line in lines] == [False, True, False]
    assert run("history.py", "--check", spoilt).returncode == 6


def test_a_state_that_is_gone_is_damage_where_there_are_snapshots(file: Path) -> None:
    snapshot(file)
    file.unlink()
    done = run("history.py", "--check", file.parent)
    assert done.returncode == 6 and "DAMAGED" in done.stdout and "sound" in done.stdout


def test_nothing_to_check_is_a_wrong_place(tmp_path: Path) -> None:
    assert "no harvest" in says(run("history.py", "--check", "--state", tmp_path / "x"), 2)


# --- again and again -------------------------------------------------------------------------


class Terminal:
    """history.py in a terminal of its own."""

    def __init__(self, *arguments: object, **environment: str) -> None:
        self.master, slave = pty.openpty()
        self.text = ""
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "history.py"), *map(str, arguments)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=clean_environment(TERM="xterm", **environment),
            start_new_session=True,
        )
        os.close(slave)

    def read_until(self, text: str, times: int = 1) -> str:
        deadline = time.monotonic() + 60
        while self.text.count(text) < times:
            ready, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
            assert ready, self.text
            self.text += self._read()
        return self.text

    def end(self, number: int) -> tuple[int, str]:
        self.process.send_signal(number)
        while more := self._read():
            self.text += more
        return self.process.wait(30), self.text

    def _read(self) -> str:
        try:
            return os.read(self.master, 65536).decode(errors="replace")
        except OSError:  # nobody holds the other end any more
            return ""

    def close(self) -> None:
        self.process.kill()
        self.process.wait(30)
        os.close(self.master)


@pytest.fixture
def terminal(file: Path) -> Iterator[Terminal]:
    terminal = Terminal(file, "--watch", "0.2")
    yield terminal
    terminal.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_watching_draws_in_place_and_leaves_the_terminal_as_it_was(
    terminal: Terminal, file: Path, number: int
) -> None:
    terminal.read_until("concepts done", times=2)
    write(file, ("UPDATE tally SET counts = replace(counts, '91', '12345')", ()))
    terminal.read_until("12,345")
    code, text = terminal.end(number)
    assert code == 0 and "Traceback" not in text
    assert text.startswith(ENTER) and text.count(ENTER) == text.count(LEAVE) == 1
    drawn, _, after = text.partition(LEAVE)
    assert "\x1b[2J" not in drawn and "\n\n" not in drawn  # overwritten, never emptied
    assert "12,345" in after and f"{BOLD}Pools" in after


def test_a_state_that_goes_away_while_it_is_watched(terminal: Terminal, file: Path) -> None:
    terminal.read_until("concepts done")
    hidden = file.rename(file.with_name("hidden.db"))
    terminal.read_until("cannot be read")
    hidden.rename(file)
    terminal.text = ""
    terminal.read_until("concepts done")
    assert terminal.end(signal.SIGINT)[0] == 0


def test_no_colour_for_those_who_want_none(file: Path) -> None:
    terminal = Terminal(file, NO_COLOR="1")
    try:
        text = terminal.read_until("Assist")
        assert "\x1b" not in text
    finally:
        terminal.close()


def test_without_a_terminal_report_follows_report(file: Path) -> None:
    watching = start("history.py", file, "--watch", "0.2")
    assert watching.stdout is not None
    seen = 0
    for line in watching.stdout:
        seen += "concepts done" in line
        assert "\x1b" not in line
        if seen == 3:
            break
    watching.send_signal(signal.SIGINT)
    _, errors = watching.communicate(timeout=60)
    assert (watching.returncode, errors) == (0, "")


def test_programs_may_watch_too(file: Path) -> None:
    watching = start("history.py", file, "--watch", "0.2", "--json")
    assert watching.stdout is not None
    for _ in range(2):
        assert json.loads(watching.stdout.readline())["pools"]["finished"] == 91
    watching.send_signal(signal.SIGTERM)
    watching.communicate(timeout=60)
    assert watching.returncode == 0


# --- how it starts -------------------------------------------------------------------------


def test_it_starts_with_little(file: Path) -> None:
    """It is run often, and beside a harvest that needs the processor."""
    flags = [sys.executable, "-X", "importtime", str(ROOT / "history.py"), str(file)]
    done = subprocess.run(flags, capture_output=True, text=True, env=clean_environment())
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "tools.reports.text" in imported
    heavy = {"matplotlib", "numpy", "requests", "urllib3", "apprise", "neo4j", "PIL", "tqdm"}
    assert not heavy & imported


@pytest.mark.parametrize("flags", [["--watch", "soon"], ["--plot"], ["--plot", "x.pdf"]])
def test_wrong_flags_are_told(file: Path, flags: list[str]) -> None:
    done = run("history.py", file, *flags)
    assert done.returncode == 2 and "Traceback" not in done.stderr


def test_a_log_that_is_damaged_amid_its_moves_is_told(tmp_path: Path) -> None:
    """As a start would say it."""
    file = tmp_path / "state" / "pools.db"
    file.parent.mkdir()
    killed_amid(file, 5)
    log = file.with_name("pools.db-wal")
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    done = run("history.py", "--check", "--state", file.parent)
    assert done.returncode == 6 and "-wal is damaged" in done.stdout
    assert log.read_bytes() == content


def test_a_snapshot_that_is_cut_by_a_byte_is_told(tmp_path: Path) -> None:
    file = tmp_path / "pools.db"
    killed_amid(file, 5)
    copy = snapshot(file)
    os.truncate(copy, copy.stat().st_size - 1)
    done = run("history.py", "--check", "--state", tmp_path)
    assert done.returncode == 6 and "cut short" in done.stdout

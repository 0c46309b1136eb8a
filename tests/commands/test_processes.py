"""A harvest whose media are got in processes, stopped as people stop it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from json import loads
from pathlib import Path
from typing import Any

import pytest

from tests.faults.injection import Process, main_py, wait_until
from tests.soak.compare import state_flaws
from tests.soak.workers import workers_of
from tests.support.command import ROOT, clean_environment, run
from tests.support.needs import program
from tools.base.program import module_command, module_environment


@pytest.mark.timeout(120)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_stops_it_stops_everybody_and_nothing_is_lost(
    tmp_path: Path, number: signal.Signals
) -> None:
    """As a terminal does it, or a service: everybody gets the signal."""
    config = tmp_path / "sheaf.toml"
    config.write_text("processes = 2\n")
    state, media = tmp_path / "state", tmp_path / "m"
    places = ("--config", config, "--state", state, "--media", media)
    with Process(tmp_path / "said", main_py("--sample", "-q", *places)) as process:
        wait_until(lambda: len(list(media.rglob("*.jpg"))) > 20, "there are files")
        workers = workers_of(process.pid)
        for pid in (*workers, process.pid):
            os.kill(pid, number)
        assert process.end() == 0, process.log
        assert not process.log
    assert len(workers) == 2 and not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert list(state_flaws(state / "pools.db")) == []


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "words",
    [
        ("--sample", "--no-media", "--depth", 1),
        ("pages", "--sample", "--limit", 5),
        ("layers", "--sample"),
        ("structure", "--sample"),
    ],
    ids=["no media", "pages", "layers", "structure"],
)
def test_who_gets_no_media_starts_none_of_them(tmp_path: Path, words: tuple[object, ...]) -> None:
    (tmp_path / "sheaf.toml").write_text("processes = 4\n")
    watched = [program("strace"), "-f", "--seccomp-bpf", "-qq", "-o", "trace", "-e", "trace=execve"]
    done = subprocess.run(
        [*watched, *main_py(*words)],
        cwd=tmp_path,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    trace = (tmp_path / "trace").read_text()
    assert "main.py" in trace and "conceptnet_processes" not in trace


def test_who_is_left_alone_while_it_starts_ends_before_it_has_loaded_anything() -> None:
    """Stopped for a while it would otherwise be forgotten."""
    nobody = "1"
    words = [sys.executable, "-X", "importtime", *module_command(".jobs.conceptnet_processes")[1:]]
    done = subprocess.run(
        [*words, "99", nobody],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        env=module_environment(),
    )
    assert done.returncode == 1 and "tools.base.parent" in done.stderr
    assert "tools.cluster" not in done.stderr and "tools.media" not in done.stderr


@pytest.mark.timeout(120)
def test_whoever_looks_sees_each_process_and_why_one_died(tmp_path: Path) -> None:
    config, state = tmp_path / "sheaf.toml", tmp_path / "state"
    config.write_text("processes = 2\n")
    places = ("--config", config, "--state", state, "--media", tmp_path / "m")

    def seen() -> list[dict[str, Any]]:
        if not (state / "pools.db").exists():
            return []
        told: dict[str, Any] = loads(run("history.py", "--json", "--state", state).stdout)
        return list(told["processes"])

    with Process(tmp_path / "said", main_py("--sample", *places)) as process:
        wait_until(lambda: [each["per_minute"] > 0 for each in seen()] == [True] * 2, "both work")
        assert all(each["memory"] > 2e7 and each["at_work"] <= 3 for each in seen())
        assert not any(each["deaths"] for each in seen())
        os.kill(workers_of(process.pid)[0], signal.SIGKILL)
        wait_until(lambda: sum(each["deaths"] for each in seen()) == 1, "a death is told")
        (dead,) = [each for each in seen() if each["deaths"]]
        text = run("history.py", "--state", state).stdout
        process.signal(signal.SIGTERM)
        assert process.end() == 0, process.log
    assert "signal 9" in dead["why"]
    assert f"{dead['name']} died" in text and "Processes    at work  per minute" in text
    assert max(map(len, text.splitlines())) <= 80
    assert f"{dead['name']} is gone: ended by signal 9" in process.log
    assert seen() == [] and "Processes" not in run("history.py", "--state", state).stdout


@pytest.mark.timeout(120)
def test_a_pause_keeps_the_processes_and_resuming_goes_on(tmp_path: Path) -> None:
    config = tmp_path / "sheaf.toml"
    config.write_text("processes = 2\n")
    state, media = tmp_path / "state", tmp_path / "m"
    places = ("--config", config, "--state", state, "--media", media)

    def files() -> int:
        return len(list(media.rglob("*.jpg")))

    with Process(tmp_path / "said", main_py("--sample", "-q", *places)) as process:
        wait_until(lambda: files() > 20, "there are files")
        for verb in ("pause", "resume"):
            with Process(tmp_path / verb, main_py(verb, "--state", state)) as asked:
                assert asked.end() == 0, asked.log
            if verb == "pause":
                workers = workers_of(process.pid)
                before = files()
        assert len(workers) == 2
        wait_until(lambda: files() > before + 20, "it goes on")
        assert sorted(workers_of(process.pid)) == sorted(workers)

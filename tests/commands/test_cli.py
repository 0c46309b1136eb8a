"""The commands as a user types them: exit codes, sentences, signals, questions."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.faults.injection import wait_until
from tests.support.command import (
    ROOT,
    Here,
    finished,
    harvest_flags,
    history,
    read_until,
    records,
    relations_of,
    run,
    start,
    walk,
)
from tests.support.worlds.conceptnet import World, hub, line

SEED = "/c/en/hub"


@pytest.fixture
def world() -> Iterator[World]:
    with World(hub(60)) as world:
        yield world


@pytest.fixture
def slow_world() -> Iterator[World]:
    """A thousand concepts at 50 ms each: there is time to do things to its harvest."""
    with World(hub(1000), latency=0.05) as world:
        yield world


def says(done: subprocess.CompletedProcess[str]) -> str:
    """The one sentence on stderr; there must be exactly one line and no traceback."""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


# --- a place that cannot be written --------------------------------------------------------


def test_a_leftover_that_cannot_be_removed_is_told_in_a_sentence(here: Here) -> None:
    Path("state/pools.db.part").mkdir(parents=True)
    told = here("--sample", "--no-media")
    assert told.startswith("5 sheaf: state/pools.db cannot be used (") and "start again" in told


def test_a_snapshot_is_not_restored_over_a_leftover_that_cannot_be_removed(
    world: World, here: Here
) -> None:
    done = run("main.py", *harvest_flags(Path().absolute(), world.url, SEED, "-q"))
    assert done.returncode == 0, done.stderr
    (snapshot,) = Path("state/snapshots").glob("*.db")
    Path("state/pools.db.part").mkdir()
    graph = f"sqlite:{Path('graph.db').absolute()}"
    told = here("--sample", "--no-media", "--graph", graph, "--resume", str(snapshot))
    assert told.startswith("5 sheaf: state/pools.db cannot be used (") and "start again" in told


# --- wrong input ---------------------------------------------------------------------------


def test_a_bad_seed_is_refused(tmp_path: Path) -> None:
    done = run("main.py", *harvest_flags(tmp_path, "http://127.0.0.1:9", "/r/dog"))
    assert done.returncode == 2
    assert "write it like /c/en/dog" in says(done)
    assert not (tmp_path / "state").exists()


def test_an_unreachable_source_is_named(tmp_path: Path) -> None:
    begun = time.monotonic()
    done = run("main.py", *harvest_flags(tmp_path, "http://127.0.0.1:9", SEED))
    assert done.returncode == 3
    assert "http://127.0.0.1:9 cannot be reached" in says(done)
    assert time.monotonic() - begun < 30


def test_a_source_that_is_no_address_is_refused(tmp_path: Path) -> None:
    done = run("main.py", *harvest_flags(tmp_path, "conceptnet", SEED))
    assert done.returncode == 2
    assert "http://host:port" in says(done)


def test_an_unknown_setting_is_refused_with_the_right_name(tmp_path: Path) -> None:
    config = tmp_path / "sheaf.toml"
    config.write_text("[filter]\nlangauges = ['en']\n")
    done = run("main.py", *harvest_flags(tmp_path, "http://127.0.0.1:9", SEED, "--config", config))
    assert done.returncode == 2
    assert "did you mean filter.languages?" in says(done)


def test_an_unknown_flag_or_command_is_refused() -> None:
    assert run("main.py", "--sede", "x").returncode == 2
    assert run("main.py", "dance").returncode == 2


def test_an_unwritable_state_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    done = run("main.py", *harvest_flags(tmp_path, "http://127.0.0.1:9", SEED))
    assert done.returncode == 5
    assert "state" in says(done)


@pytest.mark.parametrize("source", ["file:///etc", "http://a b/", "http://:80"])
def test_a_source_that_is_no_address_is_told(tmp_path: Path, source: str) -> None:
    done = run("main.py", "--no-media", "--source", source, "--state", tmp_path / "state")
    assert done.returncode == 2
    assert says(done) == f"sheaf: the source {source!r} is not an address: " + (
        "write it like http://host:port"
    )


@pytest.mark.parametrize("flags", [[], ["--all"]])
def test_a_source_file_that_is_not_there_is_told(tmp_path: Path, flags: list[str]) -> None:
    done = run("main.py", "--source", "conceptnet.io", *flags, "--state", tmp_path / "state")
    assert done.returncode == 2
    assert "the file conceptnet.io cannot be read" in says(done)
    assert "python main.py download" in says(done) and "http://host:port" in says(done)


def test_a_folder_nobody_may_write_to_is_named() -> None:
    done = run("main.py", "--state", "/proc/sheaf", "--source", "http://127.0.0.1:9")
    assert done.returncode == 5
    assert "/proc/sheaf cannot be used" in says(done)


def test_an_unwritable_graph_is_named(tmp_path: Path, world: World) -> None:
    (tmp_path / "graph.db").mkdir()
    done = run("main.py", *harvest_flags(tmp_path, world.url, SEED))
    assert done.returncode == 5
    assert "graph.db cannot be written" in says(done)


@pytest.mark.parametrize("damage", ["truncated", "garbled", "empty", "foreign", "gone", "newer"])
def test_a_damaged_state_is_refused_and_left_as_it_is(
    tmp_path: Path, world: World, damage: str
) -> None:
    flags = harvest_flags(tmp_path, world.url, SEED)
    assert run("main.py", *flags).returncode == 0
    file = tmp_path / "state" / "pools.db"
    harm(file, damage)
    before = file.read_bytes() if file.exists() else None
    done = run("main.py", *flags)
    assert done.returncode == 6, done.stderr
    (snapshot,) = (tmp_path / "state" / "snapshots").iterdir()
    assert f"--resume {snapshot}" in says(done)
    assert (file.read_bytes() if file.exists() else None) == before
    assert run("history.py", "--state", file.parent).returncode in (0, 2, 6)

    resumed = run("main.py", *flags, "--resume", snapshot)
    assert resumed.returncode == 0, resumed.stderr
    assert history(tmp_path)["pools"]["finished"] == len(walk(hub(60), SEED)[0])


def harm(file: Path, damage: str) -> None:
    content = bytearray(file.read_bytes())
    if damage == "truncated":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "garbled":
        content[4096:12288] = os.urandom(8192)
        file.write_bytes(content)
    elif damage == "empty":
        file.write_bytes(b"")
    elif damage == "foreign":
        file.write_bytes(b"holiday pictures" * 1000)
    elif damage == "gone":
        file.unlink()
    else:
        db = sqlite3.connect(file)
        db.execute("PRAGMA user_version = 99")
        db.close()


# --- one at a time, and asking it --------------------------------------------------------


def test_a_second_instance_is_refused_and_a_third_needs_no_cleaning_up(
    tmp_path: Path, slow_world: World
) -> None:
    flags = harvest_flags(tmp_path, slow_world.url, SEED)
    first = start("main.py", *flags)
    slow_world.wait_for(20)
    begun = time.monotonic()
    second = run("main.py", *flags)
    assert second.returncode == 4
    assert f"process {first.pid}" in says(second)
    assert time.monotonic() - begun < 30
    cleared = run("clear.py", "--yes", *flags[5:])
    assert cleared.returncode == 4
    first.kill()
    first.communicate(timeout=60)
    slow_world.latency = 0.0
    third = run("main.py", *flags)
    assert third.returncode == 0, third.stderr


def test_sigterm_ends_it_cleanly_and_it_resumes(tmp_path: Path, slow_world: World) -> None:
    flags = harvest_flags(tmp_path, slow_world.url, SEED)
    harvest = start("main.py", *flags)
    slow_world.wait_for(30)
    harvest.send_signal(signal.SIGTERM)
    output, errors = harvest.communicate(timeout=60)
    assert harvest.returncode == 0, errors
    assert "stopped; the same command goes on from here" in output
    pools = history(tmp_path)["pools"]
    assert pools["on_fetch"] == 0 and pools["to_fetch"] > 0 and pools["failed"] == 0
    assert len(list((tmp_path / "state" / "snapshots").iterdir())) == 1
    slow_world.latency = 0.0
    assert run("main.py", *flags).returncode == 0
    assert {row[0] for row in records(tmp_path / "graph.db")["relation"]} == walk(hub(1000), SEED)[
        1
    ]


def test_tasks_that_hang_are_taken_back_after_the_grace_time(tmp_path: Path) -> None:
    config = tmp_path / "sheaf.toml"
    config.write_text("stop_grace_s = 0.5\n")
    with World(hub(60), latency=30.0) as world:
        world.latency = 0.0
        harvest = start("main.py", *harvest_flags(tmp_path, world.url, SEED, "--config", config))
        world.wait_for(2)
        world.latency = 30.0
        world.wait_for(10)
        harvest.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        _, errors = harvest.communicate(timeout=60)
    assert harvest.returncode == 0, errors
    assert time.monotonic() - begun < 20  # an answer takes 30 s
    assert history(tmp_path)["pools"]["on_fetch"] == 0


def test_a_second_signal_ends_it_at_once_with_its_state_intact(tmp_path: Path) -> None:
    with World(hub(60)) as world:
        flags = harvest_flags(tmp_path, world.url, SEED)
        harvest = start("main.py", *flags)
        world.wait_for(2)
        world.latency = 30.0
        world.wait_for(10)
        harvest.send_signal(signal.SIGINT)
        read_until("stopping", harvest)
        begun = time.monotonic()
        harvest.send_signal(signal.SIGINT)
        harvest.communicate(timeout=60)
        assert harvest.returncode == 130
        assert time.monotonic() - begun < 20  # an answer takes 30 s
        world.latency = 0.0
        world.refuse()
        world.accept()
        assert run("main.py", *flags).returncode == 0
    assert history(tmp_path)["pools"]["finished"] == len(walk(hub(60), SEED)[0])


def test_pause_resume_and_stop_by_command(tmp_path: Path, slow_world: World) -> None:
    flags = harvest_flags(tmp_path, slow_world.url, SEED)
    state = ("--state", tmp_path / "state")
    harvest = start("main.py", *flags)
    slow_world.wait_for(20)
    assert run("main.py", "pause", *state).returncode == 0
    read_until("pause on request", harvest)
    asked = len(slow_world.paths)
    with pytest.raises(TimeoutError):
        slow_world.wait_for(asked + 9, timeout=0.5)  # the eight under way may still arrive
    told = history(tmp_path)
    assert (
        told["running"]["since"] <= told["paused_since"] + 1 and told["paused_since"] < time.time()
    )
    said = run("history.py", *state).stdout
    assert "paused since 20" in said and "`python main.py resume` goes on" in said
    assert run("main.py", "resume", *state).returncode == 0
    slow_world.wait_for(asked + 20)
    slow_world.latency = 1.0  # time to look at it
    assert history(tmp_path)["paused_since"] is None
    assert "paused" not in run("history.py", *state).stdout
    assert run("main.py", "stop", *state).returncode == 0
    harvest.communicate(timeout=60)
    assert harvest.returncode == 0
    again = run("main.py", "stop", *state)
    assert again.returncode == 2 and "no harvest runs" in says(again)


def test_a_pause_asked_for_during_the_start_is_kept(tmp_path: Path, slow_world: World) -> None:
    slow_world.latency = 3.0  # so long the source is asked whether it is there
    harvest = start("main.py", *harvest_flags(tmp_path, slow_world.url, SEED))
    slow_world.wait_for(1)
    assert run("main.py", "pause", "--state", tmp_path / "state").returncode == 0
    read_until("pause on request", harvest)
    harvest.send_signal(signal.SIGTERM)
    harvest.communicate(timeout=60)
    assert harvest.returncode == 0


def test_a_stop_asked_for_during_the_start_is_an_end_like_any_other(
    tmp_path: Path, slow_world: World
) -> None:
    """Also for whoever reads its log: it was not killed."""
    run("main.py", *harvest_flags(tmp_path, slow_world.url, SEED), "--limit", "1")
    asked = len(slow_world.paths)
    slow_world.latency = 3.0
    harvest = start("main.py", *harvest_flags(tmp_path, slow_world.url, SEED))
    slow_world.wait_for(asked + 1)
    assert run("main.py", "stop", "--state", tmp_path / "state").returncode == 0
    _, errors = harvest.communicate(timeout=60)
    assert harvest.returncode == 0 and not errors
    assert "stopped before anything was handed out" in (tmp_path / "state" / "log").read_text()


def test_a_pause_ends_with_its_process(tmp_path: Path, slow_world: World) -> None:
    """Whatever it was when it was killed, a new harvest works, and is seen to."""
    flags = harvest_flags(tmp_path, slow_world.url, SEED)
    harvest = start("main.py", *flags)
    slow_world.wait_for(20)
    harvest.send_signal(signal.SIGUSR1)
    read_until("pause on request", harvest)
    wait_until(lambda: history(tmp_path)["paused_since"] is not None, "the pause")
    harvest.kill()
    harvest.communicate(timeout=60)
    assert history(tmp_path)["paused_since"] is None
    said = run("history.py", "--state", tmp_path / "state").stdout
    assert "not running" in said and "paused" not in said
    asked = len(slow_world.paths)
    again = start("main.py", *flags)
    slow_world.wait_for(asked + 20)
    with closing(sqlite3.connect(tmp_path / "state" / "pools.db")) as db:
        facts = dict(db.execute("SELECT key, value FROM meta"))
    assert facts["paused"] == "", "its number may be that of the one before"
    again.kill()
    again.communicate(timeout=60)


def test_sigquit_shows_every_thread(tmp_path: Path, slow_world: World) -> None:
    harvest = start("main.py", *harvest_flags(tmp_path, slow_world.url, SEED))
    slow_world.wait_for(10)
    harvest.send_signal(signal.SIGQUIT)
    slow_world.wait_for(len(slow_world.paths) + 10)  # it goes on
    harvest.kill()
    _, errors = harvest.communicate(timeout=60)
    assert "most recent call first" in errors and "monitor.py" in errors


# --- reading and clearing ----------------------------------------------------------------


def test_history_reads_a_running_harvest_from_any_folder(tmp_path: Path, slow_world: World) -> None:
    harvest = start("main.py", *harvest_flags(tmp_path, slow_world.url, SEED))
    slow_world.wait_for(50)
    done = run("history.py", "--json", "--state", tmp_path / "state", cwd=tmp_path)
    harvest.kill()
    harvest.communicate(timeout=60)
    pools = json.loads(done.stdout)["pools"]
    assert list(pools) == ["to_fetch", "on_fetch", "to_extend", "on_extend", "finished", "failed"]
    assert 0 < pools["on_fetch"] <= 2 * 8, "at work, and the next one for each worker"
    assert pools["finished"] > 10 and pools["to_fetch"] > 0 and pools["failed"] == 0


def test_history_reads_a_snapshot_and_prints_a_table(tmp_path: Path, world: World) -> None:
    run("main.py", *harvest_flags(tmp_path, world.url, SEED))
    (snapshot,) = (tmp_path / "state" / "snapshots").iterdir()
    done = run("history.py", snapshot, "--graph", f"sqlite:{tmp_path / 'graph.db'}")
    assert done.returncode == 0, done.stderr
    assert "100%" in done.stdout and "finished" in done.stdout and "relations" in done.stdout


def test_history_without_a_harvest_says_how_to_start_one(tmp_path: Path) -> None:
    done = run("history.py", "--state", tmp_path / "nothing")
    assert done.returncode == 2
    assert "python main.py" in says(done)
    assert not (tmp_path / "nothing").exists()


def test_clear_asks_for_the_name_and_sets_the_pools_aside(tmp_path: Path, world: World) -> None:
    flags = harvest_flags(tmp_path, world.url, SEED)
    run("main.py", *flags)
    before = records(tmp_path / "graph.db")
    assert before["relation"]
    places = flags[5:]

    dry = run("clear.py", "--dry-run", *places)
    assert dry.returncode == 0 and f"{len(before['relation'])} relations" in dry.stdout
    assert run("clear.py", *places, answers="yes\n").returncode == 2
    assert run("clear.py", *places).returncode == 2  # nobody there to answer
    assert records(tmp_path / "graph.db") == before

    cleared = run("clear.py", *places, answers="graph.db\ny\n")
    assert cleared.returncode == 0, cleared.stderr
    assert records(tmp_path / "graph.db") == {"entity": [], "relation": [], "media": []}
    assert (tmp_path / "state" / "aside-1" / "pools.db").exists()
    assert run("main.py", *flags).returncode == 0
    assert records(tmp_path / "graph.db") == before


def test_clear_without_a_graph_does_nothing(tmp_path: Path) -> None:
    done = run("clear.py", "--yes", "--state", tmp_path / "state")
    assert done.returncode == 0 and "nothing to clear" in done.stdout
    assert not (tmp_path / "state").exists()


def test_fresh_sets_the_old_state_aside(tmp_path: Path, world: World) -> None:
    flags = harvest_flags(tmp_path, world.url, SEED)
    run("main.py", *flags)
    asked = len(world.paths)
    done = run("main.py", *flags, "--fresh")
    assert done.returncode == 0 and "aside-1" in done.stdout
    assert len(world.paths) == 2 * asked + 1, "once more, to see whether it answers"
    assert finished(tmp_path / "state" / "aside-1") == finished(tmp_path / "state")


def test_the_sample_does_not_mix_with_a_real_harvest(tmp_path: Path, world: World) -> None:
    flags = harvest_flags(tmp_path, world.url, SEED)
    run("main.py", *flags)
    done = run("main.py", "--sample", "--no-media", *flags[5:])
    assert done.returncode == 2
    assert "--fresh" in says(done)


def test_changed_settings_are_told_on_resume(tmp_path: Path, world: World) -> None:
    flags = harvest_flags(tmp_path, world.url, SEED)
    run("main.py", *flags)
    done = run("main.py", *flags, "--depth", 3)
    assert done.returncode == 0
    assert "depth changed from null to 3" in done.stderr


# --- the rest ----------------------------------------------------------------------------


def test_logs_are_json_on_request_and_one_line_each(tmp_path: Path) -> None:
    with World([line("/r/IsA", SEED, "/c/en/x")]) as world:
        flags = harvest_flags(tmp_path, world.url, f"{SEED},/c/en/unknown", "--log-json")
        done = run("main.py", *flags)
    events = [json.loads(each) for each in done.stderr.splitlines()]
    assert any("does not know this concept" in event["message"] for event in events)
    logged = (tmp_path / "state" / "log").read_text().splitlines()
    assert [json.loads(each)["level"] for each in logged]


def test_quiet_prints_nothing(tmp_path: Path, world: World) -> None:
    done = run("main.py", *harvest_flags(tmp_path, world.url, SEED, "-q"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_state_files_are_closed_to_others(tmp_path: Path, world: World) -> None:
    run("main.py", *harvest_flags(tmp_path, world.url, SEED))
    for path in [tmp_path / "state", *(tmp_path / "state").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_jobs_and_help_are_listed() -> None:
    assert "conceptnet" in run("main.py", "jobs").stdout
    assert "mirror" in run("main.py", "--help").stdout


def test_the_mirror_serves_a_file_and_ends_on_request(tmp_path: Path) -> None:
    file = tmp_path / "assertions.csv"
    file.write_text("".join(hub(20)))
    mirror = start("main.py", "mirror", "--source", file, "--port", 0)
    assert mirror.stdout is not None
    url = mirror.stdout.readline().split(" at ")[1].split()[0]
    done = run("main.py", *harvest_flags(tmp_path, url, SEED))
    assert done.returncode == 0, done.stderr
    mirror.send_signal(signal.SIGTERM)
    mirror.communicate(timeout=60)
    assert mirror.returncode == 0
    assert relations_of(tmp_path) == walk(hub(20), SEED)[1]


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core is served by one process")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_mirror_serves_from_every_core_and_its_copies_end_with_it(
    tmp_path: Path, number: signal.Signals
) -> None:
    file = tmp_path / "assertions.csv"
    file.write_text("".join(hub(20)))
    mirror = start("main.py", "mirror", "--source", file, "--port", 0)
    assert mirror.stdout is not None
    address = urlsplit(mirror.stdout.readline().split(" at ")[1].split()[0])
    own = Path(f"/proc/{mirror.pid}/task/{mirror.pid}/children")
    wait_until(lambda: len(own.read_text().split()) == (os.cpu_count() or 1) - 1)
    copies = [Path("/proc", each) for each in own.read_text().split()]
    answers = [ask(address.port or 0) for _ in range(20)]
    assert set(answers) == {answers[0]} and b'"edges":[{' in answers[0]
    mirror.send_signal(number)
    mirror.communicate(timeout=60)
    assert mirror.returncode == (0 if number == signal.SIGTERM else -number)
    wait_until(lambda: not any(map(is_alive, copies)))


def ask(port: int) -> bytes:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    with closing(connection):
        connection.request("GET", SEED)
        return connection.getresponse().read()


def is_alive(process: Path) -> bool:
    """One that ended and that nobody has asked for is still listed."""
    try:
        return ") Z " not in (process / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_mirror_whose_port_is_taken_says_which_and_what_to_do(here: Here) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = here("mirror", "--sample", "--port", str(port))
    assert said == (
        f"2 sheaf: the mirror cannot listen on 127.0.0.1 port {port} (Address already in use): "
        f"--port N takes another port, 0 any that is free; --host another address\n"
    )


def test_a_mirror_for_the_network_warns_and_one_for_this_computer_does_not() -> None:
    for host, warned in (("0.0.0.0", 1), ("localhost", 0)):
        mirror = start("main.py", "mirror", "--sample", "--port", 0, "--host", host)
        assert mirror.stdout is not None
        assert mirror.stdout.readline().startswith("serving ")
        mirror.send_signal(signal.SIGTERM)
        _, said = mirror.communicate(timeout=60)
        assert said.count("everybody who can reach 0.0.0.0 over the network can ask") == warned
        assert len(said.splitlines()) == warned


def test_a_mirror_of_a_bad_file_is_refused_with_the_line(tmp_path: Path) -> None:
    file = tmp_path / "assertions.csv"
    file.write_text("".join(hub(2)) + "nonsense\n")
    strict = tmp_path / "strict.toml"
    strict.write_text("[dump]\nmax_malformed = 0\n")
    done = run("main.py", "mirror", "--source", file, "--port", 0, "--config", strict)
    assert done.returncode == 2 and "line 3" in says(done)
    assert run("main.py", "mirror", "--port", 0).returncode == 2
    assert run("main.py", "mirror", "--source", tmp_path / "none", "--port", 0).returncode == 2


def test_nothing_is_written_outside_the_given_places(tmp_path: Path, world: World) -> None:
    caches = {"__pycache__", ".hypothesis", ".pytest_cache"}  # of tests that run beside this one
    before = {path.name for path in ROOT.iterdir()} | caches
    run("main.py", *harvest_flags(tmp_path, world.url, SEED))
    assert {path.name for path in ROOT.iterdir()} <= before
    assert {path.name for path in tmp_path.iterdir()} >= {"state", "graph.db"}

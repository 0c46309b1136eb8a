"""What works beside a harvest: snapshots, samples, notices, putting failed ones back to work."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from types import SimpleNamespace
from typing import cast

from tests.support.command import finished, harvest_flags, pools_of, read_until, run, start
from tests.support.worlds.conceptnet import World, about, fails, mesh, only
from tests.support.worlds.mail import Hook
from tools.assist.assistant import Assist
from tools.engine.harvest import Harvest
from tools.engine.pools import Pools
from tools.engine.threads import ThreadExecutor
from tools.errors import Fatal, StateDamaged
from tools.jobs.ownership import Belongings
from tools.journal.reader import look
from tools.network.exchange import Exchange
from tools.network.traffic import Traffic
from tools.settings import Settings

SEED = "/c/en/0"

NO_JOB = {
    "job": SimpleNamespace(task_timeout_s=None, scan_s=None, client=None, resting=tuple),
    "executor": ThreadExecutor([], {}),
}


def settings(folder: Path, text: str) -> tuple[str, Path]:
    file = folder / "sheaf.toml"
    file.write_text(text, encoding="utf-8")
    return "--config", file


@contextmanager
def harvesting(*flags: object, **environment: str) -> Iterator[subprocess.Popen[str]]:
    harvest = start("main.py", *flags, **environment)
    try:
        yield harvest
    finally:
        harvest.kill()
        harvest.communicate()


def test_a_source_that_is_down_for_long_and_the_end_are_told(tmp_path: Path) -> None:
    config = settings(tmp_path, "[notices]\nsource_down_s = 0.5\nprogress = false\n")
    # So slow that it still runs when it is next looked after, a second after the source is back.
    with World(mesh(500), latency=0.05) as world, Hook() as hook:
        flags = harvest_flags(tmp_path, world.url, SEED, *config)
        with harvesting(*flags, SHEAF_NOTICES=hook.address()) as harvest:
            world.wait_for(20)
            world.down = True
            down = hook.next()
            world.down = False
            back, end = hook.next(), hook.next()
            assert harvest.wait(60) == 0
    assert down["title"] == "fetch gets no answer" and "fetch has waited" in down["message"]
    assert back["title"] == "fetch goes on"
    assert end["title"] == "the harvest has ended"
    assert (
        end["message"].startswith("done\n") and "500 of 500 concepts done (100%)" in end["message"]
    )


def test_a_harvest_that_ends_badly_tells_why(tmp_path: Path) -> None:
    config = settings(tmp_path, "[notices]\nprogress = false\n")
    with World(mesh(400), latency=0.02) as world, Hook() as hook:
        flags = harvest_flags(tmp_path, world.url, SEED, *config)
        with harvesting(*flags, SHEAF_NOTICES=hook.address()) as harvest:
            world.wait_for(30)
            (tmp_path / "state").rename(tmp_path / "elsewhere")
            assert harvest.wait(60) == 5
            assert "was moved or removed" in hook.next()["message"]
    assert not (tmp_path / "state").exists()


def test_each_kind_of_notice_can_be_switched_off(tmp_path: Path) -> None:
    config = settings(tmp_path, "[notices]\nprogress = false\nended = false\n")
    with World(mesh(5)) as world, Hook() as hook:
        flags = harvest_flags(tmp_path, world.url, SEED, *config)
        done = run("main.py", *flags, SHEAF_NOTICES=hook.address())
        assert done.returncode == 0, done.stderr
        assert hook.arrived.empty()


def test_nobody_who_could_be_told_costs_a_line_in_the_log(tmp_path: Path) -> None:
    config = settings(tmp_path, "[notices]\ntimeout_s = 2\n")
    with World(mesh(5)) as world:
        flags = harvest_flags(tmp_path, world.url, SEED, *config)
        done = run("main.py", *flags, SHEAF_NOTICES="json://user:s3cret@127.0.0.1:9/x")
    assert done.returncode == 0
    assert "was not sent" in done.stderr and "s3cret" not in done.stderr


def test_a_bad_time_is_refused_before_any_work(tmp_path: Path) -> None:
    config = settings(tmp_path, '[clock]\nsnapshot = "every hour"\n')
    with World(mesh(5)) as world:
        done = run("main.py", *harvest_flags(tmp_path, world.url, SEED, *config))
    assert done.returncode == 2 and "clock.snapshot" in done.stderr


def test_samples_and_snapshots_are_made_and_carry_what_history_needs(tmp_path: Path) -> None:
    with World(mesh(40)) as world:
        flags = harvest_flags(tmp_path, world.url, SEED)
        assert run("main.py", *flags).returncode == 0
        assert run("main.py", *flags).returncode == 0  # nothing to do: nothing is written
        host = world.url.removeprefix("http://")
    state = tmp_path / "state"
    (snapshot,) = (state / "snapshots").iterdir()
    for file in (state / "pools.db", snapshot):
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
            samples = db.execute("SELECT run, counts, requests FROM sample").fetchall()
            hosts = dict(db.execute("SELECT name, requests FROM host"))
        assert len(samples) >= 2 and {run_ for run_, *_ in samples} == {1}
        assert json.loads(samples[0][1])["to_fetch"] == 1
        assert json.loads(samples[-1][1])["finished"] == 40
        assert hosts == {host: samples[-1][2]} and samples[-1][2] >= 40
    with closing(sqlite3.connect(f"file:{state / 'pools.db'}?mode=ro", uri=True)) as db:
        assert db.execute("SELECT name, done, failure FROM chore").fetchall() == [
            ("snapshot", snapshot.name, None)
        ]


def test_samples_at_the_same_moment_count_nothing_twice(tmp_path: Path) -> None:
    """As when a snapshot and a sample fall due together."""
    both, asked = Barrier(2), Traffic()
    for _ in range(10):
        asked.add(Exchange("example.org", 200, 100))

    def traffic() -> Mapping[str, tuple[int, int]]:
        with suppress(BrokenBarrierError):
            both.wait(timeout=0.5)  # where two may be here at once, they are
        return asked.take()

    with closing(Pools(tmp_path / "pools.db", [])) as pools:
        harvest = cast(Harvest, SimpleNamespace(pools=pools, monitors=[], **NO_JOB))
        assist = Assist(harvest, Settings(state=tmp_path), traffic)
        with ThreadPoolExecutor(2) as threads:
            for done in [threads.submit(assist.sample) for _ in range(2)]:
                done.result(30)
    with closing(sqlite3.connect(tmp_path / "pools.db")) as db:
        assert db.execute("SELECT * FROM host").fetchall() == [("example.org", 10, 1000)]


# --- putting back to work ------------------------------------------------------------------


def test_failed_ones_are_put_back_to_work_when_asked_for(tmp_path: Path) -> None:
    poisoned = only(about("/c/en/7"), fails(404))
    with World(mesh(30), poisoned) as world:
        flags = harvest_flags(tmp_path, world.url, SEED)
        assert run("main.py", *flags).returncode == 0
        assert pools_of(tmp_path / "state")["failed"] == 1
        world.fault = None
        assert run("main.py", *flags).returncode == 0
        assert pools_of(tmp_path / "state")["failed"] == 1, "not tried again unless asked for"

        state = ("--state", tmp_path / "state")
        assert "0 go back to work" in run("main.py", "retry", "--reason", "HTTP 500", *state).stdout
        assert "1 go back to work" in run("main.py", "retry", "--reason", "http 404", *state).stdout
        assert run("main.py", *flags).returncode == 0
    assert len(finished(tmp_path / "state")) == 30


def test_a_running_harvest_takes_up_what_another_process_asks_for(tmp_path: Path) -> None:
    """Its clock looks every minute; this one is stopped before, and its next start takes it up."""
    with World(mesh(200), only(about("/c/en/7"), fails(404)), latency=0.02) as world:
        flags = harvest_flags(tmp_path, world.url, SEED, "--fetch-workers", 2)
        with harvesting(*flags) as harvest:
            read_until("failed uri='/c/en/7'", harvest)
            world.latency = 1.0
            asked = run("main.py", "retry", "--state", tmp_path / "state")
            assert asked.returncode == 0 and "in a moment" in asked.stdout
            harvest.send_signal(signal.SIGTERM)
            assert harvest.wait(60) == 0
        world.fault, world.latency = None, 0.0
        assert run("main.py", *flags).returncode == 0
    pools = look(tmp_path / "state" / "pools.db").pools
    assert pools["finished"] == sum(pools.values()) == 200
    assert not list((tmp_path / "state" / "wishes").iterdir())


def test_retry_without_a_harvest_says_so(tmp_path: Path) -> None:
    done = run("main.py", "retry", "--state", tmp_path / "nowhere")
    assert done.returncode == 2 and "there is no harvest" in done.stderr
    assert not (tmp_path / "nowhere").exists()


def test_a_graph_that_does_not_know_the_harvest_any_more_ends_it(tmp_path: Path) -> None:
    """What is asked by the minute."""

    class Lost:
        def look(self) -> None: ...

        def ask(self) -> None:
            raise StateDamaged("it was emptied")

    ended: list[Fatal] = []
    with closing(Pools(tmp_path / "pools.db", [])) as pools:
        harvest = SimpleNamespace(pools=pools, monitors=[], end=ended.append, **NO_JOB)
        mine = Settings(state=tmp_path)
        assist = Assist(cast(Harvest, harvest), mine, dict, None, cast(Belongings, Lost()))
        assist.ask_graph()
    assert [each.exit_code for each in ended] == [6]

"""Open files, memory and threads run out: it is named, it is nobody's fault, and work goes on."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.faults.harvests import Harvest
from tests.faults.injection import Process, injected, limited, main_py, run
from tests.soak.compare import Essence
from tests.support.command import harvest_flags, walk
from tests.support.needs import program
from tests.support.worlds.conceptnet import World, about, hub, only
from tests.support.worlds.media import MediaWorld
from tools.journal.reader import look
from tools.network.reply import JSON, Reply

SEED, GREEDY = "/c/en/hub", "/c/en/neighbour_2"
LINES = hub(60)


def test_too_few_open_files_are_named_and_spend_nobodys_attempts(
    tmp_path: Path, world: World, media: MediaWorld, quiet: Essence
) -> None:
    many = ("--fetch-workers", 20, "--extend-workers", 20)
    harvest = Harvest(tmp_path / "h", world, media, *many, settings="attempts = 1")
    with Process(tmp_path / "said", [*limited(nofile="24:1024"), *harvest.command]) as process:
        process.wait_for("Too many open files")
        allow_files(process.pid)
        assert process.end() == 0, process.log
    assert "Traceback" not in process.log and "a bug" not in process.log
    harvest.assert_as_complete_as(quiet)


def allow_files(pid: int) -> None:
    words = [program("prlimit", "util-linux"), f"--pid={pid}", "--nofile=1024:1024"]
    subprocess.run(words, check=True)


def test_too_few_open_files_to_begin_with_are_named(tmp_path: Path) -> None:
    with World(LINES) as world:
        words = main_py(*harvest_flags(tmp_path, world.url, SEED))
        code, process = run(tmp_path / "said", [*limited(nofile=10), *words])
    assert code in (3, 5), process.log
    assert "open" in process.sentence


def test_too_few_processes_are_named_and_spend_nobodys_attempts(
    tmp_path: Path, world: World, media: MediaWorld, quiet: Essence
) -> None:
    """The first three of each of both cannot be started."""
    harvest = Harvest(tmp_path / "h", world, media, settings="processes = 2\nattempts = 1")
    refused = injected("vfork,clone:error=EAGAIN:when=1..12")  # who fails by one tries the other
    code, process = run(tmp_path / "said", [*refused, *harvest.command])
    assert code == 0, process.log
    assert process.log.count("it cannot be started (Resource temporarily unavailable)") >= 6
    assert "Monitor extend waits" in process.log
    assert "Traceback" not in process.log and "a bug" not in process.log
    harvest.assert_as_complete_as(quiet)


def test_an_answer_too_large_for_the_memory_costs_only_its_own_uri(tmp_path: Path) -> None:
    config = tmp_path / "sheaf.toml"
    config.write_text("attempts = 1\nfetch_workers = 2\n[http]\nmax_bytes = 500_000_000\n")
    few_values = b'{"edges": ["' + b"0" * 450_000_000 + b'"]}'  # but each copy of it is large
    huge = Reply(200, few_values, JSON)
    with World(LINES, only(about(GREEDY), lambda _asked, _proceed: huge)) as world:
        words = main_py(*harvest_flags(tmp_path, world.url, SEED, "--config", config))
        frugal = {"MALLOC_ARENA_MAX": "1"}
        code, process = run(tmp_path / "said", [*limited(as_=900_000_000), *words], **frugal)
    assert code == 0, process.log
    assert "Traceback" not in process.log, process.log
    seen = look(tmp_path / "state" / "pools.db")
    (reason,) = seen.failures
    assert "memory" in reason
    assert seen.pools["finished"] == len(walk(LINES, SEED)[0]) - 1

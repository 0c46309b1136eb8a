"""A graph or a media folder that goes away while the harvest runs: noticed, never made anew."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.faults.harvests import Harvest
from tests.faults.injection import Process, injected, main_py, small_disk
from tests.faults.injection import run as run_to_end
from tests.soak.compare import Essence, essence, flaws
from tests.support.command import ROOT, clean_environment, finished, harvest_flags, run
from tests.support.worlds.conceptnet import World, hub
from tests.support.worlds.media import MediaWorld
from tools.graphs.sqlite import SqliteGraph

SEED = "/c/en/hub"


@pytest.fixture
def slow() -> Iterator[World]:
    with World(hub(400), latency=0.05) as world:
        yield world


# --- the graph -----------------------------------------------------------------------------


def moved(graph: Path) -> None:
    graph.rename(graph.with_name("elsewhere.db"))


def removed(graph: Path) -> None:
    graph.unlink()


def replaced(graph: Path) -> None:
    SqliteGraph(graph.with_name("other.db")).close()
    graph.with_name("other.db").replace(graph)


@pytest.mark.parametrize("damage", [moved, removed, replaced])
def test_a_graph_that_goes_away_ends_the_harvest(
    tmp_path: Path, slow: World, damage: Callable[[Path], None]
) -> None:
    words = main_py(*harvest_flags(tmp_path, slow.url, SEED))
    graph = tmp_path / "graph.db"
    with Process(tmp_path / "said", words) as process:
        slow.wait_for(20)
        damage(graph)
        assert process.end() == 6, process.log
        assert f"{graph} was moved or removed while the harvest ran" in process.sentence
    assert graph.exists() == (damage is replaced)
    for file in ("graph.db-wal", "graph.db-shm"):
        (tmp_path / file).unlink(missing_ok=True)
    code, process = run_to_end(tmp_path / "said", words)
    assert code == 6, process.log
    assert graph.exists() == (damage is replaced)


def test_a_graph_that_is_brought_back_is_gone_on_with(tmp_path: Path, slow: World) -> None:
    words = main_py(*harvest_flags(tmp_path, slow.url, SEED))
    with Process(tmp_path / "said", words) as process:
        slow.wait_for(20)
        moved(tmp_path / "graph.db")
        assert process.end() == 6, process.log
    (tmp_path / "elsewhere.db").rename(tmp_path / "graph.db")
    slow.latency = 0.0
    code, process = run_to_end(tmp_path / "said", words)
    assert code == 0, process.log
    with closing(SqliteGraph(tmp_path / "graph.db")) as graph:
        assert {each.uri for each in graph.entities()} == set(finished(tmp_path / "state"))


@pytest.mark.parametrize("places", ["elsewhere", "state"])
def test_nobody_empties_a_graph_under_a_harvest(tmp_path: Path, slow: World, places: str) -> None:
    flags = harvest_flags(tmp_path, slow.url, SEED)
    graph = ("--graph", f"sqlite:{tmp_path / 'graph.db'}", "--state", tmp_path / places)
    with Process(tmp_path / "said", main_py(*flags)) as process:
        slow.wait_for(20)
        cleared = run("clear.py", "--yes", *graph)
        assert cleared.returncode == 4, cleared.stderr
        assert "a harvest" in cleared.stderr
        assert (tmp_path / places).exists() == (places == "state")
        process.signal(signal.SIGTERM)
        assert process.end() == 0, process.log
    assert not (tmp_path / "graph.db-lock").exists()
    slow.latency = 0.0
    assert run("main.py", *flags).returncode == 0
    with closing(SqliteGraph(tmp_path / "graph.db")) as kept:
        assert {each.uri for each in kept.entities()} == set(finished(tmp_path / "state"))


def test_after_a_kill_a_graph_can_be_emptied_at_once(tmp_path: Path, slow: World) -> None:
    flags = harvest_flags(tmp_path, slow.url, SEED)
    with Process(tmp_path / "said", main_py(*flags)) as process:
        slow.wait_for(20)
        process.kill()
    cleared = run("clear.py", "--yes", *flags[5:])
    assert cleared.returncode == 0, cleared.stderr


@contextmanager
def asked_for_its_name(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """clear.py, at its question."""
    words = ("--state", folder / "state", "--graph", f"sqlite:{folder / 'graph.db'}")
    with subprocess.Popen(
        [sys.executable, "-u", str(ROOT / "clear.py"), *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    ) as clear:
        assert clear.stdout is not None
        assert "holds" in clear.stdout.readline()
        assert clear.stdout.read(5) == "Type "
        yield clear


def test_an_interrupt_at_the_question_changes_nothing(tmp_path: Path) -> None:
    SqliteGraph(tmp_path / "graph.db").close()
    with asked_for_its_name(tmp_path) as clear:
        clear.send_signal(signal.SIGINT)
        _, said = clear.communicate(timeout=60)
    assert clear.returncode == 130, said
    assert "Traceback" not in said
    assert not (tmp_path / "state").exists()


def test_a_harvest_that_begins_during_the_question_is_seen(tmp_path: Path) -> None:
    with closing(SqliteGraph(tmp_path / "graph.db")) as graph:
        graph.members.admit("one")
        with asked_for_its_name(tmp_path) as clear, graph.members.at_work("one"):
            _, said = clear.communicate("graph.db\n", timeout=60)
        assert clear.returncode == 4, said
        assert graph.members.known() == {"one": 0}


# --- the media folder ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory, world: World, media: MediaWorld
) -> Essence:
    harvest = Harvest(tmp_path_factory.mktemp("undisturbed"), world, media, depth=1)
    harvest.run()
    return essence(harvest.places)


@pytest.mark.parametrize("is_replaced", [False, True], ids=["moved", "replaced"])
def test_media_that_are_moved_away_end_the_harvest_and_are_not_made_anew(
    tmp_path: Path, world: World, media: MediaWorld, undisturbed: Essence, is_replaced: bool
) -> None:
    harvest = Harvest(tmp_path / "h", world, media, depth=1)
    folder, away = harvest.places.media, tmp_path / "away"
    with Process(tmp_path / "said", harvest.command) as process:
        media.wait_for(len(media.paths) + 60, timeout=60)
        folder.rename(away)
        if is_replaced:
            folder.mkdir()
        assert process.end() == 6, process.log
        assert f"{folder} was moved or removed while the harvest ran" in process.sentence
    assert folder.exists() == is_replaced
    code, process = run_to_end(tmp_path / "said", harvest.command)
    assert code == 6, process.log
    shutil.rmtree(folder, ignore_errors=True)
    away.rename(folder)
    harvest.run()
    harvest.assert_same_as(undisturbed)


def test_media_whose_disk_is_taken_away_end_the_harvest(
    tmp_path: Path, world: World, media: MediaWorld
) -> None:
    """The empty folder under it is not taken for it."""
    below = tmp_path / "disk"
    with small_disk(below, "50m"):
        (below / "m").mkdir()
        folder, settings = tmp_path / "h", "reserve_bytes = 0"
        harvest = Harvest(folder, world, media, depth=1, settings=settings, into=below / "m")
        with Process(tmp_path / "said", harvest.command) as process:
            media.wait_for(len(media.paths) + 60, timeout=60)
            with small_disk(below, "50m"):
                (below / "m").mkdir()
                assert process.end() == 6, process.log
                assert "was moved or removed while the harvest ran" in process.sentence
                there = [path.name for path in (below / "m").rglob("*") if path.is_file()]
                code, process = run_to_end(tmp_path / "said", harvest.command)
                assert (code, "is gone or empty" in process.sentence) == (6, True), process.log
        assert not [name for name in there if name.endswith(("jsonl", "csv", "HARVEST"))]
        harvest.run()
        assert flaws(harvest.places) == []


# --- a disk that does not keep the books ---------------------------------------------------


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_refused_sync_of_the_books_lists_nothing_twice(
    tmp_path: Path, world: World, media: MediaWorld, undisturbed: Essence, number: int
) -> None:
    harvest = Harvest(tmp_path / "h", world, media, depth=1)
    books = [harvest.places.media / name for name in ("MEDIA.jsonl", "SEARCHES.jsonl")]
    what = f"fdatasync:error=EIO:when={number}"
    code, process = run_to_end(tmp_path / "said", injected(what, *books) + harvest.command)
    assert code == 5, process.log
    assert f"{harvest.places.media} cannot be written" in process.sentence
    harvest.run()
    assert flaws(harvest.places) == []
    harvest.assert_same_as(undisturbed)

"""A state, a graph and a media folder that belong together: at the start of a harvest."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults.injection import injected, main_py, small_disk
from tests.faults.injection import run as run_to_end
from tests.support.command import Here, finished, records, run
from tests.support.store_contract import DOG_MEDIA
from tests.support.worlds.conceptnet import World, hub
from tools.add import Attachment
from tools.graphs.sqlite import SqliteGraph
from tools.journal.snapshots import newest_good_snapshot
from tools.media.ledger import MARK, Ledger
from tools.media.ledger_lines import BOOKS
from tools.shipping.outbox import Outbox

SEED = "/c/en/hub"
NOWHERE = "http://127.0.0.1:1"
PLACES = ("--state", "state", "--graph", "sqlite:graph.db", "--media", "m")
NO_SOURCE = ("--source", NOWHERE, "--seed", SEED, *PLACES)
"""A start that goes as far as asking the source is told that it does not answer: code 3."""

GONE, REACHED = "6 ", "3 "


def tree(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def small_world() -> Iterable[World]:
    with World(hub(20)) as world:
        yield world


@pytest.fixture(scope="module")
def harvested(tmp_path_factory: pytest.TempPathFactory, small_world: World) -> Path:
    """A harvest of relations that has come to its end, by relative addresses."""
    folder = tmp_path_factory.mktemp("harvested")
    harvest(folder, small_world)
    return folder


@pytest.fixture
def folder(tmp_path: Path, harvested: Path) -> Path:
    """A copy of it, which is where main.py works: the fixture `here` goes there."""
    shutil.copytree(harvested, tmp_path, dirs_exist_ok=True)
    return tmp_path


def harvest(folder: Path, world: World, *more: object, code: int = 0) -> str:
    words = ("--source", world.url, "--seed", SEED, "--no-media", *PLACES, *more)
    done = run("main.py", *words, cwd=folder)
    assert done.returncode == code, done.stderr
    return done.stdout


def execute(file: Path, *queries: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        for query in queries:
            db.execute(query)


def remembered(folder: Path) -> dict[str, str]:
    with closing(sqlite3.connect(folder / "state/pools.db")) as db:
        return dict(db.execute("SELECT key, value FROM meta"))


# --- the graph -----------------------------------------------------------------------------


def is_emptied(folder: Path) -> None:
    with closing(SqliteGraph(folder / "graph.db")) as graph:
        graph.clear()


def has_lost_its_records(folder: Path) -> None:
    execute(folder / "graph.db", "DELETE FROM relation", "DELETE FROM entity")


def is_anothers(folder: Path) -> None:
    """It holds the same, but by another harvest."""
    execute(folder / "graph.db", "UPDATE harvest SET id = 'another'")


@pytest.mark.parametrize("damage", [is_emptied, has_lost_its_records, is_anothers])
def test_a_graph_that_lost_its_harvest_ends_the_start(
    folder: Path, here: Here, damage: Callable[[Path], None]
) -> None:
    damage(folder)
    before = tree(folder), records(folder / "graph.db")
    said = here(*NO_SOURCE, "--no-media")
    assert said.startswith(GONE), said
    assert "bring back the graph" in said and "--fresh" in said
    assert (tree(folder), records(folder / "graph.db")) == before


def test_an_older_copy_of_the_graph_is_not_taken_for_the_whole_one(
    folder: Path, small_world: World, here: Here
) -> None:
    """It knows the harvest, but not what later runs have written."""
    shutil.copy(folder / "graph.db", folder / "older.db")
    harvest(folder, small_world, "--limit", 100)
    assert here(*NO_SOURCE, "--no-media").startswith(REACHED)
    shutil.copy(folder / "older.db", folder / "graph.db")
    before = tree(folder), records(folder / "graph.db")
    said = here(*NO_SOURCE, "--no-media")
    assert said.startswith(GONE) and "graph.db is an older copy of the graph" in said
    assert "bring back the graph" in said and "--fresh" in said
    assert (tree(folder), records(folder / "graph.db")) == before


def test_a_graph_from_before_runs_had_numbers_goes_on(folder: Path, small_world: World) -> None:
    execute(folder / "state/pools.db", "DELETE FROM meta WHERE key = 'graph_run'")
    execute(folder / "graph.db", "ALTER TABLE harvest DROP COLUMN run")
    harvest(folder, small_world)
    with closing(SqliteGraph(folder / "graph.db")) as graph:
        assert list(graph.members.known().values()) == [1]


@pytest.mark.parametrize("places", [PLACES, ("--state", "state")], ids=["named", "default"])
def test_a_graph_that_is_gone_is_not_made_anew(
    folder: Path, here: Here, places: tuple[str, ...]
) -> None:
    (folder / "graph.db").unlink()
    before = tree(folder)
    said = here("--source", NOWHERE, "--seed", SEED, "--no-media", *places)
    assert said.startswith(GONE) and "graph.db is gone" in said
    assert tree(folder) == before


def test_a_harvest_from_before_there_were_ids_is_taken_over_once(folder: Path, here: Here) -> None:
    forget = "DELETE FROM meta WHERE key IN ('harvest', 'in_graph', 'graph_filled')"
    execute(folder / "state/pools.db", forget)
    execute(folder / "graph.db", "DROP TABLE harvest")
    assert here(*NO_SOURCE, "--no-media").startswith(REACHED)
    with World(hub(20)) as world:
        harvest(folder, world)
    is_emptied(folder)
    assert here(*NO_SOURCE, "--no-media").startswith(GONE)


def test_an_old_harvest_is_not_taken_over_by_an_empty_graph(folder: Path, here: Here) -> None:
    forget = "DELETE FROM meta WHERE key IN ('harvest', 'in_graph', 'graph_filled')"
    execute(folder / "state/pools.db", forget)
    is_emptied(folder)
    said = here(*NO_SOURCE, "--no-media")
    assert said.startswith(GONE) and "is empty" in said


def test_what_keeps_no_relation_may_go_on(tmp_path: Path, small_world: World, here: Here) -> None:
    """Its graph has no relations, and rightly so."""
    harvest(tmp_path, small_world, "--min-weight", 1000, code=7)
    assert here(*NO_SOURCE, "--no-media").startswith(REACHED)


def test_several_harvests_share_a_graph_and_each_goes_on(
    folder: Path, small_world: World, here: Here
) -> None:
    harvest(folder, small_world, "--state", "second")
    for state in ("state", "second"):
        assert here(*NO_SOURCE, "--no-media", "--state", state).startswith(REACHED)
    with closing(SqliteGraph(folder / "graph.db")) as graph:
        assert len(graph.members.known()) == 2


# --- the media folder ----------------------------------------------------------------------


@pytest.fixture
def extended(folder: Path) -> Path:
    """It has media too, all of them shipped."""
    with closing(sqlite3.connect(folder / "state/pools.db")) as db:
        ((harvest,),) = db.execute("SELECT value FROM meta WHERE key = 'harvest'").fetchall()
    assert Ledger(folder / "m").claim(harvest)
    changed = "UPDATE tally SET counts = json_set(counts, '$.done_extend', 3)"
    execute(folder / "state/pools.db", changed)
    return folder


def test_after_everything_was_shipped_it_goes_on(extended: Path, here: Here) -> None:
    assert here(*NO_SOURCE).startswith(REACHED)
    assert tree(extended / "m") == {MARK}


@pytest.mark.parametrize("what", ["gone", "empty", "foreign"])
def test_media_that_are_gone_end_the_start(extended: Path, here: Here, what: str) -> None:
    (extended / "m" / MARK).unlink()
    if what == "gone":
        (extended / "m").rmdir()
    if what == "foreign":
        assert Ledger(extended / "m").claim("another")
    before = tree(extended)
    said = here(*NO_SOURCE)
    assert said.startswith(GONE) and "--media" in said and "--fresh" in said
    assert tree(extended) == before


@pytest.fixture
def listed(extended: Path) -> Path:
    """A file of it is still here, in the books."""
    with closing(Ledger(extended / "m")) as ledger:
        search = {"owner": SEED, "refused": []}
        ledger.add([Attachment(SEED, (DOG_MEDIA[0],), search)])
    changed = "UPDATE tally SET counts = json_set(counts, '$.media image test', 1)"
    execute(extended / "state/pools.db", changed)
    return extended


@pytest.mark.parametrize("book", BOOKS)
def test_a_media_folder_without_its_books_ends_the_start(
    listed: Path, here: Here, book: str
) -> None:
    """They alone tell whose the files are: new ones would begin without those."""
    assert here(*NO_SOURCE).startswith(REACHED)
    (listed / "m" / book).unlink()
    before = tree(listed)
    said = here(*NO_SOURCE)
    assert said.startswith(GONE) and f"m has lost {book}" in said and "--fresh" in said
    assert tree(listed) == before


def test_books_that_were_shipped_are_not_missed(
    listed: Path, here: Here, capfd: pytest.CaptureFixture[str]
) -> None:
    with closing(Ledger(listed / "m")) as ledger:
        Outbox(listed / "m", 1000).close(ledger)
    capfd.readouterr()
    assert not any((listed / "m" / book).exists() for book in BOOKS)
    assert here(*NO_SOURCE).startswith(REACHED)


def test_media_are_begun_after_a_harvest_without_them(
    folder: Path, small_world: World, here: Here
) -> None:
    assert here(*NO_SOURCE).startswith(REACHED)
    assert not (folder / "m").exists(), "the start failed"


# --- snapshots -----------------------------------------------------------------------------


def test_a_snapshot_of_another_harvest_is_refused(
    folder: Path, small_world: World, here: Here
) -> None:
    """Even if both have gone into the same graph."""
    harvest(folder, small_world, "--state", "other")
    newest = newest_good_snapshot(folder / "other/pools.db")
    before = tree(folder)
    said = here(*NO_SOURCE, "--no-media", "--resume", str(newest))
    assert said.startswith(GONE) and "of another harvest" in said
    assert tree(folder) == before


def test_a_snapshot_is_refused_where_only_the_graph_of_another_is(
    folder: Path, small_world: World, here: Here
) -> None:
    other = folder / "other"
    other.mkdir()
    harvest(other, small_world)
    newest = newest_good_snapshot(other / "state/pools.db")
    shutil.rmtree(folder / "state")
    before = tree(folder)
    said = here(*NO_SOURCE, "--no-media", "--resume", str(newest))
    assert said.startswith(GONE) and "does not know this harvest" in said
    assert tree(folder) == before


def test_its_own_snapshot_is_taken(folder: Path, here: Here) -> None:
    newest = newest_good_snapshot(folder / "state/pools.db")
    assert here(*NO_SOURCE, "--no-media", "--resume", str(newest)).startswith(REACHED)
    shutil.copy(str(newest), folder / "begin.db")
    shutil.rmtree(folder / "state")
    assert here(*NO_SOURCE, "--no-media", "--resume", "begin.db").startswith(REACHED)
    assert not (folder / "state").exists(), "the start failed"


# --- starts that fail ----------------------------------------------------------------------


@pytest.mark.parametrize("more", [(), ("--graph", "sqlite:deep/er/graph.db")])
def test_a_start_that_fails_leaves_nothing_behind(
    tmp_path: Path, here: Here, more: tuple[str, ...]
) -> None:
    assert here(*NO_SOURCE, "--media", "de/ep/m", *more).startswith(REACHED)
    assert tree(tmp_path) == set()


def test_a_start_that_is_refused_changes_nothing_that_is_remembered(
    folder: Path, here: Here
) -> None:
    before = remembered(folder)
    assert here("--sample", "--no-media", *PLACES).startswith("2 ")
    assert here(*NO_SOURCE).startswith(REACHED)
    assert remembered(folder) == before


def test_a_new_graph_into_which_another_writes_stays(tmp_path: Path, here: Here) -> None:
    """It was made by the start that fails, and has been used since."""
    graph = SqliteGraph(tmp_path / "graph.db")
    graph.members.admit("another")
    graph.close()
    before = (tmp_path / "graph.db").read_bytes()
    assert here(*NO_SOURCE).startswith(REACHED)
    assert (tmp_path / "graph.db").read_bytes() == before


def test_fresh_sets_nothing_aside_for_a_harvest_that_cannot_begin(
    extended: Path, here: Here
) -> None:
    before = tree(extended)
    assert here(*NO_SOURCE, "--fresh").startswith(REACHED)
    assert tree(extended) == before


def test_fresh_tells_the_way_back(extended: Path, small_world: World, here: Here) -> None:
    known = finished(extended / "state")
    said = harvest(extended, small_world, "--fresh")
    way = "--state state/aside-1 --media m/aside-1"
    assert f"to go back: the same command with {way} instead of --fresh" in said
    assert here(*NO_SOURCE, *way.split()).startswith(REACHED)
    assert finished(extended / "state/aside-1") == known


def test_a_full_disk_is_named_at_the_first_start(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        disk.fill(but=0)
        words = main_py(*NO_SOURCE[:4], "--no-media", "--state", disk.folder / "state")
        code, process = run_to_end(tmp_path / "said", words)
        assert code == 5, process.log
        assert f"the state folder {disk.folder / 'state'} cannot be used" in process.sentence
        assert not (disk.folder / "state").exists()


@pytest.mark.parametrize("error", ["ENOLCK", "EOPNOTSUPP"])
def test_a_file_system_without_locks_is_named(tmp_path: Path, error: str) -> None:
    words = main_py(*NO_SOURCE[:4], "--no-media", "--state", tmp_path / "state")
    code, process = run_to_end(tmp_path / "said", injected(f"flock:error={error}") + words)
    assert code == 5, process.log
    assert "cannot be locked" in process.sentence
    assert not (tmp_path / "state").exists()

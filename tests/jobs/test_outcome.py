"""A harvest that harvested nothing says so and why; whoever is kept is in the graph."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest

from main import main
from tests.support.command import finished, records
from tests.support.dump_world import signals_kept
from tests.support.worlds.conceptnet import World, about, fails, line, only
from tests.support.worlds.media import MediaWorld
from tools.add import Adder, Attachment, Counts, Media, Relation
from tools.conceptnet.graph import open_graph
from tools.conceptnet.index.build import open_index
from tools.engine.harvest import Harvest
from tools.errors import GiveUp, LeftOut, NothingHarvested, UnknownConcept
from tools.jobs.conceptnet import ConceptnetJob
from tools.jobs.outcome import nothing_kept
from tools.settings import Settings

LINES = [
    line("/r/IsA", "/c/en/dog", "/c/en/pet", 2.0),
    line("/r/IsA", "/c/en/cat", "/c/en/pet", 2.0),
    line("/r/RelatedTo", "/c/en/thunder", "/c/en/noise", 2.0),
    line("/r/IsA", "/c/de/hund", "/c/de/tier"),
]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with signals_kept():
        yield


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(LINES) as world:
        yield world


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "world.csv"
    path.write_text("".join(LINES), encoding="utf-8")
    return str(path)


def harvest(source: str, *flags: object, state: str = "s") -> int:
    given = ("--source", source, "--no-media", "--state", state, *flags)
    return main([str(each) for each in given])


def entities(state: str = "s") -> set[str]:
    return {row[0] for row in records(Path(state, "graph.db"))["entity"]}


def last_words(capfd: pytest.CaptureFixture[str]) -> str:
    return capfd.readouterr().err.splitlines()[-1]


# --- nothing was harvested -----------------------------------------------------------------


def test_an_unknown_seed_ends_with_a_sentence_and_its_code(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    assert harvest(world.url, "--seed", "/c/en/dgo") == 7
    said = capfd.readouterr()
    assert said.err.splitlines()[-1] == (
        "sheaf: nothing was harvested: the source does not know /c/en/dgo; give another --seed"
    )
    assert "Where things are" in said.out and "done" not in said.out.splitlines()
    assert list(Path("s", "snapshots").iterdir())


def test_it_says_the_same_when_started_again(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert harvest(world.url, "--seed", "/c/en/dgo", "-q") == 7
        assert "does not know /c/en/dgo" in last_words(capfd)


def test_a_filter_that_rejects_everything_is_named(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    assert harvest(world.url, "--seed", "dog", "--relations", "Desires", "-q") == 7
    assert last_words(capfd) == (
        "sheaf: nothing was harvested: the filter rejects every relation of /c/en/dog; widen it "
        "with --relations, --with, --language or --min-weight"
    )


def test_a_weight_that_nothing_has_is_named(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    assert harvest(world.url, "--seed", "dog", "--min-weight", 1e6, "-q") == 7
    assert last_words(capfd) == (
        "sheaf: nothing was harvested: every relation of /c/en/dog that the filter could keep "
        "weighs less than 1000000; lower --min-weight"
    )


def test_a_file_of_which_nothing_is_kept_is_told(
    file: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert harvest(file, "--all", "--relations", "Desires", "-q") == 7
    assert last_words(capfd) == (
        "sheaf: nothing was harvested: none of the 4 lines of world.csv passes the filter; widen "
        "it with --relations, --with, --language or --min-weight"
    )
    assert harvest(file, "--all", "-q", state="s2") == 0


def test_a_walk_over_a_file_is_told_too(file: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert harvest(file, "--seed", "thunder", "-q") == 7
    assert last_words(capfd) == (
        "sheaf: nothing was harvested: nothing in the file about /c/en/thunder passes the filter; "
        "give another --seed, or widen it with --relations, --with, --language or --min-weight"
    )


def test_what_failed_otherwise_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    Path("strict.toml").write_text("attempts = 1\n[http]\ntries = 1\n")
    with World(LINES, only(about("/c/en/dog"), fails(500))) as world:
        assert harvest(world.url, "--seed", "dog", "--config", "strict.toml", "-q") == 7
    assert last_words(capfd) == (
        "sheaf: nothing was harvested: /c/en/dog failed (127.0.0.1 answered HTTP 500 (after 1 "
        "attempts)); `python main.py retry`, then start again"
    )


def test_one_known_seed_is_enough(world: World) -> None:
    assert harvest(world.url, "--seed", "dgo,dog", "-q") == 0


def test_a_good_harvest_warns_of_nothing(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    assert harvest(world.url, "--seed", "/c/en/dog") == 0
    assert "WARNING" not in capfd.readouterr().err


def test_what_earlier_runs_kept_counts(world: World) -> None:
    flags = ("--seed", "dog", "-q")
    assert harvest(world.url, *flags) == 0
    assert harvest(world.url, *flags) == 0
    assert harvest(world.url, "--seed", "dgo", "-q") == 0


def test_what_others_put_into_the_graph_does_not_count(world: World) -> None:
    flags = ("-q", "--graph", "sqlite:shared.db")
    assert harvest(world.url, "--seed", "dog", *flags, state="s1") == 0
    assert harvest(world.url, "--seed", "dgo", *flags, state="s2") == 7


def test_a_state_of_an_older_version_counted_nothing(world: World) -> None:
    assert harvest(world.url, "--seed", "dog", "-q") == 0
    with closing(sqlite3.connect("s/pools.db")) as db, db:
        db.execute("UPDATE tally SET counts = json_remove(counts, '$.relations_kept')")
        db.execute("DELETE FROM meta WHERE key = 'kept'")
    assert harvest(world.url, "--seed", "dog", "-q") == 0


def test_whoever_stops_it_is_not_told_that_it_failed(tmp_path: Path, world: World) -> None:
    with world_of_harvest(tmp_path, world.url) as harvest_:
        know_nobody(harvest_, UnknownConcept())
        harvest_.run()
        assert why_nothing(harvest_, tmp_path) is not None
        harvest_._begin_to_stop(0.0)
        assert why_nothing(harvest_, tmp_path) is None


class Advised:
    """A source that knows nobody, but similar names."""

    def __init__(self, error: GiveUp) -> None:
        self._error = error

    def check(self) -> None: ...
    def page(self, concept: str) -> list[Relation]:
        raise self._error

    def near(self, concept: str) -> list[str]:
        return [f"{concept}x", f"{concept}y"]


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (UnknownConcept(), "the source does not know /c/en/pet"),
        (LeftOut(), "nothing in the file about /c/en/pet passes the filter"),
    ],
)
def test_near_names_are_offered(tmp_path: Path, world: World, error: GiveUp, sentence: str) -> None:
    with world_of_harvest(tmp_path, world.url) as harvest_:
        know_nobody(harvest_, error)
        harvest_.run()
        said = str(why_nothing(harvest_, tmp_path))
    assert said.startswith(
        f"nothing was harvested: {sentence}; did you mean /c/en/petx? Give another --seed"
    )


def know_nobody(harvest_: Harvest, error: GiveUp) -> None:
    assert isinstance(harvest_.job, ConceptnetJob)
    harvest_.job.source = source = Advised(error)
    harvest_.job.workers["fetch"]._source = source  # type: ignore[attr-defined]


def why_nothing(harvest_: Harvest, folder: Path) -> NothingHarvested | None:
    assert isinstance(harvest_.job, ConceptnetJob)
    settings = Settings(state=folder)
    return nothing_kept(harvest_, harvest_.job, settings, Counts(0, 0, 0))


def world_of_harvest(folder: Path, source: str) -> closing[Harvest]:
    settings = Settings(source=source, state=folder, media=folder / "m")
    stop = Event()
    graph = open_graph(settings.graph_url)
    job = ConceptnetJob(settings, graph, stop, "ConceptNet")
    job.workers = {"fetch": job.workers["fetch"]}
    return closing(Harvest(job, settings.pools_file, stop, 1, 1.0))


# --- whoever is kept is in the graph -------------------------------------------------------


def test_a_seed_without_relations_is_in_the_graph(world: World) -> None:
    assert harvest(world.url, "--seed", "thunder,dog", "-q") == 0
    assert entities() == {"/c/en/thunder", "/c/en/dog", "/c/en/pet", "/c/en/cat"}
    assert "/c/en/thunder" in finished(Path("s"))


def test_a_file_with_a_whole_index_ends_it_the_same_way(file: str, world: World) -> None:
    open_index(Path(file), None)
    flags = ("--seed", "thunder,dog,nobody", "-q")
    assert harvest(file, *flags, state="file") == harvest(world.url, *flags, state="server") == 0
    assert entities("file") == entities("server")
    assert finished(Path("file")) == finished(Path("server"))


def test_a_whole_index_may_be_beside_one_of_the_filter(file: str, world: World) -> None:
    flags = ("--seed", "thunder,dog,nobody", "-q")
    assert harvest(file, *flags, state="before") == 0
    assert "/c/en/thunder" not in entities("before")  # nobody can tell it from nobody
    open_index(Path(file), None)
    assert harvest(file, *flags, state="file") == harvest(world.url, *flags, state="server") == 0
    assert entities("file") == entities("server")


def test_no_media_without_an_owner(tmp_path: Path, world: World, media: MediaWorld) -> None:
    flags = ("--source", world.url, "--seed", "dog", "--min-weight", "9", "--state", "s", "-q")
    assert main([*flags, "--config", str(media.settings(tmp_path)), "--media", "m"]) == 7
    graph = records(Path("s", "graph.db"))
    owners = {row[1] for row in graph["media"]}
    assert owners == {"/c/en/dog"} == {row[0] for row in graph["entity"]}


def test_media_bring_their_owner_where_an_older_version_left_it_out() -> None:
    file = Media(
        *("en/dog/image/0.jpg", "image", "image/jpeg", "ab", 1, None, None, None),
        *(None, None, None, None, None, None),
    )
    relation = "/a/[/r/HasA/,/c/en/dog/,/c/en/tail/]"
    with closing(open_graph("sqlite:g.db")) as graph:
        Adder(graph)([Attachment("/c/en/dog", [file], {}), Attachment(relation, [], {})])
        assert graph.counts() == (1, 0, 1)
        assert graph.media_of(["/c/en/dog"]) == {"/c/en/dog": [file]}

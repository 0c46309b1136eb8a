"""`--all`: everything in a file that passes the filter, once, whatever happens on the way."""

from __future__ import annotations

import gzip
import os
import signal
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from random import Random
from threading import Event

import pytest
import zstandard

from main import main
from tests.soak.compare import state_flaws
from tests.support.chance import any_seed
from tests.support.command import Here
from tests.support.dump_world import (
    Ended,
    begun,
    brute_force,
    harvest,
    set_small,
    signals_kept,
    words,
)
from tests.support.worlds.conceptnet import hub, line, mesh
from tools.add import Entity, Graph, Relation
from tools.conceptnet.dump import stream
from tools.conceptnet.dump.stream import Streamer
from tools.conceptnet.rules import RELATIONS, Filter
from tools.engine import rests
from tools.engine.harvest import Harvest
from tools.engine.stage import Stage, Task
from tools.errors import GiveUp, StopHarvest, Unavailable, UsageError
from tools.graphs.sqlite import SqliteGraph
from tools.sample import world as sample

WORLD = [
    each.rstrip("\n").encode() + b"\n"
    for each in (*mesh(150), *hub(200), *list(sample.lines())[::6])
]
BAD = [b"short\n", b"a\tb\tc\td\te\tf\n", WORLD[0][:-3] + b"\n", b"\xff" + WORLD[1]]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    set_small(monkeypatch.setattr)
    monkeypatch.setattr(rests, "FIRST_S", 0.01)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "world.csv.gz", WORLD)


def written(path: Path, lines: Iterable[bytes]) -> Path:
    text = b"".join(lines)
    packs: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.compress,
        ".zst": zstandard.ZstdCompressor().compress,
    }
    path.write_bytes(packs.get(path.suffix, bytes)(text))
    return path


def assert_complete(ended: Ended, lines: list[bytes] = WORLD, malformed: int = 0) -> None:
    assert ended.error is None
    assert ended.outcome == brute_force(lines)
    finished = len(ended.outcome.finished) + 1
    assert ended.pools["finished"] == sum(ended.pools.values()) == finished
    assert ended.tally[2] == malformed


# --- the same as brute force -----------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "world.csv",
        "world.csv.gz",
        "world.csv.zst",
        "wörld 🐕.csv",
        os.fsdecode(b"no\xfftext\n.csv"),
    ],
)
def test_everything_that_passes_the_filter_is_in_the_graph(tmp_path: Path, name: str) -> None:
    ended = harvest(tmp_path, written(tmp_path / name, WORLD))
    assert_complete(ended)
    assert ended.tally == (sum(map(len, WORLD)), len(WORLD), 0)
    assert len(ended.outcome.relations) > 500


def test_with_large_pieces_it_is_the_same(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "MOST_RELATIONS", 20_000)
    assert_complete(harvest(tmp_path, file))


def test_other_languages_and_relations(tmp_path: Path, file: Path) -> None:
    flags = ("--language", "en,de", "--with", "RelatedTo,Synonym", "--min-weight", "0.5")
    ended = harvest(tmp_path, file, *flags)
    wanted = Filter.of(["en", "de"], 0.5, [*RELATIONS, "RelatedTo", "Synonym"], True)
    assert ended.outcome == brute_force(WORLD, wanted)
    assert {each.language for each in ended.outcome.entities} == {"en", "de"}
    assert "RelatedTo" in {each.type for each in ended.outcome.relations}


def test_a_file_with_nothing_in_it_for_us_is_done_at_once(tmp_path: Path) -> None:
    lines = [line("/r/IsA", "/c/fr/a", "/c/fr/b").encode()]
    assert_complete(harvest(tmp_path, written(tmp_path / "french.csv", lines)), lines)


def test_a_second_run_has_nothing_to_do(tmp_path: Path, file: Path) -> None:
    harvest(tmp_path, file)
    seen: list[int] = []
    ended = harvest(tmp_path, file, tick=lambda run: seen.append(run.pools.leases))
    assert_complete(ended)
    assert set(seen) == {0}


@pytest.mark.parametrize(
    ("ground", "concepts", "shows"),
    [
        ("nothing", "finished", False),
        ("concepts", "extend", False),
        ("relations", "finished", True),
        ("both", "extend", True),
    ],
)
def test_what_gets_media_waits_for_it(file: Path, ground: str, concepts: str, shows: bool) -> None:
    wanted = Filter.of(["en"], 1.0, RELATIONS, True)
    streamer = Streamer(file, wanted, 0, ground)
    streamer.open(lambda _: 0)
    done = streamer(Task(1, streamer.uri, Stage("fetch", 1), None, 0, 0))
    assert done.to == "to_fetch"
    first, *rest = done.found
    assert (first.stage, first.depth) == (concepts, 0)
    assert bool(rest) is shows
    if rest:
        assert rest[0].stage == "extend" and all(uri.startswith("/a/") for uri in rest[0].uris)


# --- a graph that fails, a stop, a death ------------------------------------------------------


class Failing:
    """A graph that raises something at some writes, before or after it has written."""

    def __init__(self, graph: Graph, errors: dict[int, Exception], is_after: bool) -> None:
        self._graph, self._errors, self._is_after = graph, errors, is_after
        self.writes = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._graph, name)

    def write(self, entities: Iterable[Entity], relations: Iterable[Relation]) -> int:
        self.writes += 1
        error = self._errors.get(self.writes)
        if error and not self._is_after:
            raise error
        written = self._graph.write(entities, relations)
        if error:
            raise error
        return written


@pytest.mark.parametrize("is_after", [False, True])
@pytest.mark.parametrize("numbers", [(1,), (3, 4), (2, 5, 9, 10), (25, 26)])
def test_a_stretch_that_could_not_be_stored_is_read_again(
    tmp_path: Path, file: Path, numbers: tuple[int, ...], is_after: bool
) -> None:
    errors = {number: Unavailable("it is away") for number in numbers}
    ended = harvest(tmp_path, file, around=lambda graph: Failing(graph, errors, is_after))  # type: ignore[arg-type,return-value]
    assert_complete(ended)
    assert ended.tally == (sum(map(len, WORLD)), len(WORLD), 0)


def test_the_last_stretch_too_is_read_again(tmp_path: Path, file: Path) -> None:
    counting = Counting()
    harvest(tmp_path / "undisturbed", file, around=counting)
    errors = {counting.graph.writes: Unavailable("it is away")}
    ended = harvest(tmp_path, file, around=lambda graph: Failing(graph, errors, False))  # type: ignore[arg-type,return-value]
    assert_complete(ended)


class Counting:
    def __call__(self, graph: Graph) -> Graph:
        self.graph = Failing(graph, {}, False)
        return self.graph  # type: ignore[return-value]


def test_a_graph_that_serves_nobody_any_more_ends_it_and_the_next_run_goes_on(
    tmp_path: Path, file: Path
) -> None:
    errors: dict[int, Exception] = {4: StopHarvest("the disk is full")}
    ended = harvest(tmp_path, file, around=lambda graph: Failing(graph, errors, False))  # type: ignore[arg-type,return-value]
    assert str(ended.error) == "the disk is full"
    assert ended.pools["to_fetch"] == 1 and 0 < ended.tally[1] < len(WORLD)
    assert_complete(harvest(tmp_path, file))


class Stopping(Failing):
    """Asks for a stop at the third write, and waits until it was heard."""

    def __init__(self, graph: Graph, is_heard: Event) -> None:
        super().__init__(graph, {}, False)
        self._is_heard = is_heard

    def write(self, entities: Iterable[Entity], relations: Iterable[Relation]) -> int:
        if self.writes == 2:
            os.kill(os.getpid(), signal.SIGTERM)
            assert self._is_heard.wait(30)
        return super().write(entities, relations)


def test_stopped_again_and_again_it_goes_on_from_there(tmp_path: Path, file: Path) -> None:
    lines_read = [0]
    while lines_read[-1] < len(WORLD):
        is_heard = Event()

        def tick(run: Harvest, is_heard: Event = is_heard) -> None:
            if run.was_stopped:
                is_heard.set()

        ended = harvest(tmp_path, file, around=partial(Stopping, is_heard=is_heard), tick=tick)  # type: ignore[arg-type]
        assert ended.error is None
        assert ended.tally[1] > lines_read[-1]
        lines_read.append(ended.tally[1])
    assert len(lines_read) > 3
    assert_complete(harvest(tmp_path, file))


def test_killed_at_any_moment_it_goes_on_from_there(tmp_path: Path) -> None:
    seed = any_seed()
    print(f"kills drawn with seed {seed}")
    chance = Random(seed)
    lines = [each.encode() for each in mesh(800)]
    file, round_ = written(tmp_path / "mesh.csv.gz", lines), 0
    for _ in range(8):
        folder = tmp_path / str(round_)
        process = begun(words(folder, file))
        process.join(chance.uniform(0.05, 0.25))
        process.kill()
        process.join(30)
        assert process.exitcode in (-9, 0)
        if (pools := folder / "state" / "pools.db").exists():
            assert list(state_flaws(pools)) == []
        if process.exitcode == 0 or chance.random() < 0.3:
            assert_complete(harvest(folder, file), lines)
            round_ += 1
        process.close()


# --- files with something wrong ----------------------------------------------------------------


def spoilt(lines: list[bytes], number: int) -> list[bytes]:
    """So many bad lines, one after every thirty good ones."""
    spoilt: list[bytes] = []
    for place, each in enumerate(lines):
        spoilt.append(each)
        if place % 30 == 29 and place // 30 < number:
            spoilt.append(BAD[place % len(BAD)])
    return spoilt


def limit(folder: Path, most: int) -> tuple[object, ...]:
    config = folder / "limit.toml"
    config.write_text(f"[dump]\nmax_malformed = {most}\n")
    return ("--config", config)


def test_bad_lines_up_to_the_limit_are_skipped_and_told_at_the_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = written(tmp_path / "spoilt.csv.gz", spoilt(WORLD, 12))
    assert_complete(harvest(tmp_path, file, *limit(tmp_path, 12)), malformed=12)
    assert "12 malformed lines were skipped: line 31, 62, " in caplog.messages[-1]


def test_one_too_many_ends_it_with_everything_before_it_stored(tmp_path: Path) -> None:
    file = written(tmp_path / "spoilt.csv.gz", spoilt(WORLD, 12))
    ended = harvest(tmp_path, file, *limit(tmp_path, 7))
    assert isinstance(ended.error, UsageError)
    assert "has more than 7 lines that cannot be read, the last is line 248: " in str(ended.error)
    assert ended.pools["to_fetch"] == 1
    assert 200 < ended.tally[1] < 248
    # Each once, although the lines before the last one are read a second time.
    assert_complete(harvest(tmp_path, file, *limit(tmp_path, 12)), malformed=12)


def test_a_store_that_fails_makes_no_more_bad_lines_of_them(tmp_path: Path) -> None:
    file = written(tmp_path / "spoilt.csv.gz", spoilt(WORLD, 12))
    errors: dict[int, Exception] = {number: Unavailable("away") for number in (1, 3, 4, 9)}
    around = partial(Failing, errors=errors, is_after=True)
    ended = harvest(tmp_path, file, *limit(tmp_path, 12), around=around)  # type: ignore[arg-type]
    assert_complete(ended, malformed=12)


def test_a_file_that_cannot_be_stored_is_not_done(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise GiveUp("the graph does not take these records")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SqliteGraph, "write", refuse)
    with signals_kept():
        assert main(words(tmp_path, file)) != 0


@pytest.mark.parametrize("part", [0.0001, 0.3, 0.97])
def test_everything_before_the_end_of_a_truncated_file_is_stored(
    tmp_path: Path, file: Path, part: float
) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * part) + 12])
    ended = harvest(tmp_path, file)
    assert isinstance(ended.error, UsageError)
    assert f"is truncated: it ends in the middle, after line {ended.tally[1]:,};" in str(
        ended.error
    )
    assert ended.outcome == brute_force(WORLD[: ended.tally[1]])
    assert ended.tally[1] >= len(WORLD) * (part - 0.2)
    assert ended.pools["to_fetch"] == 1
    again = harvest(tmp_path, file)
    assert (again.outcome, str(again.error)) == (ended.outcome, str(ended.error))


def test_another_file_is_not_continued(tmp_path: Path, file: Path) -> None:
    errors: dict[int, Exception] = {4: StopHarvest("the disk is full")}
    harvest(tmp_path, file, around=partial(Failing, errors=errors, is_after=False))  # type: ignore[arg-type]
    written(file, [*WORLD[1:], WORLD[0]])
    ended = harvest(tmp_path, file)
    assert isinstance(ended.error, UsageError)
    assert "holds a harvest of all of world.csv.gz (sha256 " in str(ended.error)


# --- what is said ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "flags",
    [
        ("--seed", "/c/en/dog"),
        ("--limit", "5"),
        ("--depth", "2"),
        ("--depth", "0"),
    ],
)
def test_all_takes_no_seed_limit_or_depth(here: Here, file: Path, flags: tuple[str, ...]) -> None:
    said = here("--source", str(file), "--all", "--no-media", *flags)
    assert (
        said == "2 sheaf: --all reads the whole file: it takes no seed, limit, depth or --sample\n"
    )


def test_all_takes_no_sample_and_needs_a_file(here: Here) -> None:
    assert here("--all", "--sample").startswith("2 sheaf: --all reads the whole file")
    assert here("--all", "-q").startswith("2 sheaf: --all needs a file: --source FILE; ")
    said = here("--all", "-q", "--source", "missing.csv")
    assert said.startswith("2 sheaf: the file missing.csv cannot be read (No such file")


def test_a_walk_and_a_whole_file_do_not_share_a_state(here: Here, file: Path) -> None:
    seeds = ("--source", str(file), "--seed", "/c/en/0", "--no-media", "-q")
    everything = ("--source", str(file), "--all", "--no-media", "-q")
    assert main([*seeds, "--state", "walk"]) == 0
    assert "2 sheaf: walk holds a harvest of ConceptNet, not of all of" in here(
        *everything, "--state", "walk"
    )
    assert main([*everything, "--state", "all"]) == 0
    assert "2 sheaf: all holds a harvest of all of world.csv.gz (sha256" in here(
        *seeds, "--state", "all"
    )


def test_main_ends_with_the_right_code(here: Here, tmp_path: Path, file: Path) -> None:
    assert main(words(tmp_path, file)) == 0
    file.write_bytes(file.read_bytes()[:3000])
    assert here(*words(tmp_path / "truncated", file)).startswith(f"2 sheaf: {file} is truncated")
    written(file, [b"bad\n"] * 4)
    said = here(*words(tmp_path / "bad", file, *limit(tmp_path, 3)))
    assert said.startswith(f"2 sheaf: {file} has more than 3 lines that cannot be read")

"""The index beside a file: made once, for that file, whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import os
import shutil
from pathlib import Path
from random import Random

import pytest

from main import main
from tests.faults.injection import injected, run, small_disk, wait_until
from tests.support.chance import any_seed
from tests.support.command import DEFAULT_FILTER, Here
from tests.support.dump_world import begun, command, set_small
from tests.support.worlds.conceptnet import hub, line, mesh
from tools.add import Relation
from tools.conceptnet.dump.row import relation_of, row_of
from tools.conceptnet.dump.shown import relation_in
from tools.conceptnet.index import build
from tools.conceptnet.index.build import index_of, open_index
from tools.conceptnet.index.index import Index
from tools.conceptnet.rules import ALL_RELATIONS, RELATIONS, Filter
from tools.errors import HarvestError, StopHarvest, UsageError
from tools.sample import world as sample

WORLD = [each.rstrip("\n") + "\n" for each in (*mesh(150), *hub(200), *list(sample.lines())[::6])]
SENSES = [line("/r/IsA", "/c/en/hub/n/wn/x", f"/c/en/{n}", n / 4) for n in range(20)]
NARROW = Filter.of(["en"], 1.0, ["IsA", "HasA"], True)
BROAD = Filter.of(["en", "fr", "de"], 0.5, ALL_RELATIONS, True)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    set_small(monkeypatch.setattr)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "world.csv.gz", WORLD + SENSES)


def written(path: Path, lines: list[str]) -> Path:
    path.write_bytes(gzip.compress("".join(lines).encode()))
    return path


def files_of(file: Path) -> dict[str, tuple[int, int]]:
    """Every file of an index: was it written again?"""
    home = file.with_name(f"{file.name}.sheaf-index")
    found = [each for each in home.rglob("*") if each.is_file()]
    facts = {each: each.stat() for each in found}
    return {str(path): (fact.st_ino, fact.st_mtime_ns) for path, fact in facts.items()}


def expected(concept: str, wanted: Filter, lines: list[str]) -> list[Relation]:
    relations = [relation_of(row_of(each.rstrip("\n").encode())) for each in lines]
    below = f"{concept}/"
    return [
        each
        for each in relations
        if any(end == concept or end.startswith(below) for end in (each.start, each.end))
        and wanted.keeps(each.type, each.start, each.end, each.weight)
    ]


def assert_answers(index: Index, wanted: Filter, lines: list[str] = WORLD + SENSES) -> None:
    """As brute force does, and in order. What it gives may hold more than a filter keeps."""
    for concept in ("/c/en/hub", "/c/en/0", "/c/en/7", "/c/en/dog", "/c/en/hub/n", "/c/en/none"):
        found = [relation_in(edge) for edge in index.about(concept, wanted)]
        kept = [
            each for each in found if wanted.keeps(each.type, each.start, each.end, each.weight)
        ]
        assert sorted(kept) == sorted(expected(concept, wanted, lines))
        weights = [each.weight for each in found]
        assert weights == sorted(weights, reverse=True)


# --- when it is made --------------------------------------------------------------------------


def test_it_answers_as_brute_force_does_however_many_segments(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "FILTERED_STRETCH", 100)
    for wanted in (DEFAULT_FILTER, NARROW, BROAD):
        assert_answers(open_index(file, wanted), wanted)
    assert len(list(file.parent.glob("*.sheaf-index/*/000[4-9]"))) > 2
    everything = open_index(file, None)
    assert_answers(everything, BROAD)
    rows, has_more = everything.find({}, 0, 2000)
    assert (len(rows), has_more) == (len(everything), False) == (len(WORLD + SENSES), False)
    for row in rows[::7]:
        assert everything.edge(row.said["@id"]) == row


def test_made_once_it_is_used_again(file: Path) -> None:
    open_index(file, DEFAULT_FILTER)
    made = files_of(file)
    shown: list[int] = []
    index = open_index(file, DEFAULT_FILTER, show=lambda done, total: shown.append(done))
    assert files_of(file) == made
    assert not shown
    assert_answers(index, DEFAULT_FILTER)


def test_a_file_that_was_only_touched_keeps_its_index(file: Path) -> None:
    open_index(file, DEFAULT_FILTER)
    made = files_of(file)
    os.utime(file, (1, 1))
    assert_answers(open_index(file, DEFAULT_FILTER), DEFAULT_FILTER)
    assert files_of(file) == made


def test_another_file_of_the_same_size_gets_another_index(tmp_path: Path) -> None:
    file = tmp_path / "world.csv"
    file.write_text("".join(WORLD))
    open_index(file, DEFAULT_FILTER)
    changed = [
        each.replace("/c/en/7/", "/c/en/x/").replace("/c/en/7\t", "/c/en/x\t") for each in WORLD
    ]
    file.write_text("".join(changed))
    os.utime(file, (1, 1))
    index = open_index(file, DEFAULT_FILTER)
    assert_answers(index, DEFAULT_FILTER, changed)
    assert index.about("/c/en/x", DEFAULT_FILTER)


def test_a_file_that_grew_gets_another_index(file: Path) -> None:
    open_index(file, DEFAULT_FILTER)
    before = file.stat()
    more = [line("/r/IsA", "/c/en/dog", "/c/en/new_one", 9.0)]
    written(file, WORLD + SENSES + more)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert_answers(open_index(file, DEFAULT_FILTER), DEFAULT_FILTER, WORLD + SENSES + more)


def test_a_broader_index_serves_a_narrower_filter_and_not_the_other_way_round(file: Path) -> None:
    open_index(file, NARROW)
    narrow = files_of(file)
    assert_answers(open_index(file, DEFAULT_FILTER), DEFAULT_FILTER)
    assert len(files_of(file)) > len(narrow)
    assert_answers(open_index(file, BROAD), BROAD)
    made = files_of(file)
    heavy = Filter.of(["en"], 2.0, RELATIONS, False)
    for wanted in (DEFAULT_FILTER, NARROW, heavy):
        assert_answers(open_index(file, wanted), wanted)
    assert files_of(file) == made
    light = Filter.of(["en"], 0.0, ["IsA"], True)
    assert_answers(open_index(file, light), light)
    assert files_of(file) != made


def test_an_index_elsewhere_leaves_the_files_folder_alone(tmp_path: Path, file: Path) -> None:
    index = open_index(file, DEFAULT_FILTER, home=tmp_path / "elsewhere")
    assert_answers(index, DEFAULT_FILTER)
    assert not files_of(file)


def test_bad_lines_are_skipped_up_to_the_limit_and_named_beyond_it(tmp_path: Path) -> None:
    file = written(tmp_path / "bad.csv.gz", [*WORLD[:200], "short\n", *WORLD[200:], "a\tb\n"])
    with pytest.raises(UsageError, match=rf"more than 1 lines .* line {len(WORLD) + 2:,}: 2 col"):
        open_index(file, DEFAULT_FILTER, 1)
    assert_answers(open_index(file, DEFAULT_FILTER, 2), DEFAULT_FILTER, WORLD)


def test_a_truncated_file_has_no_index_and_the_whole_one_gets_it(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) * 2 // 3])
    for _ in range(2):
        with pytest.raises(
            UsageError, match=r"is truncated: it ends in the middle, after line \d+"
        ):
            open_index(file, DEFAULT_FILTER)
    file.write_bytes(whole)
    assert_answers(open_index(file, DEFAULT_FILTER), DEFAULT_FILTER)


# --- what stands in its way -------------------------------------------------------------------


def test_who_comes_second_is_told(here: Here, tmp_path: Path, file: Path) -> None:
    home = file.with_name(f"{file.name}.sheaf-index")
    home.mkdir()
    with (home / "LOCK").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = here(*walk(tmp_path, file))
        assert said.startswith(f"4 sheaf: another process makes the index {home}: start again")
    open_index(file, DEFAULT_FILTER)


def test_an_index_that_is_there_needs_no_lock(file: Path) -> None:
    open_index(file, DEFAULT_FILTER)
    home = file.with_name(f"{file.name}.sheaf-index")
    with (home / "LOCK").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert_answers(open_index(file, DEFAULT_FILTER), DEFAULT_FILTER)


def walk(folder: Path, file: Path, *more: object) -> list[str]:
    return [
        *("--source", str(file), "--seed", "/c/en/hub", "--no-media", "-q"),
        *("--state", str(folder / "state"), *map(str, more)),
    ]


def test_where_it_cannot_be_written_one_sentence_says_so(
    here: Here, tmp_path: Path, file: Path
) -> None:
    (tmp_path / "taken").write_text("a file, no folder")
    for place in ("taken", "missing/index", "taken/index"):
        (tmp_path / "place.toml").write_text(f'[dump]\nindex = "{place}"\n')
        said = here(*walk(tmp_path, file, "--config", "place.toml"))
        assert said.startswith(f"5 sheaf: the index {place} cannot be written (")
        assert "dump.index names another place" in said


def test_beside_a_file_on_a_read_only_disk_it_needs_another_place(
    here: Here, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", "2m") as disk:
        file = written(disk.folder / "world.csv.gz", WORLD + SENSES)
        disk.remount("ro")
        said = here(*walk(tmp_path, file))
        assert said.startswith(
            f"5 sheaf: the index {file}.sheaf-index cannot be written (Read-only"
        )
        index = open_index(file, DEFAULT_FILTER, home=tmp_path / "elsewhere")
        assert_answers(index, DEFAULT_FILTER)


def test_truncated_the_harvest_ends_with_2(here: Here, tmp_path: Path, file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])
    said = here(*walk(tmp_path, file))
    assert said.startswith(f"2 sheaf: {file} is truncated: it ends in the middle, after line ")


def test_a_full_disk_is_said_and_survived(tmp_path: Path) -> None:
    lines = [each.encode() for each in mesh(1000)]
    with small_disk(tmp_path / "disk", "2m") as disk:
        file = tmp_path / "mesh.csv"
        file.write_bytes(b"".join(lines))
        home = disk.folder / "index"
        disk.fill(but=200_000)
        with pytest.raises(StopHarvest, match=r"cannot be written \(No space left on device\)"):
            open_index(file, None, home=home)
        disk.make_room()
        assert len(open_index(file, None, home=home)) == len(lines)


# --- by several processes -----------------------------------------------------------------------


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of several chunks, as the processes that are started cut it."""
    monkeypatch.setattr(build, "LARGE", 0)
    file = tmp_path / "mesh.csv"
    file.write_text("".join(f"{each.rstrip()}\n" for each in mesh(3000)))
    return file


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core is used by one process")
def test_several_processes_make_the_index_that_one_makes(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[tuple[int, int]] = []
    together = open_index(
        large, None, home=tmp_path / "two", show=lambda done, size: shown.append((done, size))
    )
    assert len(list((tmp_path / "two" / "whole").glob("[0-9]*"))) > 2
    assert shown[-1] == (large.stat().st_size, large.stat().st_size)
    monkeypatch.setattr(build, "LARGE", 1 << 40)
    alone = open_index(large, None, home=tmp_path / "one")
    assert together.find({}, 0, 10_000) == alone.find({}, 0, 10_000)
    assert together.find({"node": "/c/en/7"}) == alone.find({"node": "/c/en/7"})


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core is used by one process")
def test_what_one_of_several_processes_finds_wrong_ends_it(large: Path) -> None:
    with large.open("a") as file:
        file.write("nonsense\n")
    with pytest.raises(UsageError, match=r"line 8,992: 1 column instead of 5"):
        open_index(large, None)


# --- ends while it is made ----------------------------------------------------------------------


def test_stretches_made_before_an_end_are_not_made_again(file: Path) -> None:
    def interrupt(done: int, size: int) -> None:
        if done > 0.7 * size:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_index(file, None, show=interrupt)
    made = {each.parts[-3]: each.stat().st_ino for each in stretches(file, "whole.part")}
    assert made
    everything = open_index(file, None)
    again = {each.parts[-3]: each.stat().st_ino for each in stretches(file, "whole")}
    assert made.items() < again.items()
    assert len(everything) == len(WORLD + SENSES)


def stretches(file: Path, name: str) -> list[Path]:
    """A file of each that is whole; it stays the same file when its folder is renamed."""
    return sorted(file.parent.glob(f"*.sheaf-index/{name}/[0-9][0-9][0-9][0-9]/00/text"))


# --- deaths while it is made -------------------------------------------------------------------


def test_killed_at_any_moment_it_is_completed(tmp_path: Path, file: Path) -> None:
    seed = any_seed()
    print(f"kills drawn with seed {seed}")
    chance = Random(seed)
    home = file.with_name(f"{file.name}.sheaf-index")
    for number in range(8):
        process = begun(walk(tmp_path / str(number), file))
        segments = chance.randrange(7)
        wait_until(
            lambda segments=segments, process=process: (  # type: ignore[misc]
                len(list(home.glob("en-*/*/note.json"))) > segments or not process.is_alive()
            ),
            every_s=0.0005,
        )
        process.kill()
        process.join(30)
        assert process.exitcode in (-9, 0)
        process.close()
        if chance.random() < 0.5:
            assert_sound(file)
            shutil.rmtree(home)
    assert_sound(file)


def assert_sound(file: Path) -> None:
    assert_answers(open_index(file, DEFAULT_FILTER), DEFAULT_FILTER)
    assert not list(file.parent.glob("*.sheaf-index/**/*.part"))


CALLS = {"rename": 9, "mkdir": 12, "fsync": 60, "write": 120}
"""At which of its calls it is killed, at most."""


@pytest.mark.parametrize("calls", [("rename", "mkdir"), ("fsync", "write")])
def test_killed_at_a_system_call_it_is_completed(
    tmp_path: Path, file: Path, calls: tuple[str, ...]
) -> None:
    call = Random().choice(calls)
    number = Random().randrange(1, CALLS[call] + 1)
    print(f"killed at {call} number {number}")
    words = injected(f"{call}:signal=KILL:when={number}")
    code, process = run(tmp_path / "said", [*words, *command(walk(tmp_path, file))])
    assert code in (-9, 0), process.log
    assert_sound(file)
    assert main(walk(tmp_path, file)) == 0


def test_a_folder_that_holds_other_things_keeps_them(tmp_path: Path, file: Path) -> None:
    photos = tmp_path / "mine" / "photos"
    photos.mkdir(parents=True)
    (photos / "dog.jpg").write_bytes(b"a dog")
    with contextlib.suppress(HarvestError):
        open_index(file, DEFAULT_FILTER, home=tmp_path / "mine")
    assert (photos / "dog.jpg").read_bytes() == b"a dog"


def test_an_index_with_a_file_missing_is_made_anew_or_named(file: Path) -> None:
    open_index(file, DEFAULT_FILTER)
    next(file.parent.glob("*.sheaf-index/*/0001/*/kind")).unlink()
    with contextlib.suppress(HarvestError):
        assert_answers(open_index(file, DEFAULT_FILTER), DEFAULT_FILTER)


def test_a_source_with_a_newline_in_it_disturbs_no_other() -> None:
    odd = line("/r/IsA", "/c/en/a", "/c/en/b", sources=[{"contributor": "/s/contributor/x\ny"}])
    plain = line("/r/IsA", "/c/en/c", "/c/en/d", sources=[{"contributor": "/s/resource/plain"}])
    rows, _ = index_of([odd, plain]).find({"source": "/s/resource/plain"})
    assert [row.start for row in rows] == [b"/c/en/c"]


def test_weights_that_differ_little_are_in_order() -> None:
    weights = [16_777_216.0, 16_777_217.0]
    index = index_of([line("/r/IsA", "/c/en/a", f"/c/en/{each:.0f}", each) for each in weights])
    assert [row.said["weight"] for row in index.find({})[0]] == weights[::-1]

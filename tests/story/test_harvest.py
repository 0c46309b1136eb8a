"""Whole harvests, by the real program, against real servers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest

from tests.support import command
from tests.support.command import (
    BruteForce,
    harvest_flags,
    history,
    read_until,
    records,
    relations_of,
    run,
    start,
    walk,
)
from tests.support.slices import any_slice, lines_of
from tests.support.worlds.conceptnet import World, about, fails, hub, line, nth, only
from tools.conceptnet.index.build import index_of
from tools.conceptnet.mirror.mirror import Mirror
from tools.conceptnet.rules import RELATIONS
from tools.sample import world as sample


def entities_of(folder: Path) -> set[str]:
    return {row[0] for row in records(folder / "graph.db")["entity"]}


def test_the_sample_is_harvested_whole_connected_and_only_once(tmp_path: Path) -> None:
    first = run("main.py", "--sample", "--no-media", "--state", tmp_path / "state")
    assert first.returncode == 0, first.stderr
    concepts, relations = walk(sample.lines(), sample.SEED)
    graph = records(tmp_path / "state" / "graph.db")
    assert {row[0] for row in graph["relation"]} == relations
    assert {row[0] for row in graph["entity"]} == concepts
    assert is_connected(graph["relation"], sample.SEED) == concepts
    assert "1,888" in first.stdout and "IsA" in first.stdout and "graph.db" in first.stdout

    snapshots = sorted((tmp_path / "state" / "snapshots").iterdir())
    second = run("main.py", "--sample", "--no-media", "--state", tmp_path / "state")
    assert second.returncode == 0, second.stderr
    assert re.search(r"requests +1\n", second.stdout)  # is the source there? nothing more
    assert "nothing was left to do" in second.stdout
    assert records(tmp_path / "state" / "graph.db") == graph
    assert sorted((tmp_path / "state" / "snapshots").iterdir()) == snapshots


def is_connected(relations: list[tuple[object, ...]], seed: str) -> set[str]:
    """What is reachable from the seed over stored relations alone."""
    neighbours: dict[str, set[str]] = {}
    for _, _, start_, end, *_ in relations:
        neighbours.setdefault(str(start_), set()).add(str(end))
        neighbours.setdefault(str(end), set()).add(str(start_))
    reached, waiting = {seed}, [seed]
    while waiting:
        new = neighbours.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached


def test_the_sample_is_what_it_promises_to_be() -> None:
    rows = [line_.rstrip("\n").split("\t", 4) for line_ in sample.lines()]
    kept = [
        row for row in rows
        if command.DEFAULT_FILTER.keeps(row[1][3:], row[2], row[3], json.loads(row[4])["weight"])
    ]  # fmt: skip
    assert len(kept) >= 1500
    assert len({end for row in kept for end in row[2:4]}) >= 300
    assert {row[1][3:] for row in kept} == set(RELATIONS)
    assert any(row[1] == "/r/ExternalURL" for row in rows)
    assert any(not row[2].startswith("/c/en/") for row in rows)
    assert any(json.loads(row[4])["weight"] < 1 for row in rows)
    assert any("/n/" in row[2] for row in kept)
    assert sum("/c/en/number" in row[2:4] for row in rows) > 1000


@any_slice
def test_a_slice_is_harvested_exactly(tmp_path: Path, path: Path) -> None:
    lines = lines_of(path)
    file = BruteForce(lines)
    mainland = file.walk("/c/en/dog")[0]
    islands = sorted(page for page in file.pages if not file.neighbours(page) & mainland)
    with Mirror(index_of(lines)) as mirror:
        for seed in ("/c/en/dog", "/c/en/cat/n", *Random(2026).sample(islands, 3)):
            folder = tmp_path / seed.replace("/", "_")
            done = run("main.py", *harvest_flags(folder, mirror.url, seed, "--fetch-workers", 16))
            assert done.returncode == 0, done.stderr
            concepts, relations = file.walk(seed)
            assert relations_of(folder) == relations
            assert set(command.finished(folder / "state")) == concepts


def test_hubs_lose_nothing_although_the_server_pages_badly(tmp_path: Path) -> None:
    lines = hub(1200) + [
        line("/r/IsA", f"/c/en/neighbour_{n}", "/c/en/thing") for n in range(0, 40, 2)
    ]
    with World(lines, shuffle=Random(5)) as world:
        done = run("main.py", *harvest_flags(tmp_path, world.url, "/c/en/hub"))
    assert done.returncode == 0, done.stderr
    concepts, relations = walk(lines, "/c/en/hub")
    assert relations_of(tmp_path) == relations
    assert entities_of(tmp_path) == concepts
    assert not [path for path in world.paths if path.startswith("/a/")]
    pages = [path for path in world.paths if path.startswith("/c/")]
    assert len(pages) == len(set(pages)) == len(concepts)


def test_the_server_never_sees_more_at_once_than_allowed(tmp_path: Path) -> None:
    with World(hub(60), latency=0.005) as world:
        flags = harvest_flags(tmp_path, world.url, "/c/en/hub", "--fetch-workers", 3)
        assert run("main.py", *flags).returncode == 0
        assert world.most_at_once == 3


@pytest.fixture
def strict(tmp_path: Path) -> Path:
    """Nothing is tried twice under these settings, so nothing is forgiven by luck."""
    config = tmp_path / "strict.toml"
    config.write_text("attempts = 1\n[http]\ntries = 1\n")
    return config


def test_one_poisoned_concept_is_parked_with_its_reason_and_the_rest_proceeds(
    tmp_path: Path, strict: Path
) -> None:
    with World(hub(60), only(about("/c/en/neighbour_0"), fails(500))) as world:
        flags = harvest_flags(tmp_path, world.url, "/c/en/hub", "--config", strict)
        done = run("main.py", *flags)
    assert done.returncode == 0, done.stderr
    seen = history(tmp_path)
    assert seen["pools"]["failed"] == 1
    assert list(seen["failures"]) == ["127.0.0.1 answered HTTP 500 (after 1 attempts)"]
    assert "Failures by reason" in done.stdout


def test_a_source_that_is_away_for_a_while_costs_nothing(tmp_path: Path, strict: Path) -> None:
    with World(hub(200), latency=0.005) as world:
        flags = harvest_flags(tmp_path, world.url, "/c/en/hub", "--config", strict)
        harvest = start("main.py", *flags)
        world.wait_for(40)
        world.down = True
        read_until("waits", harvest)
        world.down = False
        harvest.communicate(timeout=60)
    assert harvest.returncode == 0
    assert history(tmp_path)["pools"]["failed"] == 0
    assert relations_of(tmp_path) == walk(hub(200), "/c/en/hub")[1]


def test_a_refused_connection_in_the_middle_costs_nothing_either(
    tmp_path: Path, strict: Path
) -> None:
    with World(hub(200), latency=0.005) as world:
        flags = harvest_flags(tmp_path, world.url, "/c/en/hub", "--config", strict)
        harvest = start("main.py", *flags)
        world.wait_for(40)
        world.refuse()
        read_until("waits", harvest)
        world.accept()
        harvest.communicate(timeout=60)
    assert harvest.returncode == 0
    assert history(tmp_path)["pools"]["failed"] == 0
    assert relations_of(tmp_path) == walk(hub(200), "/c/en/hub")[1]


def test_depth_is_the_true_distance_however_many_work_at_once(tmp_path: Path) -> None:
    """A long way round is found first: the short way must still count."""
    steps = [
        ("a", "b"),
        ("b", "c"),
        ("c", "d"),
        ("a", "slow"),
        ("slow", "d"),
        ("d", "e"),
        ("e", "f"),
    ]
    lines = [line("/r/IsA", f"/c/en/{one}", f"/c/en/{two}") for one, two in steps]
    with World(lines) as world:
        flags = harvest_flags(tmp_path, world.url, "/c/en/a", "--depth", 2)
        assert run("main.py", *flags).returncode == 0
    asked = {path.partition("?")[0] for path in world.paths if path.startswith("/c/")}
    assert asked == {f"/c/en/{name}" for name in ("a", "b", "slow", "c", "d")}


def test_a_limit_can_be_raised_later(tmp_path: Path) -> None:
    with World(hub(60)) as world:
        for limit in (5, 12):
            flags = harvest_flags(tmp_path, world.url, "/c/en/hub", "--limit", limit)
            assert run("main.py", *flags).returncode == 0
            assert history(tmp_path)["pools"]["finished"] == limit
        assert run("main.py", *harvest_flags(tmp_path, world.url, "/c/en/hub")).returncode == 0
    assert relations_of(tmp_path) == walk(hub(60), "/c/en/hub")[1]


def test_a_depth_given_later_finds_what_waits(tmp_path: Path) -> None:
    with World(hub(60)) as world:
        for more in (("--limit", 5), ("--depth", 3)):
            flags = harvest_flags(tmp_path, world.url, "/c/en/hub", *more)
            assert run("main.py", *flags).returncode == 0
    assert relations_of(tmp_path) == walk(hub(60), "/c/en/hub")[1]


def test_a_page_that_fails_once_is_asked_again(tmp_path: Path) -> None:
    with World(hub(60), only(nth(5), fails(503))) as world:
        assert run("main.py", *harvest_flags(tmp_path, world.url, "/c/en/hub")).returncode == 0
    assert relations_of(tmp_path) == walk(hub(60), "/c/en/hub")[1]


def test_seeds_may_come_from_a_file(tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("# two islands\n/c/en/a\n/c/en/x  # the second\n")
    lines = [line("/r/IsA", "/c/en/a", "/c/en/b"), line("/r/IsA", "/c/en/x", "/c/en/y")]
    with World(lines) as world:
        assert run("main.py", *harvest_flags(tmp_path, world.url, str(seeds))).returncode == 0
    assert entities_of(tmp_path) == {"/c/en/a", "/c/en/b", "/c/en/x", "/c/en/y"}

"""A server, the index of a file and the whole file give the same graph, record by record."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from main import main
from tests.support.command import BruteForce, records
from tests.support.dump_world import signals_kept
from tests.support.slices import any_slice, lines_of
from tests.support.worlds.conceptnet import line
from tools.add import Entity
from tools.conceptnet.index.build import index_of
from tools.conceptnet.mirror.mirror import Mirror
from tools.sample import world as sample

Graph = dict[str, list[tuple[object, ...]]]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with signals_kept():
        yield


def harvested(name: str, source: object, *flags: object) -> Graph:
    given = ("--source", source, "--no-media", "-q", "--state", name, *flags)
    assert main(list(map(str, given))) == 0
    return records(Path(name, "graph.db"))


def reachable(everything: Graph, file: BruteForce, seed: str) -> Graph:
    concepts, relations = file.walk(seed)
    entities = {str(row[0]): row for row in everything["entity"] if row[0] in concepts}
    no_media = (None, None, None)
    entities.setdefault(seed, (*Entity.of(seed), *no_media))  # in no line, only its senses are
    return {
        "entity": [entities[uri] for uri in sorted(entities)],
        "relation": [row for row in everything["relation"] if row[0] in relations],
        "media": [],
    }


def assert_same(path: Path, lines: list[str], seeds: dict[str, int], served: list[str]) -> None:
    """`seeds` says with how many workers; a server is asked for some of them."""
    file = BruteForce(lines)
    everything = harvested("all", path, "--all")
    assert {row[0] for row in everything["relation"]} == {
        name for rows in file.pages.values() for name, *_ in rows
    }
    with Mirror(index_of(lines)) as mirror:
        for place, (seed, workers) in enumerate(seeds.items()):
            flags = ("--seed", seed, "--fetch-workers", workers)
            expected = reachable(everything, file, seed)
            assert expected["relation"]
            assert harvested(f"index-{place}", path, *flags) == expected, seed
            if seed in served:
                assert harvested(f"server-{place}", mirror.url, *flags) == expected, seed


def islands(lines: list[str], mainland: str, count: int) -> list[str]:
    file = BruteForce(lines)
    reached = file.walk(mainland)[0]
    pages = sorted(
        page for page in file.pages if page.count("/") > 2 and not file.neighbours(page) & reached
    )
    return Random(2026).sample(pages, min(count, len(pages)))


def test_the_sample_is_the_same_by_server_index_and_whole_file(tmp_path: Path) -> None:
    """And two islands that its seed does not reach."""
    apart = [line("/r/IsA", f"/c/en/island_{n}/n", f"/c/en/sand_{n}") for n in range(2)]
    lines = [each.rstrip("\n") for each in (*sample.lines(), *apart)]
    path = tmp_path / "sample.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    seeds = {sample.SEED: 7, **dict.fromkeys(islands(lines, sample.SEED, 2), 1)}
    assert len(seeds) == 3
    assert_same(path, lines, seeds, list(seeds))


@any_slice
def test_a_slice_is_the_same_by_server_index_and_whole_file(tmp_path: Path, path: Path) -> None:
    lines = lines_of(path)
    path = tmp_path / "slice.csv.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    alone = islands(lines, "/c/en/dog", 2)
    seeds = {"/c/en/dog": 16, "/c/en/true": 1, "/c/en/cat/n": 3, **dict.fromkeys(alone, 4)}
    assert_same(path, lines, seeds, ["/c/en/dog", *alone])

"""Paths and depths: whatever the order in which links are found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as some

from tests.pages.table_contract import THEN, child
from tools.pages.open_table import open_table
from tools.pages.page import WALKS_NO_LINK, Analysed, Child, Fetched, Link
from tools.pages.paths import Paths, all_paths
from tools.pages.table import Linking, PageTable

SEEDS = ("0", "1")
Graph = dict[str, list[str]]
PAGES = [str(each) for each in range(9)]
graphs = some.fixed_dictionaries(
    {page: some.lists(some.sampled_from(PAGES), min_size=1, max_size=4) for page in PAGES}
)


def distances(graph: Graph) -> dict[str, int]:
    found = dict.fromkeys(SEEDS, 0)
    front = list(SEEDS)
    while front:
        ahead = {child: found[url] + 1 for url in front for child in graph.get(url, ())}
        front = [url for url in ahead if url not in found]
        found |= {url: ahead[url] for url in front}
    return found


@settings(max_examples=100)
@given(graphs, some.integers(0, 10**6), some.integers(0, 3))
def test_the_depth_is_the_distance_whatever_the_order(graph: Graph, seed: int, kept: int) -> None:
    """As a crawl does: whoever sinks is looked at again."""
    chance = Random(seed)
    with (
        TemporaryDirectory() as folder,
        closing(open_table("sqlite:p.db", Path(folder), paths_kept=kept)) as table,
    ):
        table.admit([child(url) for url in SEEDS])
        waiting = list(SEEDS)
        while waiting:
            url = waiting.pop(-chance.randrange(1, min(3, len(waiting) + 1)))  # deep ones early
            admitted = table.admit(children(table, url, graph))
            waiting += sorted(admitted.new | admitted.sank)
        assert {page.url: page.depth for page in table.pages()} == distances(graph)
        for page in table.pages():
            assert len(page.paths) <= kept + 1
            assert page.depth == len(page.paths[0]) == min(map(len, page.paths))
            assert all(is_simple_walk(path, page.url, graph) for path in page.paths)


def children(table: PageTable, url: str, graph: Graph) -> list[Child]:
    page = table.page(url)
    assert page is not None
    return [child(each, *page.paths[0], url) for each in graph.get(url, ())]


def is_simple_walk(path: list[str], url: str, graph: Graph) -> bool:
    walk = [*path, url]
    steps = pairwise(walk)
    return (
        walk[0] in SEEDS
        and len(set(walk)) == len(walk)
        and all(end in graph.get(start, ()) for start, end in steps)
    )


# --- all of them -------------------------------------------------------------------------------


class Pages:
    """As a table knows them."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._depths = graph, distances(graph)

    def linking(self, depth: int) -> Iterator[Linking]:
        for url, links in self._graph.items():
            if self._depths.get(url, 99) <= depth:
                yield Linking(url, self._depths[url], [Link(each, each) for each in links])


def walks(graph: Graph, url: str, depth: int) -> set[tuple[str, ...]]:
    """The simple way to list them: forward from each seed."""
    found: set[tuple[str, ...]] = set()
    front: list[tuple[str, ...]] = [(seed,) for seed in SEEDS]
    while front:
        found |= {walk[:-1] for walk in front if walk[-1] == url}
        steps = ((walk, child) for walk in front for child in graph.get(walk[-1], ()))
        front = [(*w, child) for w, child in steps if child not in w and len(w) <= depth]
    return found


@given(graphs, some.sampled_from(PAGES), some.integers(0, 5))
def test_every_path_is_listed_once(graph: Graph, url: str, depth: int) -> None:
    graph = {page: graph.get(page, []) for page in distances(graph)}
    paths = all_paths(Pages(graph), url, depth)
    assert paths.is_all and sorted(map(tuple, paths.paths)) == sorted(walks(graph, url, depth))


def test_too_many_paths_are_cut_off_and_that_is_said() -> None:
    graph = dict.fromkeys(PAGES, PAGES)
    assert all_paths(Pages(graph), "8", 4, limit=50).is_all is False
    assert len(all_paths(Pages(graph), "8", 4, limit=50).paths) == 50


def test_redirects_walk_no_link(tmp_path: Path) -> None:
    [kind, _] = sorted(WALKS_NO_LINK)
    with closing(open_table("sqlite:p.db", tmp_path)) as table:
        table.admit([child("seed"), child("old", "seed"), child("new", "seed"), child("x")])
        table.write([fetched(url) for url in ("seed", "old")])
        table.write([Analysed(url="seed", links=[Link("old", "https://old")])])
        table.write([Analysed(url="old", links=[Link("new", "https://new", kind)])])
        assert all_paths(table, "new", 1) == Paths([["seed"]], True)
        assert all_paths(table, "old", 1) == Paths([["seed"]], True)
        assert all_paths(table, "seed", 0) == Paths([[]], True)
        assert all_paths(table, "new", 0) == Paths([], True)


def fetched(url: str) -> Fetched:
    return Fetched(url=url, fetched_at=THEN, address=f"https://{url}")

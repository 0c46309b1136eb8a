"""Paths from a seed to a page: the pages on the way, without the page itself.

A path is as long as links were walked, so that a seed has the one path `[]`. The shortest is a
page's depth and decides what is followed; of the others a few are kept for people. Nothing is lost
by that: the links of all pages are stored, and `all_paths` lists what they allow.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping
from math import inf
from typing import NamedTuple, Protocol

from .page import WALKS_NO_LINK, PagePath
from .table import Linking

MOST_PATHS = 10_000


def merged(url: str, known: list[list[str]], offered: Iterable[PagePath], kept: int) -> bool:
    """Add to the paths of a page those that are new and lead round no circle: a shortest one
    always, others while there are at most `kept` besides it. False if nothing was added.

    >>> known = [["a", "b"]]
    >>> merged("x", known, [("c",), ("a", "x"), ("a", "b"), ("d", "e", "f")], 1), known
    (True, [['c'], ['a', 'b']])
    """
    is_changed = False
    for path in offered:
        is_shortest = not known or len(path) < len(known[0])
        if url in path or not (is_shortest or len(known) <= kept) or list(path) in known:
            continue
        insort(known, list(path), key=len)
        del known[kept + 1 :]
        is_changed = True
    return is_changed


class Paths(NamedTuple):
    """`is_all` is False if there are more of them."""

    paths: list[list[str]]
    is_all: bool


class LinkedPages(Protocol):
    def linking(self, depth: int) -> Iterator[Linking]: ...


def all_paths(table: LinkedPages, url: str, depth: int, limit: int = MOST_PATHS) -> Paths:
    """Every path to a page that walks at most so many links and meets no page twice."""
    parents, depths = _ancestors(table, url, depth)
    found: list[list[str]] = []
    for path in _paths_to(url, depth, parents, depths, frozenset({url})):
        if len(found) == limit:
            return Paths(sorted(found, key=len), is_all=False)
        found.append(path)
    return Paths(sorted(found, key=len), is_all=True)


Parents = Mapping[str, Mapping[str, int]]
"""For each page those that lead to it, each with the links that are walked: 1, or 0."""


def _ancestors(table: LinkedPages, url: str, depth: int) -> tuple[Parents, dict[str, int]]:
    """All that lead to a page within so many links from a seed. The table is read once for each
    link on the way back: only forward links are stored."""
    parents: dict[str, dict[str, int]] = {url: {}}
    depths: dict[str, int] = {}
    ahead = {url: 0}  # links from there to the page
    is_changed = True
    while is_changed:
        is_changed = False
        for page in table.linking(depth):
            if page.url == url:
                depths[url] = page.depth
            for link in page.links:
                if link.url not in ahead or link.url == page.url:
                    continue
                walked = 0 if link.kind in WALKS_NO_LINK else 1
                whole = ahead[link.url] + walked
                if page.depth + whole > depth:
                    continue
                depths[page.url] = page.depth
                known = parents[link.url]
                known[page.url] = min(walked, known.get(page.url, 1))
                if whole < ahead.get(page.url, inf):
                    ahead[page.url] = whole
                    parents.setdefault(page.url, {})
                    is_changed = True
    return parents, depths


def _paths_to(
    url: str, left: int, parents: Parents, depths: Mapping[str, int], seen: frozenset[str]
) -> Iterator[list[str]]:
    if depths.get(url) == 0:
        yield []
    for parent, walked in parents[url].items():
        if parent not in seen and depths[parent] + walked <= left:
            for path in _paths_to(parent, left - walked, parents, depths, seen | {parent}):
                yield [*path, parent] if walked else path

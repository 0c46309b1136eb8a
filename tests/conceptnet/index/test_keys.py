"""Names that share a hash, or the piece of it that is kept, never share a page."""

from __future__ import annotations

import pytest
from xxhash import xxh3_64_intdigest

from tests.support.command import DEFAULT_FILTER
from tests.support.worlds.conceptnet import line
from tools.conceptnet.index import keys
from tools.conceptnet.index.build import index_of
from tools.conceptnet.index.index import Index
from tools.conceptnet.index.keys import EDGE, END, START, hashed
from tools.conceptnet.mirror.pages import answer_to

FRENCH = [line("/r/IsA", f"/c/fr/{n}", "/c/fr/de", 9.0 - n) for n in range(5)]
SPANISH = [line("/r/IsA", "/c/es/de", "/c/en/from")]
MANY = [
    line("/r/IsA", f"/c/en/{start}", f"/c/en/{end}", 1 + (start * end) % 7)
    for start in range(40)
    for end in range(start % 5)
]


def test_the_start_of_a_short_name_is_not_the_end_of_another() -> None:
    index = index_of(FRENCH + SPANISH)
    rows, has_more = index.find({"node": "/c/es/de"}, 0, 1)
    assert ([row.start for row in rows], has_more) == ([b"/c/es/de"], False)
    assert b"nextPage" not in answer_to(index, "/c/es/de", {"limit": "1"}).body
    assert b"is not a node" in answer_to(index, "/c/es/de", {"limit": "1", "offset": "1"}).body


def test_no_two_names_of_eight_bytes_share_a_hash() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    names = [f"/c/{one}{two}/de" for one in letters for two in letters]
    assert len({hashed(name, side) for name in names for side in (START, END, EDGE)}) == 3 * 26**2


@pytest.fixture
def weak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only three bits of what an index keeps of a hash differ."""

    def digest(text: bytes, _seed: int = 0) -> int:
        strong = xxh3_64_intdigest(text)
        return strong & 0x7 << 61 | strong & 0xFFFFFF

    monkeypatch.setattr(keys, "xxh3_64_intdigest", digest)


def brute_force(lines: list[str], node: str) -> list[str]:
    rows = [each.split("\t") for each in lines]
    return [row[0] for row in rows if node in row[2:4]]


@pytest.mark.parametrize("limit", [1, 2, 3, 1000])
def test_what_shares_a_hash_by_chance_is_left_out_before_a_page_is_cut(
    weak: None, limit: int
) -> None:
    index = index_of(MANY)
    for number in range(42):
        node = f"/c/en/{number}"
        found = pages(index, node, limit)
        assert sorted(found) == sorted(brute_force(MANY, node))


def pages(index: Index, node: str, limit: int) -> list[str]:
    """Every page but the last is full."""
    found: list[str] = []
    has_more = True
    while has_more:
        rows, has_more = index.find({"node": node}, len(found), limit)
        assert len(rows) == limit or not has_more
        found += [row.said["@id"] for row in rows]
    return found


def test_nor_does_chance_disturb_edges_filters_or_walks(weak: None) -> None:
    index = index_of(MANY)
    for each in MANY[::7]:
        uri, _, start, end, _ = each.split("\t")
        assert index.edge(uri) is not None
        rows, has_more = index.find({"start": start, "end": end, "rel": "/r/IsA"}, 0, 1)
        assert ([row.said["@id"] for row in rows], has_more) == ([uri], False)
        about = {row.said["@id"] for row in index.about(start, DEFAULT_FILTER)}
        assert about == set(brute_force(MANY, start))
    assert index.find({"start": "/c/en/1000", "rel": "/r/IsA"}) == ([], False)


def test_a_name_that_is_no_text_is_not_the_one_it_would_be_written_as() -> None:
    index = index_of([line("/r/IsA", "/c/en/a?b", "/c/en/d")])
    assert index.knows("/c/en/a?b")
    assert not index.knows("/c/en/a\udcffb")
    assert index.find({"node": "/c/en/a\udcffb"}) == ([], False)
    assert index.find({"start": "/c/en/a\udcffb"}) == ([], False)

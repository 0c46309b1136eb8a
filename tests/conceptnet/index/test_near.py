"""Near names for a concept that is not there."""

from __future__ import annotations

from pathlib import Path
from random import Random
from time import monotonic

import pytest

from tests.support.command import DEFAULT_FILTER
from tests.support.worlds.conceptnet import line
from tools.conceptnet.file_source import DumpSource
from tools.conceptnet.index.build import index_of
from tools.conceptnet.index.index import Index
from tools.conceptnet.index.near import LONGEST, MOST_NAMES, near
from tools.conceptnet.settings import DumpSettings

KNOWN = {
    **{"/c/en/dog": 9, "/c/en/do": 5, "/c/en/go": 3, "/c/en/ego": 1, "/c/en/ice_cream": 2},
    **{"/c/en/elephant": 1, "/c/de/bär": 2, "/c/de/hund": 1, "/c/ru/собака": 1},
    **{"/c/en/bank/n/wn/place": 1, "/c/fr/garçon": 1, "/c/en/dig": 0},
}
LINES = [
    line("/r/IsA", uri, f"/c/en/x{n}zzzzzz") for uri, edges in KNOWN.items() for n in range(edges)
]


@pytest.fixture(scope="module")
def index() -> Index:
    return index_of(LINES)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("/c/en/dgo", ["/c/en/dog", "/c/en/do", "/c/en/go"]),
        ("/c/en/Dog", ["/c/en/dog"]),
        ("/c/EN/DOG", ["/c/en/dog"]),
        ("/c/en/dgo/n", ["/c/en/dog", "/c/en/do", "/c/en/go"]),
        ("/c/en/Ice-Cream", ["/c/en/ice_cream"]),
        ("/c/en/ice cream", ["/c/en/ice_cream"]),
        ("/c/en/icecream", ["/c/en/ice_cream"]),
        ("/c/en/elefant", ["/c/en/elephant"]),
        ("/c/en/elephnat", ["/c/en/elephant"]),
        ("/c/en/elephantt", ["/c/en/elephant"]),
        ("/c/en/bnak", ["/c/en/bank"]),
        ("/c/de/bar", ["/c/de/bär"]),
        ("/c/de/Hund", ["/c/de/hund"]),
        ("/c/fr/garcon", ["/c/fr/garçon"]),
        ("/c/ru/собка", ["/c/ru/собака"]),
        ("/c/en/hund", []),
        ("/c/en/nothing_like_it", []),
        *((odd, []) for odd in ("", "/", "/c", "/c/en", "/c/en/", "dgo", "/c/en/---", "/r/IsA")),
        ("/c/en/" + "dgo" * 2_000, []),
        ("/c/en/\ud800", []),
    ],
)
def test_what_was_meant_is_found(index: Index, asked: str, meant: list[str]) -> None:
    assert index.near(asked) == meant


def test_what_is_there_is_no_suggestion_for_itself(index: Index) -> None:
    assert "/c/en/dog" not in index.near("/c/en/dog")


def test_the_work_is_bounded() -> None:
    longest = "/c/en/" + "".join(Random(1).choices("abcdefgh", k=LONGEST))
    assert max(map(len, near(longest))) <= MOST_NAMES
    began = monotonic()
    index_of(LINES).near(longest)
    assert monotonic() - began < 10


def test_a_file_as_a_source_tells_them(tmp_path: Path) -> None:
    file = tmp_path / "file.csv"
    file.write_text("".join(f"{each.rstrip()}\n" for each in LINES))
    source = DumpSource(file, DEFAULT_FILTER, DumpSettings(), quiet=True)
    source.check()
    assert source.near("/c/en/dgo")[0] == "/c/en/dog"

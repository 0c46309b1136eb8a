"""The made-up dump that measurements read: it must look like ConceptNet's, or they mean nothing."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from bench.dump_lines import write
from bench.dump_pairs import COMMON, REAL_LINES
from bench.mirror_load import concepts, load
from tests.conceptnet.index.test_index import WORLD
from tools.conceptnet.index.build import index_of
from tools.conceptnet.mirror.mirror import Mirror

LINES = 30_000


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dump") / "made-up.csv.gz"
    write(path, LINES)
    return path


@pytest.fixture(scope="module")
def rows(dump: Path) -> Sequence[Sequence[str]]:
    lines = gzip.decompress(dump.read_bytes()).decode().split("\n")
    assert lines.pop() == ""
    return [line.split("\t") for line in lines]


def is_english(row: Sequence[str]) -> bool:
    return row[2].startswith("/c/en/") and row[3].startswith("/c/en/")


def test_it_has_as_many_distinct_lines_as_asked_for_in_the_order_of_their_bytes(
    rows: Sequence[Sequence[str]],
) -> None:
    uris = [row[0].encode() for row in rows]
    assert len(uris) == LINES
    assert all(one < other for one, other in pairwise(uris))


def test_the_first_column_is_made_of_the_three_after_it(rows: Sequence[Sequence[str]]) -> None:
    for uri, relation, start, end, _ in rows:
        piece = f"/{end}" if end.startswith("http") else end
        assert uri == f"/a/[{relation}/,{start}/,{piece}/]"


def test_the_last_column_is_json_as_the_real_dump_writes_it(rows: Sequence[Sequence[str]]) -> None:
    for row in rows:
        info = json.loads(row[4])
        assert json.dumps(info, ensure_ascii=False, sort_keys=True) == row[4]
        assert {"dataset", "license", "sources", "weight"} <= info.keys()


def test_english_has_its_real_share_of_each_relation(rows: Sequence[Sequence[str]]) -> None:
    found = Counter(row[1].removeprefix("/r/") for row in rows if is_english(row))
    assert sum(found.values()) / LINES == pytest.approx(0.1, abs=0.005)
    for relation, count in COMMON.items():
        assert found[relation] == round(count * LINES / REAL_LINES)


def test_weights_and_texts_have_their_real_shares(rows: Sequence[Sequence[str]]) -> None:
    weights = [json.loads(row[4])["weight"] for row in rows if is_english(row)]
    assert sum(weight < 1 for weight in weights) / len(weights) == pytest.approx(0.07, abs=0.02)
    texts = sum('"surfaceText"' in row[4] for row in rows)
    assert texts / LINES == pytest.approx(0.064, abs=0.01)


def test_the_same_seed_makes_the_same_bytes_and_another_others(tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        write(tmp_path / name, 2_000, seed)
    one, again, other = ((tmp_path / name).read_bytes() for name in ("one", "again", "other"))
    assert one == again != other
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "one", "other"]


def test_concepts_to_ask_for_are_those_of_the_dump(
    dump: Path, rows: Sequence[Sequence[str]]
) -> None:
    asked = concepts(dump, 100, "/c/en/")
    assert len(set(asked)) == 100
    assert set(asked) <= {end for row in rows for end in row[2:4] if end.startswith("/c/en/")}


def test_pages_of_all_clients_are_counted_and_what_is_no_page_is_an_error() -> None:
    with Mirror(index_of(WORLD)) as mirror:
        pace = load(mirror.url, ["/c/en/dog", "/c/en/no_such_concept"], clients=3, seconds=0.3)
    assert pace.pages > 0
    assert pace.errors > 0
    assert pace.rate == pytest.approx(pace.pages / 0.3)

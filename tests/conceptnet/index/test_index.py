"""The index over dump lines: what is found, in which order, and how an edge looks."""

from __future__ import annotations

import gc
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import DEFAULT_FILTER
from tests.support.slices import any_slice, lines_of
from tools.conceptnet.dump.shown import Edge
from tools.conceptnet.index.build import index_of, open_index
from tools.conceptnet.index.index import Index
from tools.errors import UsageError
from tools.uri import assertion

OMCS = {"activity": "/s/activity/omcs/vote", "contributor": "/s/contributor/omcs/ann"}
VERBOSITY = {"contributor": "/s/resource/verbosity", "process": "/s/process/split_words"}
WORDNET = {"contributor": "/s/resource/wordnet/rdf/3.1"}


def line(
    rel: str,
    start: str,
    end: str,
    weight: float = 1.0,
    dataset: str = "/d/conceptnet/4/en",
    source: dict[str, str] = OMCS,
    **surface: str,
) -> str:
    info = {"dataset": dataset, "license": "cc:by/4.0", "sources": [source], "weight": weight}
    text = json.dumps({**info, **surface}, sort_keys=True, ensure_ascii=False)
    return "\t".join([assertion(rel, start, end), rel, start, end, text]) + "\n"


WORLD = [
    line("/r/RelatedTo", "/c/en/dog", "/c/en/pet", dataset="/d/verbosity", source=VERBOSITY),
    line("/r/Antonym", "/c/en/cat", "/c/en/dog"),
    line(
        "/r/IsA",
        "/c/en/dog",
        "/c/en/animal",
        4.0,
        surfaceText="[[a dog]] is [[an animal]]",
        surfaceStart="a dog",
        surfaceEnd="an animal",
    ),
    line(
        "/r/IsA",
        "/c/en/dog/n/wn/animal",
        "/c/en/canine/n/wn/animal",
        2.0,
        dataset="/d/wordnet/3.1",
        source=WORDNET,
    ),
    line("/r/Synonym", "/c/fr/chien", "/c/en/dog/n", 1.5),
    line("/r/DistinctFrom", "/c/en/dog", "/c/en/dog/v"),
    line("/r/ExternalURL", "/c/en/dog", "http://dbpedia.org/resource/Guide_dog"),
    line("/r/ExternalURL", "/c/en/dog", "http://sw.opencyc.org/concept/Mx4r", 0.5),
    line("/r/RelatedTo", "/c/en/dogma", "/c/en/belief"),
    line("/r/AtLocation", "/c/en/naïve_waiter", "/c/en/café"),
    line("/r/IsA", "/c/en/washington,_d.c", "/c/en/city/n"),
    line("/r/IsA", "/c/en/cat's_cradle", "/c/en/game/n/wikt/en_1"),
    line("/r/dbpedia/genre", "/c/en/cats", "/c/en/musical/n/wp/theatre"),
    line("/r/HasA", "/c/en/cat", "/c/en/tail", 0.25),
    line("/r/UsedFor", "/c/en/pet", "/c/en/company"),
]


@pytest.fixture(scope="module")
def world() -> Index:
    return index_of(WORLD)


def ends(rows: list[Edge]) -> list[tuple[str, str]]:
    return [(row.start.decode(), row.end.decode()) for row in rows]


def shown(row: Edge) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(row.shown)
    return found


def edge_of(world: Index, rel: str, start: str, end: str) -> dict[str, Any]:
    row = world.edge(assertion(rel, start, end))
    assert row is not None
    return shown(row)


def test_the_order_is_by_weight_then_place_in_the_file(world: Index) -> None:
    everything, has_more = world.find({}, 0, 100)
    assert len(everything) == len(world) == len(WORLD)
    assert not has_more
    places = {each.partition("\t")[0]: place for place, each in enumerate(WORLD)}
    keys = [(-shown(row)["weight"], places[shown(row)["@id"]]) for row in everything]
    assert keys == sorted(keys)


def test_edges_of_both_directions_are_in_one_order(world: Index) -> None:
    weights = [shown(row)["weight"] for row in world.find({"node": "/c/en/dog"})[0]]
    assert weights == [4.0, 2.0, 1.5, 1.0, 1.0, 1.0, 1.0, 0.5]


def test_a_node_lists_its_senses_but_not_words_that_begin_alike(world: Index) -> None:
    rows, _ = world.find({"node": "/c/en/dog"})
    assert ("/c/en/dog/n/wn/animal", "/c/en/canine/n/wn/animal") in ends(rows)
    assert ("/c/fr/chien", "/c/en/dog/n") in ends(rows)
    assert ("/c/en/dogma", "/c/en/belief") not in ends(rows)


def test_a_sense_does_not_list_its_term(world: Index) -> None:
    rows, _ = world.find({"node": "/c/en/dog/n"})
    assert ends(rows) == [
        ("/c/en/dog/n/wn/animal", "/c/en/canine/n/wn/animal"),
        ("/c/fr/chien", "/c/en/dog/n"),
    ]


def test_an_edge_with_both_ends_under_the_node_comes_once(world: Index) -> None:
    rows, _ = world.find({"node": "/c/en/dog"})
    assert ends(rows).count(("/c/en/dog", "/c/en/dog/v")) == 1


@pytest.mark.parametrize(
    ("criteria", "count"),
    [
        ({"node": "/c/en/dog"}, 8),
        ({"start": "/c/en/dog"}, 6),
        ({"end": "/c/en/dog"}, 3),
        ({"other": "/c/en/dog"}, 3),
        ({"node": "/c/en/dog", "other": "/c/en"}, 5),
        ({"node": "/c/en/dog", "other": "/c/en", "rel": "/r/IsA"}, 2),
        ({"node": "/c/en/animal", "other": "/c/en/dog"}, 1),
        ({"start": "/c/en/animal", "end": "/c/en/dog"}, 0),
        ({"node": "http://dbpedia.org/resource/Guide_dog"}, 1),
        ({"node": "http://dbpedia.org/resource"}, 0),
        ({"rel": "/r/dbpedia"}, 1),
        ({"rel": "/r/IsA", "start": "/c/en/washington,_d.c"}, 1),
        ({"dataset": "/d/wordnet"}, 1),
        ({"dataset": "/d/wordnet/3.1", "rel": "/r/Antonym"}, 0),
        ({"source": "/s/resource/wordnet"}, 1),
        ({"source": "/s/process/split_words"}, 1),
        ({"source": "/s/resource"}, 0),
        ({"source": "/s/contributor/omcs", "node": "/c/en/cat"}, 2),
        ({"start": ""}, 0),
        ({"node": "/c/en/Dog"}, 0),
        ({}, len(WORLD)),
    ],
)
def test_what_meets_the_criteria(world: Index, criteria: dict[str, str], count: int) -> None:
    rows, has_more = world.find(criteria, 0, 100)
    assert (len(rows), has_more) == (count, False)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 9])
def test_pages_lose_and_repeat_nothing(world: Index, limit: int) -> None:
    whole, _ = world.find({"node": "/c/en/dog"}, 0, 100)
    paged: list[Edge] = []
    has_more = True
    while has_more:
        rows, has_more = world.find({"node": "/c/en/dog"}, len(paged), limit)
        paged += rows
    assert paged == whole


def test_a_page_of_nothing_still_says_whether_more_follows(world: Index) -> None:
    assert world.find({"node": "/c/en/dog"}, 0, 0) == ([], True)
    assert world.find({"node": "/c/en/dog"}, 8, 0) == ([], False)
    assert world.find({"node": "/c/en/dog"}, 90_000, 20) == ([], False)


def test_an_unknown_criterion_is_refused(world: Index) -> None:
    with pytest.raises(ValueError, match=r"unknown criteria.*'relation'"):
        world.find({"relation": "/r/IsA"})


def test_an_edge_is_found_by_its_exact_uri_only(world: Index) -> None:
    assert world.edge("/a/[/r/Antonym/,/c/en/cat/,/c/en/dog/]") is not None
    assert world.edge("/a/[/r/Antonym/,/c/en/cat/]") is None


def test_an_edge_has_the_shape_of_the_api(world: Index) -> None:
    assert edge_of(world, "/r/IsA", "/c/en/dog", "/c/en/animal") == {
        "@id": "/a/[/r/IsA/,/c/en/dog/,/c/en/animal/]",
        "@type": "Edge",
        "dataset": "/d/conceptnet/4/en",
        "end": {
            "@id": "/c/en/animal",
            "@type": "Node",
            "label": "an animal",
            "language": "en",
            "term": "/c/en/animal",
        },
        "license": "cc:by/4.0",
        "rel": {"@id": "/r/IsA", "@type": "Relation", "label": "IsA"},
        "sources": [
            {
                "@id": "/and/[/s/activity/omcs/vote/,/s/contributor/omcs/ann/]",
                "@type": "Source",
                "activity": "/s/activity/omcs/vote",
                "contributor": "/s/contributor/omcs/ann",
            }
        ],
        "start": {
            "@id": "/c/en/dog",
            "@type": "Node",
            "label": "a dog",
            "language": "en",
            "term": "/c/en/dog",
        },
        "surfaceText": "[[a dog]] is [[an animal]]",
        "weight": 4.0,
    }


def test_a_sense_a_lone_source_and_a_missing_text(world: Index) -> None:
    edge = edge_of(world, "/r/IsA", "/c/en/dog/n/wn/animal", "/c/en/canine/n/wn/animal")
    assert edge["start"] == {
        "@id": "/c/en/dog/n/wn/animal",
        "@type": "Node",
        "label": "dog",
        "language": "en",
        "sense_label": "n, animal",
        "term": "/c/en/dog",
    }
    assert edge["sources"] == [
        {
            "@id": "/s/resource/wordnet/rdf/3.1",
            "@type": "Source",
            "contributor": "/s/resource/wordnet/rdf/3.1",
        }
    ]
    assert edge["surfaceText"] is None


def test_an_external_node_has_a_site_instead_of_a_language(world: Index) -> None:
    address = "http://dbpedia.org/resource/Guide_dog"
    assert edge_of(world, "/r/ExternalURL", "/c/en/dog", address)["end"] == {
        "@id": address,
        "@type": "Node",
        "label": "Guide dog",
        "path": "/resource/Guide_dog",
        "site": "dbpedia.org",
        "site_available": True,
        "term": address,
    }
    dead = edge_of(world, "/r/ExternalURL", "/c/en/dog", "http://sw.opencyc.org/concept/Mx4r")
    assert dead["end"]["site_available"] is False


@pytest.mark.parametrize(
    ("end", "sense_label"),
    [("/c/en/game/n/wikt/en_1", "n"), ("/c/en/musical/n/wp/theatre", "n, theatre")],
)
def test_a_sense_label_is_longer_for_wordnet_and_wikipedia_only(
    world: Index, end: str, sense_label: str
) -> None:
    rows, _ = world.find({"end": end})
    assert shown(rows[0])["end"]["sense_label"] == sense_label


def information(**changes: Any) -> str:
    info = {"dataset": "/d/x", "license": "cc:by/4.0", "sources": [OMCS], "weight": 1.0}
    return json.dumps({key: value for key, value in {**info, **changes}.items() if value != ...})


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("", "1 column instead of 5"),
        ("/a/[]\t/r/IsA\t/c/en/a\t/c/en/b", "4 columns instead of 5"),
        ("/x\t/r/IsA\t/c/en/a\t/c/en/b\t" + information(), "URI '/x' does not begin with /a/["),
        (
            "/a/[]\tIsA\t/c/en/a\t/c/en/b\t" + information(),
            "relation 'IsA' does not begin with /r/",
        ),
        (
            "/a/[]\t/r/IsA\ta\t/c/en/b\t" + information(),
            "start 'a' does not begin with /c/ or http",
        ),
        ("/a/[]\t/r/IsA\t/c/en/a\t\t" + information(), "end '' does not begin with /c/ or http"),
        ("/a/[]\t/r/IsA\t/c/en/a\t/c/en/b\t{", "the information is not JSON"),
        ("/a/[]\t/r/IsA\t/c/en/a\t/c/en/b\t[]", "the information is not an object"),
        ("/a/[]\t/r/IsA\t/c/en/a\t/c/en/b\t{}\textra", "6 columns instead of 5"),
        ("/a/[]\t/r/IsA\t/c/en/a\t/c/en/b\t" + information(weight=...), "weight None"),
        ("/a/[]\t/r/IsA\t/c/en/a\t/c/en/b\t" + information(weight="1"), "weight '1'"),
        ("/a/[]\t/r/IsA\t/c/en/a\t/c/en/b\t" + information(weight=True), "weight True"),
        ("/a/[]\t/r/IsA\t/c/en/a\t/c/en/b\t" + information(dataset=3), "dataset 3"),
        ("/a/[]\t/r/IsA\t/c/en/a\t/c/en/b\t" + information(license=...), "license None"),
        ("/a/[]\t/r/IsA\t/c/en/a\t/c/en/b\t" + information(sources="x"), "sources is not"),
        ("/a/[]\t/r/IsA\t/c/en/a\t/c/en/b\t" + information(sources=[{}]), "sources is not"),
        ("/a/[]\t/r/IsA\t/c/en/a\t/c/en/b\t" + information(sources=[{"a": 1}]), "sources is not"),
        (WORLD[1], "was there before"),
    ],
)
def test_a_malformed_line_is_named_with_what_is_wrong(bad: str, reason: str) -> None:
    with pytest.raises(UsageError, match="line 3: ") as caught:
        index_of([*WORLD[:2], bad, *WORLD[2:]])
    assert reason in str(caught.value)


@pytest.mark.parametrize("name", ["world.csv", "world.tsv", "world.csv.gz"])
def test_files_are_read_plain_and_compressed(tmp_path: Path, world: Index, name: str) -> None:
    path = tmp_path / name
    content = "".join(WORLD).encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert open_index(path, None).find({}, 0, 100) == world.find({}, 0, 100)


def test_only_a_newline_ends_a_line(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_bytes(line("/r/IsA", "/c/en/a\rb\x85c\u2028d", "/c/en/d").encode())
    assert len(open_index(path, None)) == 1


@pytest.mark.parametrize("place", [b"/c/en/cat", b"cc:by"])
def test_bytes_that_are_no_utf8_are_named_with_file_and_line(tmp_path: Path, place: bytes) -> None:
    path = tmp_path / "broken.csv"
    path.write_bytes("".join(WORLD[:2]).encode() + WORLD[13].encode().replace(place, b"\xff", 1))
    with pytest.raises(UsageError, match=r"broken\.csv .* line 3: not UTF-8"):
        open_index(path, None)


def test_windows_line_ends_are_harmless() -> None:
    assert shown(index_of([WORLD[0].replace("\n", "\r\n")]).find({})[0][0])["weight"] == 1.0


def test_no_lines_are_no_assertions() -> None:
    with pytest.raises(UsageError, match="is no assertions file"):
        index_of([])


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_an_index_that_nobody_needs_any_more_holds_no_files() -> None:
    gc.disable()
    try:
        before = open_files()
        index = index_of(WORLD)
        assert index.find({"node": "/c/en/dog", "rel": "/r/IsA"})[0]
        assert index.about("/c/en/dog", DEFAULT_FILTER)
        assert open_files() > before
        del index
        assert open_files() <= before  # an older test may let go of some meanwhile
    finally:
        gc.enable()


@any_slice
def test_every_edge_of_a_slice_is_found_under_each_of_its_ends(tmp_path: Path, path: Path) -> None:
    assertions = open_index(path, None, home=tmp_path / "index")
    rows, _ = assertions.find({}, 0, len(assertions))
    assert len(rows) == len(lines_of(path))
    for row in rows[:: 1 + len(rows) // 400]:
        for role, uri in (("start", row.start.decode()), ("end", row.end.decode())):
            found, _ = assertions.find({role: uri}, 0, len(assertions))
            assert row in found
        assert assertions.edge(shown(row)["@id"]) == row
        assert set(shown(row)) >= {"@id", "start", "end", "rel", "sources", "weight"}
    relations = Counter(shown(row)["rel"]["@id"] for row in rows)
    found_by = {rel: assertions.find({"rel": rel}, 0, 100_000)[0] for rel in relations}
    assert {rel: len(found) for rel, found in found_by.items()} == relations

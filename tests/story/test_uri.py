"""URIs are taken apart and put together without loss, whatever stands in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.support.slices import any_slice, lines_of
from tools import uri

LONG = "/c/en/" + "a" * 5000

pieces = st.text(st.characters(exclude_characters="/", exclude_categories=["Cs"]), min_size=1)
concepts = st.builds(
    lambda language, steps: f"/c/{language}/" + "/".join(steps),
    st.sampled_from(["en", "de", "zh", "roa_opt"]),
    st.lists(pieces, min_size=1, max_size=4),
).filter(uri.is_concept)
relations = st.sampled_from(["/r/IsA", "/r/ExternalURL", "/r/dbpedia/genre"])
addresses = st.builds(
    lambda path: "http://example.org/" + "/".join(path), st.lists(pieces, min_size=1, max_size=3)
).filter(lambda address: "/,/" not in address + "/")


@pytest.mark.parametrize(
    "good",
    [
        "/c/en/dog",
        "/c/en/dog/n",
        "/c/en/dog/n/wn/animal",
        "/c/en/washington,_d.c",
        "/c/en/cat's_cradle",
        "/c/en/naïve_waiter",
        "/c/zh/狗",
        "/c/en/🐕",
        "/c/roa_opt/x",
        "/c/zh-hans/x",
        "/c/en/...",
        "/c/en/,,",
        "/c/en/'}) DETACH DELETE n //".replace(" ", "_").rstrip("/"),
        LONG,
    ],
)
def test_concepts(good: str) -> None:
    assert uri.is_concept(good)
    assert uri.language(good) == good.split("/")[2]


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "dog",
        "/c",
        "/c/en",
        "/c/en/",
        "/c/en/dog/",
        "/c/en//dog",
        "/c/en/a b",
        "/c/en/a\nb",
        "/c/en/dog\n",
        "\n/c/en/dog",
        "/c/en/a\rb",
        "/c/en/a\x00b",
        "/c/en/a\x85b",
        "/c/en/a\u2028b",
        "/c/EN/dog",
        "/c/e/dog",
        "/c/english/dog",
        "/c/../dog",
        "/c/en/..",
        "/c/en/.",
        "/c/en/../../etc/passwd",
        "/c/en/dog/./n",
        "/c/en/,",
        "/c/en/dog/,/c/en/cat",
        "/r/IsA",
        "/a/[/r/IsA/,/c/en/a/,/c/en/b/]",
        "http://example.org/c/en/dog",
        "c/en/dog",
        "//c/en/dog",
    ],
)
def test_what_is_no_concept(bad: str) -> None:
    assert not uri.is_concept(bad)


assertions = st.builds(uri.assertion, st.just("/r/CapableOf"), concepts, concepts)


@given(st.sets(st.one_of(concepts, assertions), min_size=1, max_size=4))
@example({"/c/en/a@b", "/c/en/a/b", "/c/en/dog/image", "/c/en/.hidden", LONG, LONG + "b"})
@example(
    {
        uri.assertion("/r/IsA", "/c/en/a@c@en", "/c/en/b"),
        uri.assertion("/r/IsA", "/c/en/a/c/en", "/c/en/b"),
    }
)
def test_no_two_share_a_folder_and_no_name_is_odd(owners: set[str]) -> None:
    folders = [uri.media_folder(owner) for owner in owners]
    assert len(set(folders)) == len(owners)
    for name in (name for folder in folders for name in folder.split("/")):
        assert 0 < len(name.encode()) <= 255
        assert not name.startswith(".")
        assert name not in ("image", "audio", "visual")


@given(concepts)
def test_a_concept_stays_on_one_line_and_in_its_folder(concept: str) -> None:
    assert len(concept.splitlines()) == 1
    assert not {"", ".", ".."} & set(concept.split("/")[1:])


# ---- its parts


@pytest.mark.parametrize(
    ("concept", "label", "term", "sense"),
    [
        ("/c/en/dog", "dog", "/c/en/dog", None),
        ("/c/en/dog/n", "dog", "/c/en/dog", "n"),
        ("/c/en/guide_dog/n/wn/animal", "guide dog", "/c/en/guide_dog", "n/wn/animal"),
        ("/c/en/washington,_d.c/n", "washington, d.c", "/c/en/washington,_d.c", "n"),
        ("/c/en/cat's_cradle", "cat's cradle", "/c/en/cat's_cradle", None),
        (LONG, "a" * 5000, LONG, None),
    ],
)
def test_the_parts_of_a_concept(concept: str, label: str, term: str, sense: str | None) -> None:
    assert (uri.label(concept), uri.term(concept), uri.sense(concept)) == (label, term, sense)


def test_an_external_address_is_left_as_it_is() -> None:
    address = "http://dbpedia.org/resource/Guide_dog"
    assert uri.is_external(address)
    assert uri.is_external("https://example.org/")
    assert uri.label(address) == "Guide dog"
    assert uri.term(address) == address
    assert uri.sense(address) is None
    assert uri.language(address) is None
    assert uri.prefixes(address) == [address]


@pytest.mark.parametrize("text", ["", "/", "/c", "/c/", "//", "dog", "/c/en/a\nb", "/c/en/\x00"])
def test_parts_of_nonsense_are_no_errors(text: str) -> None:
    uri.label(text)
    uri.term(text)
    uri.sense(text)
    uri.language(text)
    uri.prefixes(text)


@given(concepts)
def test_a_concept_is_its_term_and_its_sense(concept: str) -> None:
    sense = uri.sense(concept)
    assert concept == uri.term(concept) + (f"/{sense}" if sense else "")
    assert uri.label(concept) == uri.label(uri.term(concept))


@given(concepts)
def test_a_concept_is_under_each_of_its_prefixes(concept: str) -> None:
    prefixes = uri.prefixes(concept)
    assert prefixes[0] == concept
    assert uri.term(concept) in prefixes
    assert all(f"{concept}/".startswith(f"{prefix}/") for prefix in prefixes)


@given(concepts, concepts)
def test_every_concept_above_is_a_prefix(one: str, other: str) -> None:
    assert f"{one}/".startswith(f"{other}/") == (other in uri.prefixes(one))


# ---- assertions


@given(relations, concepts, concepts)
@example("/r/IsA", "/c/en/washington,_d.c", "/c/en/city/n")
@example("/r/IsA", "/c/en/a,", "/c/en/,b")
@example("/r/IsA", "/c/en/cat's_cradle", "/c/en/game/n/wikt/en_1")
@example("/r/IsA", "/c/en/]", "/c/en/[")
@example("/r/IsA", LONG, LONG)
def test_an_assertion_between_concepts_is_parsed_into_what_it_was_made_of(
    relation: str, start: str, end: str
) -> None:
    assert uri.parse_assertion(uri.assertion(relation, start, end)) == (relation, start, end)


@given(concepts, addresses)
@example("/c/en/dog", "http://dbpedia.org/resource/Dog")
def test_an_assertion_with_an_external_end_too(concept: str, address: str) -> None:
    assume(not address.endswith("/"))
    made = uri.assertion("/r/ExternalURL", concept, address)
    assert uri.parse_assertion(made) == ("/r/ExternalURL", concept, address)


@given(relations, concepts, concepts)
def test_the_label_of_an_assertion_names_both_ends(relation: str, start: str, end: str) -> None:
    label = uri.label(uri.assertion(relation, start, end))
    assert label == f"{uri.label(start)} {uri.label(relation)} {uri.label(end)}"


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "/a/",
        "/a/[",
        "/a/[]",
        "/a/[/]",
        "/a/[/r/IsA/]",
        "/a/[/r/IsA/,/c/en/a/]",
        "/a/[/r/IsA/,/c/en/a/,/c/en/b/,/c/en/c/]",
        "/a/[/r/IsA/,/c/en/a/,/c/en/b/",
        "/a/[/r/IsA/,/c/en/a/,/c/en/b/]\n",
        "/c/en/dog",
    ],
)
def test_what_is_no_assertion_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="not an assertion"):
        uri.parse_assertion(bad)


@any_slice
def test_every_assertion_of_a_slice_is_what_we_make_of_its_parts(path: Path) -> None:
    rows = [line.split("\t")[:4] for line in lines_of(path)]
    assert len(rows) > 100
    for whole, relation, start, end in rows:
        assert uri.parse_assertion(whole) == (relation, start, end.rstrip("/"))
        assert uri.assertion(relation, start, end) == whole
        assert uri.is_concept(start)
        assert uri.is_concept(end) or uri.is_external(end)


def test_no_folder_is_too_deep_for_a_file_system(tmp_path: Path) -> None:
    sense = "/".join(["\N{DOG}" * 50] * 39)
    owners = [f"/c/en/{sense}/{end}" for end in ("a", "b", "b/c", "b" * 300)]
    owners.append(f"/c/en/{sense}")
    folders = [uri.media_folder(owner) for owner in owners]
    assert len(set(folders)) == len(owners)
    for folder in folders:
        (tmp_path / folder / "visual").mkdir(parents=True)
        (tmp_path / folder / "visual" / "0.gif.part").touch()
        assert folder.startswith("en/\N{DOG}") and len(folder.encode()) <= uri.LONGEST_FOLDER


def test_ordinary_folders_stay_where_they_are() -> None:
    deep = "/".join(["n" * 180] * 5)
    assert uri.media_folder(f"/c/en/{deep}") == f"en/{deep}"
    assert uri.media_folder("/c/en/dog/n/wn/animal") == "en/dog/n/wn/animal"

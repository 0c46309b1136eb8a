"""Seeds mean what they plainly mean; what means nothing is refused in a sentence."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from main import main
from tests.support.dump_world import signals_kept
from tests.support.worlds.conceptnet import World, line
from tools.add import Entity
from tools.base import list_file
from tools.conceptnet import seeds
from tools.conceptnet.graph import open_graph
from tools.conceptnet.seeds import concept_of, seeds_of
from tools.errors import UsageError

EXAMPLE = "write it like /c/en/dog, or just dog"


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def taken(*given: str, languages: tuple[str, ...] = ("en", "de")) -> list[str]:
    return [seed.concept for seed in seeds_of(given, languages)]


def refusal(*given: str, languages: tuple[str, ...] = ("en",)) -> str:
    with pytest.raises(UsageError) as caught:
        seeds_of(given, languages)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def file_of(content: bytes, name: str = "seeds.txt") -> str:
    Path(name).write_bytes(content)
    return name


@pytest.mark.parametrize(
    ("text", "concept"),
    [
        ("dog", "/c/en/dog"),
        ("Dog", "/c/en/dog"),
        (" dog ", "/c/en/dog"),
        ("ice cream", "/c/en/ice_cream"),
        ("ice_cream", "/c/en/ice_cream"),
        ("the Ice-Cream", "/c/en/ice_cream"),
        ("/c/en/Dog", "/c/en/dog"),
        ("/C/EN/DOG", None),
        ("/c/EN/dog", "/c/en/dog"),
        ("/c/de/Groß", "/c/de/gross"),
        ("/c/de/groß", "/c/de/groß"),
        ("/c/en/dog/", "/c/en/dog"),
        ("/c/en/dog//", "/c/en/dog"),
        ("c/en/dog", "/c/en/dog"),
        ("/c/en/ice cream", "/c/en/ice_cream"),
        ("/c/en/dog/n/wn/animal", "/c/en/dog/n/wn/animal"),
        ("/c/en/the_dog", "/c/en/the_dog"),
        ("/c/chr/ᎣᏏᏲ", "/c/chr/ᎣᏏᏲ"),
        ("/c/en/washington,_d.c", "/c/en/washington,_d.c"),
        ("http://conceptnet.io/c/en/dog", "/c/en/dog"),
        ("https://www.conceptnet.io/c/en/dog/", "/c/en/dog"),
        ("http://api.conceptnet.io/c/en/dog?limit=3", "/c/en/dog"),
        ("https://conceptnet.io/c/fr/caf%C3%A9#top", "/c/fr/café"),
        ("api.conceptnet.io:80/c/en/dog", "/c/en/dog"),
        ("/c/fr/caf%C3%A9", "/c/fr/café"),
        ("/c/en/100%", "/c/en/100%"),
        ("", None),
        ("#", None),
        ("...", None),
        ("/c/en/", None),
        ("/c/en", None),
        ("/c/", None),
        ("/r/IsA", None),
        ("http://example.org/dog", None),
        ("http://conceptnet.io/", None),
        ("http://conceptnet.io.example.org/c/en/dog", None),
        ("/c/en/%00", None),
        ("/c/en/%ff\udcff", None),
        ("/c/en/" + "x" * 2000, None),
        ("a/b", None),
    ],
)
def test_what_a_text_means(text: str, concept: str | None) -> None:
    assert concept_of(text, "en") == concept


def test_a_word_is_of_the_first_language() -> None:
    assert taken("Hund", languages=("de", "en")) == ["/c/de/hund"]


@pytest.mark.parametrize(
    ("given", "concepts"),
    [
        (["/c/en/dog,/c/en/cat"], ["/c/en/dog", "/c/en/cat"]),
        (["dog,cat"], ["/c/en/dog", "/c/en/cat"]),
        (["dog , ice cream,"], ["/c/en/dog", "/c/en/ice_cream"]),
        (["/c/de/hund, dog"], ["/c/de/hund", "/c/en/dog"]),
        (["/c/en/10,000"], ["/c/en/10,000"]),
        (["10,000,dog"], ["/c/en/10,000", "/c/en/dog"]),
        (["/c/en/washington,_d.c"], ["/c/en/washington,_d.c"]),
        (["dog", "Dog", "/c/en/dog"], ["/c/en/dog"]),
    ],
)
def test_commas_part_seeds(given: list[str], concepts: list[str]) -> None:
    assert taken(*given) == concepts


def test_what_was_typed_is_known() -> None:
    assert seeds_of(["Dog"], ["en"]) == [("/c/en/dog", "Dog")]


@pytest.mark.parametrize("seed", ["", " ", ",", "/c/en/", "/r/IsA", "http://example.org/dog", "#"])
def test_what_is_no_concept_is_refused(seed: str) -> None:
    assert refusal("/c/en/cat", seed) == f"the seed {seed!r} is not a concept: {EXAMPLE}"


def test_one_that_is_endless_is_not_repeated_whole() -> None:
    assert len(refusal("/c/en/" + "x" * 100_000)) < 400


def test_a_language_the_filter_rejects_is_refused() -> None:
    sentence = refusal("/c/de/hund")
    assert sentence.startswith("the seed /c/de/hund is of the language de")
    assert "--language en,de" in sentence


# --- files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"# two\n/c/en/dog\n\n  cat # the second\n",
        b"/c/en/dog\r\ncat\r\n",
        b"/c/en/dog\rcat",
        b"\xef\xbb\xbf/c/en/dog\r\ncat\r\n",
        "/c/en/dog\r\ncat\r\n".encode("utf-16"),
        b"\xfe\xff" + "/c/en/dog\ncat\n".encode("utf-16-be"),
        "dog\ncat\n".encode("utf-32"),
        b"dog, cat",
        b"/c/en/dog,/c/en/cat # both\n",
    ],
)
def test_a_file_may_be_written_by_any_editor(content: bytes) -> None:
    assert taken(file_of(content)) == ["/c/en/dog", "/c/en/cat"]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing\n", b"\xef\xbb\xbf", b" , \n"])
def test_a_file_without_a_seed_is_refused(content: bytes) -> None:
    assert refusal(file_of(content)).startswith("seeds.txt names no seed")


@pytest.mark.parametrize("content", [b"dog\ncaf\xe9\n", b"dog\n\x00\x01\xff\n", b"dog\nd\0o\0g\0"])
def test_other_letters_are_named_with_their_line(content: bytes) -> None:
    assert refusal(file_of(content)) == "line 2 of seeds.txt is not UTF-8: save it as UTF-8"


def test_what_is_no_concept_is_named_with_its_line() -> None:
    sentence = refusal(file_of(b"dog\n/r/IsA\n"))
    assert sentence == f"line 2 of seeds.txt: '/r/IsA' is not a concept: {EXAMPLE}"


def test_an_endless_line_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_file, "LONGEST_LINE", 100)
    assert refusal(file_of(b"dog\n" + b"x" * 101)).startswith("line 2 of seeds.txt is too long")


def test_a_folder_is_named() -> None:
    Path("dog").mkdir()
    assert refusal("dog").startswith("the seed dog is a folder")
    assert taken("/c/en/dog") == ["/c/en/dog"]


def test_a_file_that_is_not_there_is_no_concept() -> None:
    assert refusal("seeds.txt").startswith("there is no file seeds.txt")


def test_a_file_that_may_not_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    name = file_of(b"dog")
    Path(name).chmod(0)

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)  # root may read everything
    assert refusal(name) == "the seed file seeds.txt cannot be read: Permission denied"


# --- other commands ------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["credits", "sheet"])
@pytest.mark.parametrize("text", ["Ice Cream", "https://conceptnet.io/c/en/ice_cream"])
def test_a_concept_is_named_to_other_commands_in_the_same_way(
    command: str, text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with closing(open_graph("sqlite:g.db")) as graph:
        graph.write([Entity.of("/c/en/ice_cream")], ())
    flags = ["--graph", "sqlite:g.db", "--state", "s"]
    assert main([command, text, *flags]) == 0
    assert main([command, "/r/IsA", *flags]) == 2
    assert f"'/r/IsA' is not a concept: {EXAMPLE}" in capfd.readouterr().err
    assert main([command, "dgo", *flags]) == 2
    assert "/c/en/dgo is not in the graph" in capfd.readouterr().err


# --- as the harvest takes them -------------------------------------------------------------


def harvest(source: str, *flags: str) -> int:
    return main(["--source", source, "--no-media", "--state", "s", *flags])


def test_what_a_seed_was_taken_for_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    with World([line("/r/IsA", "/c/en/dog", "/c/en/pet")]) as world, signals_kept():
        assert harvest(world.url, "--seed", "Dog,/c/en/pet") == 0
        assert capfd.readouterr().out.startswith("the seed 'Dog' is taken for /c/en/dog\nPools")
        assert harvest(world.url, "--seed", "Dog", "-q") == 0
        assert capfd.readouterr().out == ""


def test_of_many_only_the_first_are_told() -> None:
    many = seeds_of([",".join(f"Word {number}" for number in range(30))], ["en"])
    *first, last = seeds.explained(many)
    assert len(first) == 10 and first[9] == "the seed 'Word 9' is taken for /c/en/word_9"
    assert last == "and 20 more are taken for concepts in the same way"


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--seed", "/c/de/hund"], "the seed /c/de/hund is of the language de"),
        (["--language", "de"], "the seed /c/en/pet is of the language en"),
        (["--seed", "empty.txt"], "empty.txt names no seed"),
        (["--seed", "."], "the seed . is a folder"),
        (["--seed", "latin.txt"], "line 1 of latin.txt is not UTF-8"),
        (["--seed", ""], "the seed '' is not a concept"),
        (["--config", "none.toml"], "there is no seed"),
        (["--language", ""], "filter.languages must name at least one language"),
        (["--relations", ""], "filter.relations must name at least one relation"),
    ],
)
def test_wrong_input_makes_nothing(
    flags: list[str], sentence: str, capfd: pytest.CaptureFixture[str]
) -> None:
    file_of(b"", "empty.txt")
    file_of(b"caf\xe9", "latin.txt")
    file_of(b"seeds = []", "none.toml")
    assert harvest("http://127.0.0.1:9", *flags) == 2
    said = capfd.readouterr().err
    assert said.startswith(f"sheaf: {sentence}") and len(said.splitlines()) == 1
    assert not Path("s").exists()


def test_seeds_may_stand_in_the_settings_as_words() -> None:
    file_of(b'seeds = ["Hund"]\n[filter]\nlanguages = ["de"]', "sheaf.toml")
    with World([line("/r/IsA", "/c/de/hund", "/c/de/tier")]) as world, signals_kept():
        assert harvest(world.url, "-q") == 0


def test_only_a_walk_needs_a_seed_of_its_language() -> None:
    file_of(line("/r/IsA", "/c/de/hund", "/c/de/tier").encode(), "world.csv")
    with signals_kept():
        assert harvest("world.csv", "--all", "--language", "de", "-q") == 0
    assert main(["survey", "world.csv", "--language", "de"]) == 0

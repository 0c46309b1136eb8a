"""The sieve against brute force: the same rows, the same faults, whatever the lines are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.chance import any_seed
from tests.support.worlds.conceptnet import line as line_of
from tools.conceptnet.dump import sieve as sieve_of
from tools.conceptnet.dump.faults import MOST_LOGGED, Faults
from tools.conceptnet.dump.lines import BEGINNING, Chunk, Position
from tools.conceptnet.dump.row import Row, information, row_of
from tools.conceptnet.dump.sieve import Sieve
from tools.conceptnet.rules import ALL_RELATIONS, RELATIONS, Filter, relation_name
from tools.errors import UsageError
from tools.uri import assertion

FILTERS = [
    Filter.of(["en"], 1.0, RELATIONS, True),
    Filter.of(["en", "fr"], 0.0, ["UsedFor", "IsA", "HasA"], True),
    Filter.of(["enm", "fro", "zh_min_nan"], -5.0, ALL_RELATIONS, True),
    Filter.of(["de", "enm"], 2.0, [*RELATIONS[4:], "NotUsedFor"], True),
    None,
]
NAMES = [
    *("IsA", "HasA", "UsedFor", "NotUsedFor", "AUsedFor", "xUsedFor", "RelatedTo", "Is", "A", ""),
    *("EtymologicallyRelatedTo", "dbpedia/genre", "isa", "IsA ", "ExternalURL", "HasFirstSubevent"),
    *("HasLastSubevent", "XasLastSubevent", "é" * 3, "UsedFor" + "x" * 256),
]
LANGUAGES = ["en", "enm", "en_x", "e", "", "fr", "fro", "frm", "de", "zh_min_nan", "zh_min", "EN"]
ENDS = [
    *("/c/en/dog", "/c/en", "/c/en/", "/c/en//x", "/c/en/a b", "/c/en/../x", "", "/", "/c/", "en"),
    *("http://dbpedia.org/resource/Dog", "https://example.org/", "httpx://no", "/c/en/dog/n/wn/x"),
    *("/c/en/carriage\rreturn", "/c/en/nul\0", "/c/en/sense/n", "/c/fr/é", "/c/zh_min_nan/x"),
]
WEIGHTS = ["1.0", "2", "0.5", "-1", "0", "1e308", "1e400", "NaN", "Infinity", "true", '"1"', "null"]
WEIGHTS += ["1" * 30, "1" * 400, "-0.0", "01", "1."]
SPOILT = [b"", b"\t", b"\t\t\t\t", b"\t\t\t\t\t", b"\xff\t/r/IsA\t/c/en/a\t/c/en/b\t{}", b"short"]
SPOILT += [b"a\tb\tc\td\te", b"\r", b"\0", b"\t/r/IsA\t/c/en/a\t/c/en/b\t{}", b"x\t\t\t\t", b"\xc3"]


def random_line(chance: Random) -> bytes:
    if chance.random() < 0.08:
        return chance.choice(SPOILT)
    rel = "/r/" + chance.choice(NAMES if chance.random() < 0.5 else RELATIONS)
    language = chance.choice(LANGUAGES) if chance.random() < 0.5 else "en"
    start, end = (random_end(chance, language) for _ in range(2))
    weight = chance.choice(WEIGHTS) if chance.random() < 0.2 else "2.0"
    info = '{"dataset": "/d/x", "license": "cc:by/4.0", "sources": [{"a": "b"}], "weight": %s}'
    columns = [assertion(rel, start, end), rel, start, end, info % weight]
    return spoilt("\t".join(columns).encode(), chance)


def random_end(chance: Random, language: str) -> str:
    kind = chance.random()
    if kind < 0.6:
        return f"/c/{language}/{chance.randrange(5)}"
    return chance.choice(ENDS) if kind < 0.8 else f"/c/{chance.choice(LANGUAGES)}/x"


def spoilt(line: bytes, chance: Random) -> bytes:
    match chance.randrange(30):
        case 0:
            return line.replace(b"\t", b"", 1)
        case 1:
            place = chance.randrange(len(line))
            return line[:place] + b"\t" + line[place:]
        case 2:
            place = chance.randrange(len(line))
            return line[:place] + bytes([chance.choice([0xFF, 0xC3, 0x80, 0, 13])]) + line[place:]
        case 3:
            return line[: chance.randrange(len(line))]
        case 4:
            return line[:-1]
        case 5:
            return line + b"\r"
        case _:
            return line


def chunks_of(lines: Sequence[bytes], chance: Random, has_end: bool = True) -> Iterator[Chunk]:
    """Cut anywhere between lines."""
    at, begin = 0, BEGINNING
    while at < len(lines):
        count = chance.randrange(1, 40)
        text = b"\n".join(lines[at : at + count])
        at += count
        text += b"\n" if at < len(lines) or has_end else b""
        end = Position(begin.offset + len(text), min(at, len(lines)))
        yield Chunk(text, begin, end)
        begin = end


def sieved(chunks: Iterator[Chunk], wanted: Filter | None) -> tuple[list[Row], list[int]]:
    faults = Told()
    sieve = Sieve(wanted, faults)
    kept = [row for chunk in chunks for row in sieve(chunk)]
    return kept, faults.lines


class Told(Faults):
    """Every one of them."""

    def __init__(self) -> None:
        super().__init__(Path("x.csv"), 10**9)
        self.lines: list[int] = []

    def note(self, line: int, reason: str) -> None:
        super().note(line, reason)
        self.lines.append(line)


def brute_force(lines: Sequence[bytes], wanted: Filter | None) -> tuple[list[Row], list[int]]:
    """What a filter keeps, and the numbers of lines without five columns or wanted and broken."""
    kept: list[Row] = []
    noted: list[int] = []
    for number, line in enumerate(lines, 1):
        line = line.removesuffix(b"\r")
        columns = line.decode(errors="replace").split("\t")
        is_wanted = wanted is None or (
            len(columns) == 5
            and columns[1] in {f"/r/{name}" for name in wanted.relations}
            and all(end.startswith(wanted.beginnings) for end in columns[2:4])
        )
        try:
            row = row_of(line)
            is_twice = bool(kept) and row.uri == kept[-1].uri
        except ValueError:
            is_twice, row = True, None
        if len(columns) != 5 or (is_twice and is_wanted):
            noted.append(number)
        elif (
            row is not None
            and not is_twice
            and (
                wanted is None
                or wanted.keeps(relation_name(row.rel), row.start, row.end, row.info.weight)
            )
        ):
            kept.append(row)
    return kept, noted


@pytest.mark.parametrize("wanted", FILTERS)
def test_rows_and_faults_are_those_of_brute_force_however_lines_are_cut(
    wanted: Filter | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("ERROR")
    seed = any_seed()
    print(f"lines drawn with seed {seed}")
    chance = Random(seed)
    lines = [random_line(chance) for _ in range(2500)]
    expected = brute_force(lines, wanted)
    assert len(expected[0]) > 3 and len(expected[1]) > 20
    for has_end in (True, False):
        assert sieved(chunks_of(lines, chance, has_end), wanted) == expected


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "/a/[", "/a/[x]", "é"]),
            st.sampled_from(["/r/IsA", "/r/HasA", "IsA", "r", "/r/UsedFor", ""]),
            st.sampled_from(["/c/en/a", "/c/enm/a", "/c/en", "x", ""]),
            st.sampled_from(["/c/en/b", "http://x/", ""]),
            st.sampled_from(['{"weight": 1}', "{}", "", information.__name__, "\t"]),
        ),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(FILTERS),
)
def test_short_and_empty_columns_disturb_nobody(
    rows: list[tuple[str, ...]], wanted: Filter | None
) -> None:
    good = line_of("/r/IsA", "/c/en/dog", "/c/en/animal", 2.0).rstrip("\n").encode()
    lines = [good, *("\t".join(row).encode() for row in rows), good + b"x", good]
    assert sieved(chunks_of(lines, Random(1)), wanted) == brute_force(lines, wanted)


def test_tabs_that_one_line_lacks_and_another_has_are_noticed() -> None:
    """In sum there are four for each line."""
    good = [line_of("/r/IsA", f"/c/en/{n}", "/c/en/b").rstrip("\n").encode() for n in range(6)]
    lines = [*good[:2], good[2].replace(b"\t", b" ", 1), good[3] + b"\t", *good[4:]]
    kept, noted = sieved(chunks_of(lines, Random(1)), FILTERS[0])
    assert [row.start for row in kept] == ["/c/en/0", "/c/en/1", "/c/en/4", "/c/en/5"]
    assert noted == [3, 4]


def test_what_is_noted_does_not_depend_on_a_neighbour() -> None:
    """A line nobody wants was read through only where another one lacked a column."""
    wanted = line_of("/r/IsA", "/c/en/a", "/c/en/b").rstrip("\n").encode()
    unwanted = wanted.replace(b"/c/en/a", b"/c/fr/a")[:-1]
    assert sieved(chunks_of([unwanted, wanted], Random(1)), FILTERS[0])[1] == []
    assert sieved(chunks_of([unwanted, b"short", wanted], Random(1)), FILTERS[0])[1] == [2]


def test_what_nobody_wants_is_not_even_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is what makes a file of 34 million lines a matter of minutes."""
    wanted = [("/r/IsA", "/c/en/a", "/c/en/b"), ("/r/UsedFor", "/c/en/a", "/c/en/b")]
    others = [
        *(("/r/NotUsedFor", "/c/en/a", "/c/en/b"), ("/r/IsA", "/c/enm/a", "/c/en/b")),
        *(("/r/IsA", "/c/en/a", "/c/eng/b"), ("/r/IsA", "/c/en/a", "http://dbpedia.org/x")),
        *(("/r/RelatedTo", "/c/en/a", "/c/en/b"), ("/r/IsB", "/c/en/a", "/c/en/b")),
    ]
    parsed: list[str] = []

    def noting(line: bytes) -> Row:
        parsed.append(row_of(line).uri)
        return row_of(line)

    monkeypatch.setattr(sieve_of, "row_of", noting)
    lines = [line_of(*each).rstrip("\n").encode() for each in others + wanted + others]
    sieved(chunks_of(lines, Random(1)), FILTERS[0])
    assert parsed == [assertion(*each) for each in wanted]


def test_the_same_assertion_twice_is_kept_once() -> None:
    first = line_of("/r/IsA", "/c/en/a", "/c/en/b", 2.0).rstrip("\n").encode()
    again = line_of("/r/IsA", "/c/en/a", "/c/en/b", 3.0).rstrip("\n").encode()
    between = line_of("/r/IsA", "/c/en/a", "/c/fr/b").rstrip("\n").encode()
    for lines in ([first, again], [first, between, again]):
        kept, noted = sieved(chunks_of(lines, Random(1)), FILTERS[0])
        assert ([row.info.weight for row in kept], noted) == ([2.0], [len(lines)])


@pytest.mark.parametrize("weight", ["NaN", "Infinity", "-Infinity", "1e400", '"2"', "true", "[1]"])
def test_weights_that_are_no_numbers_are_faults(weight: str) -> None:
    info = json.dumps({"dataset": "/d/x", "license": "x", "sources": [], "weight": 1.5})
    line = f"/a/[x]\t/r/IsA\t/c/en/a\t/c/en/b\t{info.replace('1.5', weight)}".encode()
    with pytest.raises(ValueError, match=r"weight|not JSON"):
        row_of(line)


def test_what_no_graph_could_index_is_a_fault() -> None:
    """A stretch of a file is stored as one: such a line would spoil all of it."""
    for ends in (("/c/en/x" + "y" * 1950, "/c/en/z" * 20), ("/c/en/a", "/c/en/" + "🐕" * 2000)):
        with pytest.raises(ValueError, match=r"a URI of 2,\d+ characters"):
            row_of(line_of("/r/IsA", *ends).rstrip("\n").encode())
    long_text = line_of("/r/IsA", "/c/en/a", "/c/en/b", surfaceText="x" * 100_000)
    assert row_of(long_text.rstrip("\n").encode()).start == "/c/en/a"


# --- how many faults are borne, and what is told of them -------------------------------------


def test_as_many_as_allowed_are_skipped_and_one_more_ends_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    faults = Faults(Path("some/world.csv"), 3)
    for number in (7, 8, 1009):
        faults.note(number, "not UTF-8")
    with pytest.raises(UsageError, match=r"more than 3 lines .* line 2,000: 4 columns") as caught:
        faults.note(2000, "4 columns instead of 5")
    assert "dump.max_malformed" in str(caught.value)
    assert "line 1009 of world.csv is skipped: not UTF-8" in caplog.text


def test_what_an_earlier_run_met_counts() -> None:
    faults = Faults(Path("world.csv"), 3, known=3)
    assert faults.summary() == "3 malformed lines were skipped"
    with pytest.raises(UsageError):
        faults.note(9, "short")


def test_the_summary_is_a_sentence(caplog: pytest.LogCaptureFixture) -> None:
    faults = Faults(Path("world.csv"), 10**6)
    assert faults.summary() is None
    faults.note(1234, "short")
    assert faults.summary() == "1 malformed line was skipped: line 1,234"
    faults.note(1300, "short")
    assert faults.summary() == "2 malformed lines were skipped: line 1,234, 1,300"
    for number in range(2000, 2100):
        faults.note(number, "short")
    assert str(faults.summary()).startswith("102 malformed lines were skipped: line 1,234, 1,300, ")
    assert str(faults.summary()).endswith(" and others")
    assert len(caplog.records) == MOST_LOGGED


def test_long_last_columns_are_not_held_in_memory() -> None:
    from tools.conceptnet.dump.row import _short_information

    usual = '{"dataset":"/d/x","license":"x","sources":[],"weight":1,"surfaceText":"%s"}'
    before = _short_information.cache_info().currsize
    assert information(usual % ("y" * 5000)).text == "y" * 5000
    assert _short_information.cache_info().currsize == before
    assert information(usual % before) is information(usual % before)

"""What a filter keeps of an assertions file, told before anything is built."""

from __future__ import annotations

import gzip
import json
import random
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from numpy import array
from PIL import Image

from tests.support.command import DEFAULT_FILTER, Here, run
from tests.support.slices import OWN, any_slice, lines_of
from tools.conceptnet.dump.faults import Faults
from tools.conceptnet.dump.lines import Lines
from tools.conceptnet.dump.sieve import Sieve
from tools.conceptnet.rules import ALL_RELATIONS, Filter
from tools.conceptnet.survey.codes import MOST_NAMES, WEIGHTS, Coder
from tools.conceptnet.survey.distinct import KEPT, Distinct
from tools.conceptnet.survey.plot import draw
from tools.conceptnet.survey.report import as_text
from tools.conceptnet.survey.survey import Findings, survey
from tools.errors import UsageError
from tools.reports.tables import WIDTH
from tools.sample import world
from tools.uri import assertion, language

FILTERS = {
    "default": DEFAULT_FILTER,
    "two languages": Filter.of(["en", "de"], 1.0, ["RelatedTo", "Synonym"], True),
    "everything": Filter.of(["en", "de", "fr", "es", "ja"], 0.0, ALL_RELATIONS, True),
    "heavy": Filter.of(["en"], 2.5, ALL_RELATIONS, True),
}
any_filter = pytest.mark.parametrize("wanted", FILTERS.values(), ids=FILTERS)


def line(
    rel: str, start: str, end: str, weight: float = 1.0, dataset: str = "/d/x", **more: Any
) -> str:
    info = {"dataset": dataset, "license": "cc0", "sources": [{"contributor": "/s/a"}]}
    text = json.dumps({**info, **more, "weight": weight}, ensure_ascii=False)
    return "\t".join([assertion(rel, start, end), rel, start, end, text])


LINES = [
    line("/r/IsA", "/c/en/dog", "/c/en/animal", 2.0, surfaceText="[[a dog]] is [[an animal]]"),
    line("/r/IsA", "/c/en/dog", "/c/en/thing", 0.25, surfaceText='a "dog"'),
    line("/r/IsA", "/c/de/hund", "/c/de/tier", 4.0, "/d/y"),
    line("/r/IsA", "/c/en/dog", "/c/en/a b", 1.5),
    line("/r/RelatedTo", "/c/en/dog", "/c/en/cat"),
    line("/r/RelatedTo", "/c/de/hund", "/c/en/dog", 0.5),
    line("/r/HasA", "/c/en/dog", "/c/en/tail/n", 1.001),
    line("/r/ExternalURL", "/c/en/dog", "http://example.org/Dog"),
    line("/r/IsA", "/c/zh_tw/狗", "/c/zh_tw/動物"),
]


def file_of(folder: Path, lines: Sequence[str], name: str = "dump.csv") -> Path:
    path = folder / name
    text = "".join(f"{each}\n" for each in lines).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


def found_in(path: Path, wanted: Filter = DEFAULT_FILTER, most_malformed: int = 0) -> Findings:
    return survey(path, wanted, most_malformed, lambda _done, _total: None)


def test_every_number_of_a_small_file(tmp_path: Path) -> None:
    found = found_in(file_of(tmp_path, LINES))
    assert (found.lines, found.malformed, found.complaint) == (9, 0, None)
    assert (found.kept, found.concepts, found.is_exact) == (2, 3, True)
    assert found.lost == {"language": (5, 3), "relation": (3, 1), "weight": (2, 1)}
    assert found.relations == [
        ("IsA", (5, 1)),
        ("RelatedTo", (2, 0)),
        ("HasA", (1, 1)),
        ("ExternalURL", (1, 0)),
    ]
    assert found.languages == [("en", (5, 2)), ("de", (1, 0)), ("zh_tw", (1, 0))]
    assert (found.mixed, found.addresses) == ((1, 0), (1, 0))
    assert found.datasets == [("/d/x", (8, 2)), ("/d/y", (1, 0))]
    assert found.weights == [
        *zip(WEIGHTS, [(1, 0), (1, 0), (3, 0), (2, 1), (1, 1), (1, 0)], strict=True)
    ]


def brute_force(lines: Sequence[str], wanted: Filter) -> dict[str, Any]:
    """The same, one line after the other, from what they say."""
    tables: dict[str, tuple[Counter[str], Counter[str]]] = {
        each: (Counter(), Counter()) for each in ("relations", "datasets", "languages", "weights")
    }
    concepts: set[str] = set()
    for each in lines:
        _, rel, start, end, text = each.split("\t")
        info = json.loads(text)
        weight, ends = info["weight"], {language(start), language(end)}
        is_kept = wanted.keeps(rel[3:], start, end, weight)
        heaviest = [weight < 0.5, weight < 1, weight == 1, weight < 2, weight < 4, True].index(True)
        names = {"relations": rel[3:], "datasets": info["dataset"], "weights": WEIGHTS[heaviest]}
        if len(ends) == 1 and None not in ends:
            names["languages"] = str(ends.pop())
        for table, name in names.items():
            tables[table][0][name] += 1
            tables[table][1][name] += is_kept
        if is_kept:
            concepts |= {start, end}
    told = {
        table: {name: (number, kept[name]) for name, number in every.items()}
        for table, (every, kept) in tables.items()
    }
    return {**told, "kept": sum(each[1] for each in told["relations"].values()),
            "concepts": len(concepts)}  # fmt: skip


def assert_same(found: Findings, counted: dict[str, Any]) -> None:
    assert (found.kept, found.concepts) == (counted["kept"], counted["concepts"])
    for table in ("relations", "datasets", "languages"):
        assert dict(getattr(found, table)) == counted[table]
    assert {name: share for name, share in found.weights if share.lines} == counted["weights"]
    for rows in (found.relations, found.datasets, found.weights):
        assert sum(share.lines for _, share in rows) == found.lines - found.malformed
        assert sum(share.kept for _, share in rows) == found.kept
    by_language = [*(share for _, share in found.languages), found.mixed, found.addresses]
    assert sum(share.lines for share in by_language) == found.lines - found.malformed


@any_filter
@pytest.mark.parametrize("name", ["world.csv", "world.csv.gz"])
def test_the_sample_is_counted_like_one_line_after_the_other(
    tmp_path: Path, wanted: Filter, name: str
) -> None:
    lines = list(world.lines())
    assert_same(found_in(file_of(tmp_path, lines, name), wanted), brute_force(lines, wanted))


@any_filter
@any_slice
def test_a_slice_of_conceptnet_is_counted_like_one_line_after_the_other(
    wanted: Filter, path: Path
) -> None:
    found = found_in(path, wanted)
    assert_same(found, brute_force(lines_of(path), wanted))
    assert wanted is not DEFAULT_FILTER or found.kept == {OWN: 99}.get(path, 5394)


@any_filter
def test_a_chunk_in_order_is_looked_at_as_a_whole(tmp_path: Path, wanted: Filter) -> None:
    path = file_of(tmp_path, list(world.lines()))
    coder = Coder(wanted, Faults(path, 0))
    for chunk in Lines(path).chunks():
        together, one_by_one = coder._together(chunk), coder._one_by_one(chunk)
        assert together is not None
        for found, expected in zip(together, one_by_one, strict=True):
            assert array(found).tolist() == array(expected).tolist()


@any_filter
def test_a_last_line_without_an_end_and_windows_line_ends_change_nothing(
    tmp_path: Path, wanted: Filter
) -> None:
    path = file_of(tmp_path, LINES)
    whole = found_in(path, wanted)
    path.write_bytes("\n".join(LINES).encode())
    assert found_in(path, wanted) == whole
    path.write_bytes("\r\n".join(LINES).encode())
    assert found_in(path, wanted) == whole


# --- malformed lines ---------------------------------------------------------------------------

GOOD = LINES[0].encode()
BAD = {
    "empty": b"",
    "few columns": b"/a/[]\t/r/IsA\t/c/en/a\t/c/en/b",
    "many columns": GOOD + b"\tmore",
    "no assertion": GOOD[1:],
    "no relation": GOOD.replace(b"\t/r/", b"\t/x/"),
    "no node": GOOD.replace(b"\t/c/en/dog", b"\thttp:/en/dog"),
    "no JSON": GOOD[:-1],
    "no number": GOOD.replace(b'"weight": 2.0', b'"weight": "2"'),
    "no weight": GOOD.replace(b', "weight": 2.0', b""),
    "nested weight": GOOD.replace(b"}]", b"").replace(b"2.0}", b"2.0}]}"),
    "a text torn apart by a sentence": GOOD.replace(b'cc0", "sources', b'cc0, "sources'),
    "a sentence amid a text": GOOD.replace(b'"/d/x"', b'"/d/x, "surfaceText": "a", "weight": 1.0}'),
    "a text with a sentence in it": GOOD.replace(b'"/d/x"', b'"/d/x, "surfaceText": "a""'),
    "a sentence that is no text": GOOD.replace(b'"[[a dog', b'3, "[[a dog'),
    "a control character": GOOD.replace(b"a dog", b"a\x01dog"),
    "no UTF-8 in a concept": GOOD.replace(b"/c/en/dog\t", b"/c/en/d\xffg\t"),
    "no UTF-8 in a sentence": GOOD.replace(b"a dog", b"a d\xc3g"),
    "twice": LINES[2].encode(),
}


def noted(path: Path) -> tuple[list[tuple[int, str]], int]:
    faults = Faults(path, 1000)
    rows = sum(1 for chunk in Lines(path).chunks() for _ in Sieve(None, faults)(chunk))
    return faults.logged, rows


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_malformed_line_is_noted_as_whoever_reads_the_file_would(
    tmp_path: Path, bad: bytes
) -> None:
    before, after = ("\n".join(part).encode() for part in (LINES[:3], LINES[3:]))
    path = tmp_path / "dump.csv"
    path.write_bytes(b"\n".join([before, bad, after]) + b"\n")
    found = found_in(path, most_malformed=1)
    assert found.complaint == "1 malformed line was skipped: line 4"
    assert (found.lines, found.malformed, found.kept) == (10, 1, 2)
    assert noted(path) == ([(4, *[reason for _, reason in noted(path)[0]])], 9)
    with pytest.raises(UsageError, match=r"more than 0 lines that cannot be read.*line 4"):
        found_in(path, most_malformed=0)


@pytest.mark.parametrize("seed", range(40))
def test_spoilt_bytes_are_judged_as_whoever_reads_the_file_would(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    spoilt = bytearray("".join(f"{each}\n" for each in LINES * 3).encode())
    for _ in range(chance.choice([1, 1, 3, 10])):
        spoilt[chance.randrange(len(spoilt))] = chance.choice(b'\t\n\r/"\\,[]{}:\x00\x80\xc3a1')
    path = tmp_path / "spoilt.csv"
    path.write_bytes(spoilt)
    faults = Faults(path, 1000)
    coder = Coder(DEFAULT_FILTER, faults)
    rows = sum(len(coder(chunk).relations) for chunk in Lines(path).chunks())
    assert (faults.logged, rows) == noted(path)


def test_a_repetition_is_found_where_one_chunk_ends_and_the_next_begins(tmp_path: Path) -> None:
    path = file_of(tmp_path, [line("/r/IsA", f"/c/en/{at}", "/c/en/b") for at in range(9000)])
    (first, *_) = Lines(path).chunks()
    lines = path.read_text("utf-8").splitlines()
    at = first.end.lines
    assert at < len(lines)
    lines[at] = lines[at - 1]
    found = found_in(file_of(tmp_path, lines), most_malformed=1)
    assert found.complaint == f"1 malformed line was skipped: line {at + 1:,}"


def test_names_without_end_are_counted_together(tmp_path: Path) -> None:
    number = MOST_NAMES + 200
    lines = [
        line(f"/r/R{at}", f"/c/x{at}/a", f"/c/x{at}/b", 1.0, f"/d/{at}") for at in range(number)
    ]
    lines.append(line("/r/IsA", "/c/en/a", "/c/en/b"))
    found = found_in(file_of(tmp_path, lines))
    assert found.kept == 1
    for table in (found.relations, found.languages, found.datasets):
        assert len(table) <= MOST_NAMES + 2
        assert sum(share.lines for _, share in table) == number + 1
        assert dict(table)["others"].lines >= 200


def test_few_texts_are_counted_and_many_estimated() -> None:
    distinct = Distinct()
    for begin in range(0, KEPT - 1, 5000):
        distinct.add(str(at) for at in [*range(begin, min(begin + 5000, KEPT - 1))] * 2)
    assert (distinct.number, distinct.is_exact) == (KEPT - 1, True)
    distinct.add(str(at) for at in range(400_000))
    assert not distinct.is_exact
    assert distinct.number == pytest.approx(400_000, rel=0.015)


# --- what is told ------------------------------------------------------------------------------


def test_tables_for_a_terminal(tmp_path: Path) -> None:
    path = file_of(tmp_path, LINES)
    done = run("main.py", "survey", path, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    told = [part.split() for part in done.stdout.splitlines()]
    for row in (
        "kept: 2 relations (22%) between 3 concepts",
        "another language 5 3",
        "IsA 5 1 20%",
        "with a web address 1 0",
        "/d/x 8 2 25%",
        "exactly 1 3 0",
    ):
        assert row.split() in told, row


def test_flags_choose_the_filter_and_json_tells_the_same(tmp_path: Path) -> None:
    file_of(tmp_path, LINES, "dump.csv.gz")
    flags = ("--language", "en,de", "--with", "RelatedTo", "--without", "HasA", "--min-weight", 0.5)
    done = run("main.py", "survey", "--source", "dump.csv.gz", "--json", *flags, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert (told["lines"], told["malformed"], told["kept"], told["concepts"]) == (9, 0, 4, 5)
    assert told["lost"]["weight"] == {"lines": 1, "alone": 1}
    assert {"name": "RelatedTo", "lines": 2, "kept": 2} in told["relations"]
    assert told["mixed"] == {"lines": 1, "kept": 1}
    assert told["filter"]["languages"] == ["de", "en"] and told["filter"]["min_weight"] == 0.5


def test_nothing_in_a_name_does_anything_and_no_line_is_too_long(tmp_path: Path) -> None:
    evil = [
        line(
            f"/r/{'x' * at}\x1b[2J", f"/c/\x07{at}$^$/a", "/c/en/b", 1.0, f"/d/$\\frac{at}$\u202e犬"
        )
        for at in range(90)
    ]
    path = file_of(tmp_path, evil, "an evil\x1b[2J file.csv")
    found = found_in(path)
    told = as_text(found, DEFAULT_FILTER)
    assert all(len(row) <= WIDTH and row.isprintable() for row in told.split("\n"))
    assert "30 others" in told
    draw(found, tmp_path / "evil.png")


def test_malformed_lines_are_told_with_their_numbers(tmp_path: Path) -> None:
    path = file_of(tmp_path, ["", *LINES, *["x"] * 30])
    done = run("main.py", "survey", path)
    assert done.returncode == 0
    assert "31 malformed lines were skipped: line 1, 11, 12," in done.stdout
    assert "and others" in done.stdout


def test_a_picture_has_its_words_and_numbers(tmp_path: Path) -> None:
    path = file_of(tmp_path, LINES)
    done = run("main.py", "survey", path, "--plot", "found.svg", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    words = " ".join(ElementTree.fromstring((tmp_path / "found.svg").read_text("utf-8")).itertext())
    for word in ("Relation", "Language of both ends", "Dataset", "Weight", "RelatedTo", "/d/x",
                 "2 of 8", "exactly 1", "keeps 2 of 9 lines", "zh_tw", "kept"):  # fmt: skip
        assert word in words, word
    draw(found_in(path), tmp_path / "found.png")
    with Image.open(tmp_path / "found.png") as picture:
        assert picture.format == "PNG" and picture.width == 1400
        colours = picture.convert("RGB").getcolors(1 << 24)
        assert colours is not None and (0, 0x72, 0xB2) in [colour for _, colour in colours]
    assert not list(tmp_path.glob("*.part"))


def test_an_empty_file_is_refused_and_gets_no_picture(tmp_path: Path, here: Here) -> None:
    path, picture = file_of(tmp_path, []), tmp_path / "nothing.svg"
    said = here("survey", str(path), "--plot", str(picture), "-q")
    assert said.startswith(f"2 sheaf: {path} is no assertions file (it is empty)")
    assert not picture.exists()


def test_a_truncated_file_is_named_as_such(tmp_path: Path, here: Here) -> None:
    path = file_of(tmp_path, list(world.lines()), "dump.csv.gz")
    path.write_bytes(path.read_bytes()[:-3000])
    assert here("survey", str(path)).startswith(f"2 sheaf: {path} is truncated: ")


def test_what_cannot_be_surveyed_is_told_with_what_to_do(tmp_path: Path, here: Here) -> None:
    path = str(file_of(tmp_path, LINES))
    assert "python main.py survey PATH" in here("survey", "--source", "http://127.0.0.1:9")
    assert here("survey", "nowhere.csv").startswith("2 sheaf: the file nowhere.csv cannot be read")
    assert "FILE.svg or FILE.png" in here("survey", "nowhere.csv", "--plot", "found.pdf")
    assert "cannot be written" in here("survey", path, "--plot", "nowhere/found.svg")
    assert "NoSuch" in here("survey", path, "--with", "NoSuch")

"""A structure's TOML file: what it means, and every mistake in it with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.errors import UsageError
from tools.structure.declared import (
    Again,
    Broken,
    Structure,
    declared_structure,
    load_structure,
    load_structures,
)
from tools.structure.registry import Limits

SMALLEST = 'source = "folder:raw"\nparsers = [{ parser = "json" }]\n'
LIMITS = Limits(30.0, 512_000_000, 64_000_000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parsers").mkdir()
    (tmp_path / "parsers/company.py").write_text("class RawParser: ...")
    (tmp_path / "register.json").write_text("{}")
    return tmp_path


def declared(folder: Path, text: str) -> Structure:
    (folder / "register.toml").write_text(text)
    return declared_structure(folder / "register.toml", LIMITS)


def mistakes(folder: Path, text: str) -> list[str]:
    with pytest.raises(UsageError) as raised:
        declared(folder, text)
    before = f"{folder / 'register.toml'}: "
    lines = str(raised.value).splitlines()
    assert all(line.startswith(before) for line in lines)
    return [line.removeprefix(before) for line in lines]


def test_what_is_meant_where_nothing_is_said(folder: Path) -> None:
    found = declared(folder, SMALLEST)
    assert (found.name, found.sources, found.document) == ("register", ("folder:raw",), "source")
    assert (found.export, found.outer, found.priority) == (None, "", 5)
    assert (found.again, found.every, found.at) == (Again("parser"), 0.0, "")
    assert (found.strict, found.too_long) == (False, "widen")
    (rule,) = found.rules
    assert (rule.match, rule.parser, rule.priority) == ("*", "json", None)
    assert rule[4:] == LIMITS


def test_all_that_can_be_said(folder: Path) -> None:
    found = declared(
        folder,
        """
about = "companies"
source = ["folder:raw", "warc:pages.warc.gz"]
document = "key"
export = "register.json"
outer = "url"
priority = -1
again = "7 days"
timeout = "5 s"
memory = "100 MB"
max_json = "1 MB"
every = "5 min"
strict = true
too_long = "cut"
[[parsers]]
match = "*.html"
parser = "parsers/company.py"
priority = 3
timeout = "1 min"
options = { a = 1 }
[[parsers]]
parser = "html"
""",
    )
    assert found.export == folder / "register.json"
    assert (found.outer, found.priority, found.again) == ("url", -1, Again("age", 7 * 86_400.0))
    assert (found.every, found.strict, found.too_long) == (300.0, True, "cut")
    one, other = found.rules
    assert one == ("*.html", "parsers/company.py", {"a": 1}, 3, 60.0, 100_000_000, 1_000_000)
    assert other[3:] == (None, 5.0, 100_000_000, 1_000_000)


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("sorce = 1\n" + SMALLEST, "sorce: no such key; did you mean 'source'?"),
        (
            'parsers = [{ parser = "json" }]',
            'source: where do the documents come from? Write source = "folder:raw"',
        ),
        (
            'source = "folder:raw"',
            'parsers: who reads the documents? Write [[parsers]] with parser = "html"',
        ),
        ("priority = true\n" + SMALLEST, "priority: must be a whole number, not True"),
        ('document = "sorce"\n' + SMALLEST, "document: no 'sorce'; did you mean 'source'?"),
        ('again = "allways"\n' + SMALLEST, "again: no 'allways'; did you mean 'always'?"),
        (
            "again = true\n" + SMALLEST,
            'again: no True; it must be never, parser, always or like "7 days"',
        ),
        (
            'timeout = "long"\n' + SMALLEST,
            'timeout: must be like "30 min", "24 h" or 90 (seconds), not \'long\'',
        ),
        (
            'memory = "much"\n' + SMALLEST,
            "memory: must be like \"512 MB\" or 90 (bytes), not 'much'",
        ),
        ('memory = "1 kB"\n' + SMALLEST, "memory: no parser starts with less than 32 MB"),
        ("memory = 0\n" + SMALLEST, 'memory: must be like "512 MB" or 90 (bytes), not 0'),
        (
            'at = "noon"\n' + SMALLEST,
            "at: 'noon' is not five fields of cron, such as \"0 6 * * *\"",
        ),
        (
            'at = "0 6 * * *"\nevery = 5\n' + SMALLEST,
            "at: every is given too: leave one of them out",
        ),
        ('too_long = "cat"\n' + SMALLEST, "too_long: no 'cat'; did you mean 'cut'?"),
        ('strict = "yes"\n' + SMALLEST, "strict: must be true or false, not 'yes'"),
        (
            'source = ["folder:raw", "folder:raw"]\nparsers = [{ parser = "json" }]',
            "source: the same is named twice",
        ),
        (
            'source = "folder:raw"\nparsers = "json"',
            "parsers: must be a list of tables, not 'json'",
        ),
        (
            'source = "folder:raw"\nparsers = [{ match = "*" }]',
            "parsers[0].parser: which one? html, json, pdf, ocr, or a script: parsers/mine.py",
        ),
        (
            'source = "folder:raw"\nparsers = [{ parser = "json", mach = "*" }]',
            "parsers[0].mach: no such key; did you mean 'match'?",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(folder: Path, text: str, mistake: str) -> None:
    assert mistakes(folder, text) == [mistake]


def test_a_parser_that_is_not_there(folder: Path) -> None:
    text = 'source = "folder:raw"\n[[parsers]]\nparser = "json"\n[[parsers]]\nparser = "jsn"\n'
    (said,) = mistakes(folder, text)
    assert said.startswith("parsers[1].parser: 'jsn' is no file in ")
    assert said.endswith("did you mean 'json'?")


def test_an_export_that_is_not_there(folder: Path) -> None:
    (said,) = mistakes(folder, 'export = "registr.json"\n' + SMALLEST)
    assert said.startswith("export: there is no file ")
    assert said.endswith("did you mean 'register.json'?")


def test_all_mistakes_are_told_at_once(folder: Path) -> None:
    assert len(mistakes(folder, 'again = "x"\npriority = 1.5\nstrict = 1\nsource = 3\n')) == 6


def test_what_is_no_toml(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"register\.toml: "):
        declared(folder, "source = ")


def test_a_folder_of_structures(folder: Path) -> None:
    (folder / "good.toml").write_text(SMALLEST)
    (folder / "bad.toml").write_text("x = 1")
    found = load_structures(folder, LIMITS)
    assert [*found] == ["bad", "good"]
    assert isinstance(found["bad"], Broken)
    assert isinstance(found["good"], Structure)
    with pytest.raises(UsageError, match=r"no structure 'god' in .*; did you mean 'good'"):
        load_structure(folder, "god", LIMITS)
    with pytest.raises(UsageError, match=r"no structure '\.\./good'"):
        load_structure(folder, "../good", LIMITS)
    with pytest.raises(UsageError, match="there is no folder"):
        load_structures(folder / "none", LIMITS)

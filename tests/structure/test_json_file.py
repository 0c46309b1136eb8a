"""Where a JSON file is wrong is told by line and column, in ordinary words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.register import EXPORT
from tools.errors import UsageError
from tools.structure.json_file import read_json

WRONG = {
    '{"a": 1 "b": 2}': "line 1, column 9: a comma is missing",
    "[1 2]": "line 1, column 4: a comma is missing",
    '{"a": 1，"b": 2}': "line 1, column 8: a comma is missing: write , instead of ，",  # noqa: RUF001
    '{"a": 1;"b": 2}': "line 1, column 8: a comma is missing: write , instead of ;",
    '{"a" 1}': "line 1, column 6: a colon is missing",
    '{"a"：1}': "line 1, column 5: a colon is missing: write : instead of ：",  # noqa: RUF001
    '{"a"}': "line 1, column 5: a colon and a value are missing",
    '{"a": 1,\n}': "line 1, column 8: a comma too much before the }: remove it",
    "[1, ]": "line 1, column 3: a comma too much before the ]: remove it",
    "[1,, 2]": "line 1, column 4: a comma too much: remove it",
    "[, 2]": "line 1, column 2: a comma too much: remove it",
    '{"a": 1,, "b": 2}': "line 1, column 9: a comma too much: remove it",
    '{"password":, "x"}': "line 1, column 13: a value is missing between the colon and the comma",
    '{"a":}': "line 1, column 6: a value is missing after the colon",
    '{"a": [1, 2}': "line 1, column 12: a ] is missing: the [ of line 1, column 7 is open",
    '[{"a": 1]': "line 1, column 9: a } is missing: the { of line 1, column 2 is open",
    '{"a": [1, "]"': "line 1, column 7: the [ is never closed",
    '{\n "a": {"b": 1}': "line 1, column 1: the { is never closed",
    '{"a":': "line 1, column 1: the { is never closed",
    '{"a"': "line 1, column 1: the { is never closed",
    "{": "line 1, column 1: the { is never closed",
    '{"a": 1}}': "line 1, column 9: a } too much: everything is closed already",
    '{"a": 1} {': "line 1, column 10: the file must end here: everything is closed already",
    "]": "line 1, column 1: a ] too much: nothing is open here",
    "": "line 1, column 1: the file is empty",
    " \n ": "line 1, column 1: the file is empty",
    '{"a": "x,\n"b": 1}': (
        "line 1, column 7: the text that begins here has no closing double quotes in its line"
    ),
    '{"a": "x': (
        "line 1, column 7: the text that begins here has no closing double quotes in its line"
    ),
    '{"a": "x\ty"}': (
        "line 1, column 9: a control character in a text: write a tab as \\t, and leave out others"
    ),
    '{"a": "C:\\q"}': (
        "line 1, column 10: a backslash begins an escape: write two for one that is meant"
    ),
    "{'a': 1}": 'line 1, column 2: texts stand in straight double quotes: write " instead',
    "[“a”]": 'line 1, column 2: texts stand in straight double quotes: write " instead',
    "{a: 1}": 'line 1, column 2: a name in double quotes must stand here: "name": value',
    '{"a": 1, # one\n "b": 2}': "line 1, column 10: JSON has no remarks: remove it",
    "[// one\n 1]": "line 1, column 2: JSON has no remarks: remove it",
    "[True]": (
        'line 1, column 2: a value must stand here: "text" in double quotes, a number, true, '
        "false, null, [ or {"
    ),
}


def said_of(text: str, folder: Path) -> str:
    file = folder / "register.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_json(file)
    return str(caught.value)


@pytest.mark.parametrize(("text", "sentence"), WRONG.items())
def test_a_mistake_is_told_in_ordinary_words(text: str, sentence: str, tmp_path: Path) -> None:
    assert said_of(text, tmp_path) == f"register.json: {sentence}"


def test_a_missing_comma_far_down_has_its_line_and_column(tmp_path: Path) -> None:
    lines = json.dumps(EXPORT, ensure_ascii=False, indent=4).splitlines()
    at = next(at for at in range(39, len(lines)) if lines[at].endswith(","))
    lines[at] = lines[at].removesuffix(",")
    column = len(lines[at + 1]) - len(lines[at + 1].lstrip()) + 1
    assert said_of("\n".join(lines), tmp_path) == (
        f"register.json: line {at + 2}, column {column}: a comma is missing"
    )


def test_a_missing_comma_of_line_41(tmp_path: Path) -> None:
    text = "{\n" + "\n" * 38 + '    "a": 1\n    "b": 2\n}'
    assert said_of(text, tmp_path) == "register.json: line 41, column 5: a comma is missing"


def test_names_that_stand_twice_are_all_told(tmp_path: Path) -> None:
    text = '{"mapping": {"x": 1, "x": 2, "x": 3, "y": [{"a": 1, "a": 1}]}'
    assert said_of(f'{text}, "mapping": {{"z": 1, "z": 2}}}}', tmp_path).splitlines() == [
        "register.json: the file has 'mapping' twice: remove one, or rename it",
        "register.json: mapping has 'z' twice: remove one, or rename it",
    ]
    assert said_of(f"{text}}}", tmp_path).splitlines() == [
        "register.json: mapping has 'x' twice: remove one, or rename it",
        "register.json: mapping.y[0] has 'a' twice: remove one, or rename it",
    ]


def test_a_file_with_a_mark_at_its_beginning_is_read(tmp_path: Path) -> None:
    file = tmp_path / "marked.json"
    file.write_bytes(b'\xef\xbb\xbf{"a": "\xe4\xb8\xbb"}')
    assert read_json(file) == {"a": "主"}


def test_what_is_no_text_too_large_or_too_deep_is_told(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(UsageError, match=r"x\.json is not UTF-8: save it as UTF-8"):
        read_json(file)
    file.write_text("[1, 2, 3]")
    with pytest.raises(UsageError, match=r"x\.json is too large: it may have 8 bytes"):
        read_json(file, 8)
    assert "nested too deep" in said_of("[" * 100_000, tmp_path)
    assert said_of("9" * 5000, tmp_path).startswith("register.json: ")


@settings(max_examples=400)
@given(text=st.text(st.sampled_from("{}[]:,\"\\\n\t 1a主'#-"), max_size=30))
def test_any_text_is_read_or_told_in_a_line(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.json"
    file.write_text(text, encoding="utf-8")
    try:
        read_json(file)
    except UsageError as error:
        assert all(line.startswith("any.json: ") for line in str(error).splitlines())


@settings(max_examples=300)
@given(at=st.integers(0, 10**6), mark=st.sampled_from(["", ",", '"', "{", "]", ":", "\\"]))
def test_a_character_lost_or_put_somewhere_is_read_or_told(
    at: int, mark: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = json.dumps(EXPORT, ensure_ascii=False, indent=1)
    at %= len(text)
    file = tmp_path_factory.getbasetemp() / "one.json"
    file.write_text(text[:at] + mark + text[at + (not mark) :], encoding="utf-8")
    try:
        read_json(file)
    except UsageError as error:
        assert all(line.startswith("one.json: ") for line in str(error).splitlines())


@pytest.mark.timeout(10)
def test_a_device_that_never_ends_is_refused() -> None:
    with pytest.raises(UsageError, match="/dev/zero is a device: give a file"):
        read_json(Path("/dev/zero"))

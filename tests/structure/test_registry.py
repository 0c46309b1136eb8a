"""Which parser a document gets, and rules that cannot work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.structure.conftest import WELL
from tools.errors import Unavailable, UsageError
from tools.structure.raw import Raw, raw_of
from tools.structure.registry import EDITIONS, Parsers, Rule


@pytest.mark.parametrize(
    ("source", "type", "parser"),
    [
        ("a/b.html", None, "html"),
        ("A.HTML", None, "html"),
        ("http://h.example/a.html?page=2", None, "html"),
        ("http://h.example/", "Text/HTML; charset=utf-8", "html"),
        ("http://h.example/list", "application/json", "json"),
        ("x.pdf", "text/html", "pdf"),
        ("x.tif", None, None),
        ("http://[broken", None, None),
    ],
)
def test_the_first_rule_that_matches(source: str, type: str | None, parser: str | None) -> None:
    rules = [Rule("*.pdf", "pdf"), Rule("*.html", "html"), Rule("text/*", "html")]
    rule = Parsers([*rules, Rule("*/json", "json")], Path()).rule_for(source, type)
    assert (rule.parser if rule else None) == parser


def test_an_edit_takes_effect_with_the_next_document(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(WELL)
    parsers = Parsers([Rule("*", "own.py", {"a": 1}), Rule("*", "own.py", {"a": 2})], tmp_path)
    before, other = (parsers.script_of(rule) for rule in parsers.rules)
    file.write_text(WELL + "#")
    after = parsers.script_of(parsers.rules[0])

    assert (before.text, after.text) == (WELL.encode(), WELL.encode() + b"#")
    assert len({before.hash, other.hash, after.hash}) == 3
    file.unlink()
    with pytest.raises(Unavailable, match=r"own.py cannot be read .*: put it back"):
        parsers.script_of(parsers.rules[0])


def test_a_built_in_parser_is_another_with_other_options_or_another_edition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def hash(**options: Any) -> str:
        parsers = Parsers([Rule("*", "html", options)], Path())
        return parsers.script_of(parsers.rules[0]).hash

    plain, told = hash(), hash(fields={"a": "h1", "b": "h2"})
    assert plain == hash() != told == hash(fields={"b": "h2", "a": "h1"})
    monkeypatch.setattr("tools.structure.registry.EDITIONS", {**EDITIONS, "html": 99})
    assert hash() != plain


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (Rule("*", "htm"), r"parsers\[0\].parser: 'htm' is no file in .*; did you mean 'html'\?"),
        (Rule("*", "own.py"), r"'own.py' is no file in "),
        (Rule("*", "html", {"feilds": {}}), r"\[0\].feilds: .*; did you mean 'fields'\?"),
        (Rule("*", "html", {"x": {}}), r"\[0\].x: .* no such option; it has fields"),
        (Rule("*", "html", {"fields": {}}), r"\[0\].fields must be names"),
        (Rule("*", "html", {"fields": {"a": "a["}}), r"\[0\].fields.a: 'a\[' is no selector"),
        (Rule("*", "html", {"fields": {"a": "//["}}), r"\[0\].fields.a: '//\[' is no selector"),
        (Rule("*", "html", {"fields": {"a": {"b": ["x", "y"]}}}), r"fields.a.b must have one"),
        (Rule("*", "html", {"fields": {"a": 3}}), r"fields.a must be a selector"),
        (Rule("*", "json", {"lines": "yes"}), r"lines must be true or false"),
        (Rule("*", "pdf", {"tables": {"vertical_strategy": "x"}}), r"tables: .*must be one of"),
        (Rule("*", "pdf", {"tables": {"no_such": 1}}), r"tables: .*no_such"),
        (Rule("*", "pdf", {"tables": True}), r"tables must be a table"),
        (Rule("*", "ocr", {"languages": ["a b"]}), r'must be like \["eng", "deu"\]'),
        (Rule("*", "ocr", {"dpi": "300"}), r"dpi must be from 50 to 1,200"),
    ],
)
def test_a_rule_that_cannot_work(rule: Rule, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        Parsers([rule], Path("/nowhere"))


@pytest.mark.parametrize("name", ["a.html", "茶.html", "\udcff\x00.html", '"\n'])
def test_a_note_says_what_was_noted(name: str) -> None:
    raw = Raw(name, "folder:raw", name, None, 12, "html")
    assert raw.as_note().isascii() and raw_of(raw.as_note()) == raw

"""`structure check` shows tables, rows and every doubt about an export, and needs no database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from main import main
from tests.structure.writing import changed, column, mapping, written
from tests.support.command import Here
from tests.support.register import DOCUMENTS, make_register


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    structures = make_register(tmp_path)
    monkeypatch.chdir(structures)
    return structures


def checked(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["structure", "check", *words]) == 0
    return capsys.readouterr().out


def document(folder: Path, said: Any) -> str:
    (folder / "document.json").write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")
    return "document.json"


def test_tables_are_shown_with_types_options_and_what_fills_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = checked(capsys, "register.json")
    assert said.startswith("register.json: 5 tables, 5 mappings; rows go to sqlite:register.db\n")
    lines = [line.split() for line in said.splitlines()]
    assert ["company,", "filled", "by", "mapping.公司"] in lines
    assert ["company_key", "VARCHAR(32)", "NOT", "NULL", "主键"] in lines
    assert ["number", "VARCHAR(32)", "注册号,", "统一社会信用代码"] in lines
    assert ["capital", "BIGINT", "DEFAULT", "0", "注册资本"] in lines
    assert ["report_seq", "INTEGER", "序号", "of", "年报"] in lines
    assert "Rows of" not in said and "Warnings" not in said
    assert {each.name for each in folder.iterdir()} == {
        *("register.toml", "register.json", "parsers", "raw")
    }


def test_the_rows_of_a_document_are_shown_as_they_would_be_stored(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in ("register.json", "register.toml"):
        said = checked(capsys, file, "--with", "raw/a-reports.json")
        lines = [line.split() for line in said.partition("Rows of a-reports.json")[2].splitlines()]
        assert ["report:", "2", "rows"] in lines
        assert ["91A", "2", "2014"] in lines
        assert ["91A", "1", "10.50", "-3.00"] in lines
        assert "  register.json: mapping.公司 matched nothing in 1 document" in said.splitlines()


def test_nothing_an_empty_text_and_a_default_are_told_apart(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    b = DOCUMENTS["b.html"]["91B"]["基本"]
    name = document(folder, {"91B": {"基本": {**b, "名称": "", "成立日期": None}}})
    assert "91B          ''    91B     NULL     0" in checked(
        capsys, "register.json", "--with", name
    )


def test_what_does_not_fit_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = [{"序号": "24人", "姓名": "x" * 70}, {"序号": "2", "职务": [1]}]
    said = checked(capsys, "register.json", "--with", document(folder, {"k": {"人员": people}}))
    assert "  person.seq, row 1: '24人' is no whole number" in said.splitlines()
    assert "  person.name would become VARCHAR(100)" in said.splitlines()


def test_records_without_a_shell_need_the_field_that_is_their_key(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = document(folder, {"url": "http://h/1", "许可": {"编号": "L"}})
    assert "document.json gives no rows: is it {key: record}?" in checked(
        capsys, "register.json", "--with", name
    )
    said = checked(capsys, "register.json", "--with", name, "--outer", "url")
    assert "  http://h/1   L       NULL" in said.splitlines()


def test_a_row_too_wide_for_a_line_is_shown_below_itself(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    licence = {"编号": "L" * 38, "有效期至": "2027-06-30"}
    name = document(folder, {"k" * 32: {"许可": licence}, "\x1b[2J" * 3: {"许可": licence}})
    said = checked(capsys, "register.json", "--with", name)
    assert f"  company_key  {'k' * 32}" in said.splitlines()
    assert "\x1b" not in said
    assert max(map(len, said.splitlines())) <= 80


def test_many_rows_are_not_all_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = document(folder, {"k": {"人员": [{"序号": n} for n in range(50)]}})
    assert "  ... and 30 more" in checked(capsys, "register.json", "--with", name).splitlines()


def test_a_wrong_file_ends_with_its_message(folder: Path, here: Here) -> None:
    written(Path(), changed(mapping("资产", dest_table="asset")))
    assert here("structure", "check", "register.json") == (
        "2 sheaf: register.json: mapping.资产.dest_table 'asset' is not in table; "
        "did you mean 'assets'?\n"
    )
    Path("register.json").write_text('{"database": {\n  "password":, "x"}}', encoding="utf-8")
    assert here("structure", "check", "register.json") == (
        "2 sheaf: register.json: line 2, column 14: a value is missing between the colon and the "
        "comma\n"
    )


def test_all_that_is_wrong_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def change(export: dict[str, Any]) -> None:
        mapping("资产", dest_table="asset")(export)
        column("company", 3, datatype="VARCHR(20)")(export)

    written(folder, changed(change))
    assert main(["structure", "check", "register.json"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check"], "which file? Give the export's file"),
        (["check", "none.json"], "none.json cannot be read: No such file"),
        (["check", "register.json", "--outer", "url"], "--outer is about a document"),
        (["check", "register.json", "--with", "none.json"], "none.json cannot be read"),
        (["check", "empty.toml"], 'empty.toml names no export: write export = "register.json"'),
    ],
)
def test_a_wrong_call_is_told_in_a_sentence(words: list[str], said: str, here: Here) -> None:
    make_register(Path())
    (Path() / "structures" / "register.json").rename("register.json")
    Path("empty.toml").write_text("")
    told = here("structure", *words)
    assert told.startswith("2 sheaf: ") and said in told

"""What is wrong with an export's file is told word for word, with place and remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.structure.writing import Change, column, mapping, mistakes, read, written
from tests.support.register import EXPORT, TRUTH
from tools.errors import UsageError
from tools.structure.mapping import never_matched, read_mapping
from tools.tables.datatype import datatype
from tools.tables.declared import Option

CUT = "企业" + "名" * 20


def test_a_right_file_has_its_tables_mappings_and_destination(tmp_path: Path) -> None:
    export = read(tmp_path)
    assert set(export.tables) == set(TRUTH)
    company = export.tables["company"]
    assert company.columns["capital"] == datatype("BIGINT")
    assert company.options == {
        "company_key": Option(is_required=True),
        "capital": Option(default="0", has_default=True),
    }
    assert company.own == "document"
    assert export.mappings["资产"].path == ("年报", "详情", "资产")
    assert export.mappings["资产"].carried == ("", "序号", "")
    assert export.mappings["公司"].sources()["number"] == ["注册号", "统一社会信用代码"]
    assert export.destination is not None
    assert export.destination.url == "sqlite:register.db"
    assert export.source_db is None
    assert export.warnings == []


def proft(export: dict[str, Any]) -> None:
    export["mapping"]["资产"]["dest_field"]["利润总额"] = "proft"


def two_long_tables(export: dict[str, Any]) -> None:
    for end in "甲乙":
        export["table"][CUT + end] = export["table"]["licence"]


def two_long_columns(export: dict[str, Any]) -> None:
    for end in "甲乙":
        export["table"]["report"].append({"dest_field": CUT + end, "datatype": "INT", "option": ""})


def without(*path: str) -> Change:
    def change(export: dict[str, Any]) -> None:
        for key in path[:-1]:
            export = export[key]
        del export[path[-1]]

    return change


def with_key(*path: str, key: str, value: Any = "") -> Change:
    def change(export: dict[str, Any]) -> None:
        for each in path:
            export = export[each]
        export[key] = value

    return change


CARRIED = "associated_field_source_path"
TOLD: list[tuple[Change, str]] = [
    (
        proft,
        "mapping.资产.dest_field: table 'assets' has no column 'proft'; did you mean 'profit'?",
    ),
    (
        mapping("资产", **{CARRIED: ["", "序号", "", ""]}),
        f"mapping.资产.{CARRIED} has 4 entries, source_path 3",
    ),
    (
        mapping("资产", dest_table="asset"),
        "mapping.资产.dest_table 'asset' is not in table; did you mean 'assets'?",
    ),
    (
        column("company", 3, datatype="VARCHR(20)"),
        "table.company[3].datatype 'VARCHR(20)' is no type; did you mean 'VARCHAR(20)'?",
    ),
    (
        column("company", 4, option="DEFAULT 0; DROP"),
        "table.company[4].option 'DEFAULT 0; DROP' is not understood at ';'",
    ),
    (
        two_long_tables,
        "table: '企业...甲' and '企业...乙' are the same in PostgreSQL, which cuts names at 63 "
        "bytes",
    ),
    (
        two_long_columns,
        "table.report.columns: '企业...甲' and '企业...乙' are the same in PostgreSQL, which cuts "
        "names at 63 bytes",
    ),
    (without("mapping", "许可", CARRIED), f'mapping.许可 has no {CARRIED}: write [""]'),
    (
        without("mapping", "许可", "source_path"),
        'mapping.许可 has no source_path: write the keys that lead to its rows, such as ["年报"]',
    ),
    (
        without("mapping", "许可", "dest_table"),
        "mapping.许可 has no dest_table: write the name of one of the tables",
    ),
    (
        without("mapping", "许可", "dest_field"),
        'mapping.许可 has no dest_field: write the column of each field, such as {"名称": "name"}',
    ),
    (
        mapping("许可", dest_field={}),
        "mapping.许可.dest_field: fills no column: write at least one",
    ),
    (
        with_key("mapping", "许可", key="dest_feild", value={}),
        "mapping.许可.dest_feild: no such key; did you mean 'dest_field'?",
    ),
    (
        with_key("mapping", "许可", "dest_field", key="编号", value=7),
        "mapping.许可.dest_field.编号: must be text, not 7",
    ),
    (
        mapping("许可", source_path="许可"),
        "mapping.许可.source_path: must be a list of texts, not '许可'",
    ),
    (
        mapping("许可", source_path=["", "许可"]),
        'mapping.许可.source_path: "" is no key; write [] for the record itself',
    ),
    (
        with_key("mapping", key="许可", value={}),
        "mapping.许可 has no dest_table: write the name of one of the tables",
    ),
    (with_key("mapping", key="许可", value=[]), "mapping.许可: must be an object in { }, not []"),
    (with_key(key="mapping", value={}), "mapping has no mappings: write which fields fill a table"),
    (with_key(key="table", value={}), "table has no tables: write their columns in it"),
    (
        with_key("table", key="licence", value=[]),
        "table.licence: must be a list of columns, not []",
    ),
    (
        with_key("table", key="licence", value=["x"]),
        "table.licence[0]: must be an object in { }, not 'x'",
    ),
    (
        with_key("table", key="licence", value=[{"datatype": "INT"}]),
        "table.licence[0] has no dest_field: write the name of the column",
    ),
    (
        column("licence", 1, dest_field="until"),
        "table.licence[2].dest_field: 'until' stands twice in 'licence': rename one",
    ),
    (
        with_key("table", key="licence", value=[{"dest_field": "number"}]),
        "table.licence[0] has no datatype: write one, such as VARCHAR(100)",
    ),
    (
        column("licence", 1, datatype=20),
        "table.licence[1].datatype: must be text, not 20",
    ),
    (
        column("licence", 1, datatype="VARCHAR"),
        "table.licence[1].datatype 'VARCHAR' needs a length, such as VARCHAR(100); or write TEXT",
    ),
    (
        column("company", 4, option="DEFAULT many"),
        "table.company[4].option 'DEFAULT many' is not understood at 'many'",
    ),
    (
        column("company", 4, option="DEFAULT 'many'"),
        "table.company: column 'capital' has a DEFAULT that does not fit: 'many' is no "
        "whole number",
    ),
    (
        column("licence", 1, datatype="JSON", option="PRIMARY KEY"),
        "table.licence.key: 'number' is JSON, which cannot be part of a key",
    ),
    (
        column("licence", 1, datatype="VARCHAR(700)", option="UNIQUE"),
        "table.licence: column 'number' is VARCHAR(700), which cannot be UNIQUE: an index takes "
        "675 characters",
    ),
    (
        column("licence", 1, option="AUTO_INCREMENT UNIQUE"),
        "table.licence: column 'number' is VARCHAR(32), and only whole numbers are counted: take "
        "AUTO_INCREMENT out",
    ),
    (
        column("licence", 1, option="UNSIGNED"),
        "table.licence: column 'number' is VARCHAR(32), and only numbers are UNSIGNED",
    ),
    (
        column("licence", 1, dest_field="a`b"),
        "table.licence.columns: the name 'a`b' must be without quotes, brackets, backslashes, "
        "semicolons and control characters",
    ),
    (
        with_key("table", key=CUT, value=EXPORT["table"]["licence"]),
        f"table: the name '{CUT}' has 66 bytes, and PostgreSQL keeps 63: choose a shorter one",
    ),
    (with_key(key="tables"), "tables: no such key; did you mean 'table'?"),
]


@pytest.mark.parametrize("common", [CUT, "a" + "名" * 20, "a" * 63])
def test_names_are_cut_between_characters(common: str, tmp_path: Path) -> None:
    def change(export: dict[str, Any]) -> None:
        for end in ("", "甲") if len(common.encode()) == 63 else "甲乙":
            export["table"][common + end] = export["table"]["licence"]

    assert "are the same in PostgreSQL" in mistakes(tmp_path, change)[0]


@pytest.mark.parametrize(("change", "sentence"), TOLD, ids=[each[1][:50] for each in TOLD])
def test_a_mistake_is_told_with_its_place_and_a_remedy(
    change: Change, sentence: str, tmp_path: Path
) -> None:
    assert f"register.json: {sentence}" in mistakes(tmp_path, change)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    def change(export: dict[str, Any]) -> None:
        proft(export)
        column("company", 3, datatype="VARCHR(20)")(export)
        column("company", 4, option="DEFAULT 0; DROP")(export)

    assert len(mistakes(tmp_path, change)) == 3


def test_a_missing_file_and_one_that_is_no_object_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.json cannot be read: No such file"):
        read_mapping(tmp_path / "none.json")
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        read_mapping(tmp_path)
    with pytest.raises(UsageError, match=r"register\.json: the file must be an object"):
        read_mapping(written(tmp_path, [EXPORT]))


# --- what may be left out ------------------------------------------------------------------


def test_without_databases_and_options_a_file_is_right(tmp_path: Path) -> None:
    def change(export: dict[str, Any]) -> None:
        del export["database"]
        for each in export["table"]["report"]:
            del each["option"]

    export = read(tmp_path, change)
    assert export.destination is None
    assert export.tables["report"].options == {}


def test_a_shorter_list_of_carried_fields_carries_nothing_further_down(tmp_path: Path) -> None:
    export = read(tmp_path, mapping("资产", **{CARRIED: ["", "序号"]}))
    assert export.mappings["资产"].carried == ("", "序号", "")


def test_nothing_carried_is_one_empty_text_however_long_the_path(tmp_path: Path) -> None:
    assert read(tmp_path, mapping("公司", source_path=[])).mappings["公司"].carried == ()


def test_primary_keys_make_the_key_of_the_table(tmp_path: Path) -> None:
    def change(export: dict[str, Any]) -> None:
        for number in (0, 1):
            export["table"]["report"][number]["option"] = "primary key"

    assert read(tmp_path, change).tables["report"].key == ("company_key", "report_seq")


# --- warnings ------------------------------------------------------------------------------


def test_what_may_be_meant_but_seldom_is_gives_a_warning(tmp_path: Path) -> None:
    def change(export: dict[str, Any]) -> None:
        export["table"]["spare"] = export["table"]["licence"]
        del export["mapping"]["资产"]["dest_field"]["序号"]
        del export["mapping"]["人员"]["dest_field"]["主键"]

    assert read(tmp_path, change).warnings == [
        "register.json: table.spare: no mapping fills it, so it stays empty",
        "register.json: mapping.人员: person.company_key is NOT NULL without a DEFAULT, and "
        "dest_field does not fill it, so none of its rows can be stored",
        f"register.json: mapping.资产.{CARRIED}: '序号' is carried down, but dest_field has no "
        "column for it",
    ]


def test_a_mapping_that_never_matched_is_named(tmp_path: Path) -> None:
    def change(export: dict[str, Any]) -> None:
        export["mapping"]["担保"] = {**export["mapping"]["许可"], "source_path": ["担保"]}

    export = read(tmp_path, change)
    unmatched = {"担保": 207, "资产": 206}
    assert never_matched(export, unmatched, 207) == [
        "register.json: mapping.担保 matched nothing in 207 documents"
    ]
    assert never_matched(export, {}, 0) == []

"""The job `structure` from raw documents to rows: the same rows, whatever happens in between."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.register import EXPORT, TRUTH, make_register
from tests.support.structured import Register
from tools.errors import StateDamaged, UsageError

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def register(tmp_path: Path) -> Register:
    found = Register(make_register(tmp_path))
    for name in (found.structures / "raw").iterdir():
        found.age(f"raw/{name.name}")
    return found


# --- what comes of documents -----------------------------------------------------------------


def test_the_register_becomes_its_tables(register: Register) -> None:
    register.round()
    assert register.is_true()
    assert register.seen.pools["finished"] == 5  # its source, and four documents
    assert register.rows("company", "_document") == [("raw/a.html",), ("raw/b.html",)]


def test_a_second_round_does_nothing(register: Register) -> None:
    register.round()
    register.round()
    assert register.is_true()
    assert register.exports() == 4


def test_all_is_exported_again_to_the_same_rows(register: Register) -> None:
    register.round()
    register.round(only_stage="export", again=True)
    assert register.is_true()
    assert register.exports() == 8


def test_stages_can_be_run_one_by_one(register: Register) -> None:
    register.round(only_stage="dispatch")
    assert register.seen.pools["to_parse"] == 4
    register.round(only_stage="parse")
    assert register.seen.pools["to_export"] == 4
    register.round(only_stage="export")
    assert register.is_true()


def test_dispatch_alone_ends_when_a_class_is_full(register: Register) -> None:
    register.more = {"most_waiting": 3}
    register.round(only_stage="dispatch")
    assert register.seen.pools["to_parse"] == 3
    register.round()
    assert register.is_true()


def test_without_an_export_documents_end_as_json(register: Register) -> None:
    register.edit("register.toml", 'export = "register.json"\n', "")
    register.round()
    assert register.seen.pools["finished"] == 5
    with pytest.raises(UsageError, match="has no export"):
        register.round(only_stage="export")


def test_an_export_that_is_declared_later_gets_all(register: Register) -> None:
    register.edit("register.toml", 'export = "register.json"\n', "")
    register.round()
    register.edit("register.toml", "priority = 2", 'priority = 2\nexport = "register.json"')
    register.round(only_stage="export", again=True)
    assert register.is_true()


# --- sources that change ---------------------------------------------------------------------


def test_a_newer_version_replaces_the_rows(register: Register) -> None:
    register.round()
    register.edit("raw/b.html", "<dd>2015-02-01</dd>", "<dd>2016-03-04</dd>")
    register.round()
    assert ("91B", "上海", "91B", "2016-03-04", 0) in register.truth()["company"]
    assert len(register.truth()["company"]) == 2


def test_a_source_that_returns_to_its_old_bytes_has_its_old_rows(register: Register) -> None:
    register.round()
    before = (register.structures / "raw/b.html").read_text()
    register.edit("raw/b.html", "<dd>2015-02-01</dd>", "<dd>2016-03-04</dd>")
    register.round()
    register.write("raw/b.html", before)
    register.round()
    assert register.is_true()


def test_a_copy_has_no_rows_until_it_is_the_only_one(register: Register) -> None:
    shutil.copy(register.structures / "raw/b.html", register.structures / "raw/c.html")
    register.age("raw/c.html")
    register.round()
    assert register.is_true()
    assert register.seen.tally["copies"] == 1
    register.edit("raw/b.html", "91B", "91X")
    register.round()
    assert register.rows("company", "company_key, _document") == [
        ("91A", "raw/a.html"),
        ("91B", "raw/c.html"),
        ("91X", "raw/b.html"),
    ]


def test_a_source_that_becomes_a_copy_loses_its_rows(register: Register) -> None:
    register.round()
    register.write("raw/b.html", (register.structures / "raw/a.html").read_text())
    register.round()
    assert register.rows("company", "company_key, _document") == [("91A", "raw/a.html")]


def test_versions_are_kept_where_rows_belong_to_bytes(register: Register) -> None:
    register.edit("register.toml", "priority = 2", 'priority = 2\ndocument = "hash"')
    register.round()
    register.edit("raw/b.html", "91B", "91X")
    register.round()
    assert [row[0] for row in register.rows("company", "company_key")] == ["91A", "91B", "91X"]


def test_rows_can_belong_to_their_key(register: Register) -> None:
    register.edit("register.toml", "priority = 2", 'priority = 2\ndocument = "key"')
    register.round()
    assert register.is_true()  # a page, a report and a licence say different things of one key
    register.edit("raw/b.html", "<dd>2015-02-01</dd>", "<dd>2016-03-04</dd>")
    register.write("raw/c.html", (register.structures / "raw/b.html").read_text() + " ")
    register.round()
    assert register.rows("company", "founded, _document")[1] == ("2016-03-04", "91B")
    assert len(register.rows("company")) == 2


# --- what is edited --------------------------------------------------------------------------


def test_an_edited_parser_parses_its_documents_again(register: Register) -> None:
    register.edit("parsers/company.py", "统一社会信用代码", "名称")
    register.round()
    assert register.truth()["company"] != TRUTH["company"]
    register.edit("parsers/company.py", 'facts["名称"]', 'facts["统一社会信用代码"]')
    register.round()
    assert register.is_true()
    assert register.seen.tally["parsed parsers/company.py"] == 4
    assert register.seen.tally["parsed json"] == 1


def test_a_parser_that_failed_tries_again_once_it_is_mended(register: Register) -> None:
    register.edit("parsers/company.py", "统一社会信用代码", "nothing")
    register.round()
    assert len(register.failures) == 2
    assert {*register.failures.values()} == {"KeyError: 'nothing' (company.py, line 19)"}
    register.round()
    assert len(register.failures) == 2
    assert register.seen.tally["failed parsers/company.py"] == 2  # nobody tried again
    register.edit("parsers/company.py", "nothing", "统一社会信用代码")
    register.round()
    assert register.is_true()
    assert register.failures == {}


def test_a_rule_that_is_edited_parses_its_documents_again(register: Register) -> None:
    register.edit(
        "register.toml", 'match = "*.json"\nparser = "json"', 'match = "*.js"\nparser = "json"'
    )
    register.edit("register.toml", 'match = "*.pdf"', 'match = "*"')
    register.round()
    assert len(register.failures) == 1
    register.edit("register.toml", 'match = "*.js"', 'match = "*.json"')
    register.round(only_stage="parse", again=True, sources="*.json")
    register.round()
    assert register.is_true()


def test_a_rule_that_is_gone_for_a_while_makes_no_failures(register: Register) -> None:
    register.round()
    register.edit("register.toml", 'match = "*.html"', 'match = "*.nothing"')
    register.edit("parsers/company.py", "import Selector", "import Selector  # edited")
    register.round()
    assert register.failures == {}
    assert register.is_true()


def test_what_waited_for_a_parser_that_went_is_parsed_when_it_returns(register: Register) -> None:
    register.round(only_stage="dispatch")
    register.edit("register.toml", 'match = "*.html"', 'match = "*.nothing"')
    register.round()
    assert {*register.failures.values()} == {"no parser of the job matches its name or type"}
    register.edit("register.toml", 'match = "*.nothing"', 'match = "*.html"')
    register.round()
    assert register.failures == {}
    assert register.is_true()


def test_a_copy_is_read_by_the_rule_of_its_own_name(register: Register) -> None:
    shutil.copy(register.structures / "raw/a-reports.json", register.structures / "raw/z.jsn")
    register.edit("register.toml", 'match = "*.json"', 'match = "*.js*n"')
    register.round(only_stage="dispatch")
    register.edit("register.toml", 'match = "*.js*n"', 'match = "*.jsn"')
    register.round()
    assert register.failures == {}
    assert register.is_true()


def test_documents_that_another_parser_reads_now_are_parsed_again(register: Register) -> None:
    register.edit("register.toml", 'match = "*.json"', 'match = "*-reports.json"')
    register.edit("register.toml", 'match = "*.pdf"', 'match = "*"')
    register.round()
    assert register.seen.tally["parsed json"] == 1
    register.write(
        "parsers/own.py", "import json\n\nclass RawParser:\n    parse = staticmethod(json.loads)"
    )
    register.edit("register.toml", 'parser = "json"', 'parser = "parsers/own.py"')
    register.round()
    assert register.seen.tally["parsed parsers/own.py"] == 1
    assert register.is_true()


def test_bytes_that_are_gone_from_one_place_are_read_at_another(register: Register) -> None:
    shutil.copy(register.structures / "raw/b.html", register.structures / "raw/c.html")
    register.round(only_stage="dispatch")
    (register.structures / "raw/b.html").unlink()
    register.round(only_stage="parse")
    register.round(only_stage="export")
    assert register.is_true()


@pytest.mark.parametrize(("again", "parsed"), [("never", 1), ("always", 2), ("0 s", 2)])
def test_documents_are_parsed_again_as_the_structure_says(
    register: Register, again: str, parsed: int
) -> None:
    register.edit("register.toml", "priority = 2", f'priority = 2\nagain = "{again}"')
    register.round()
    register.round()
    assert register.is_true()
    assert register.seen.tally["parsed json"] == parsed


def test_some_sources_are_parsed_again_by_hand(register: Register) -> None:
    register.round()
    register.round(only_stage="parse", again=True, sources="raw/*.html")
    assert register.seen.tally["parsed parsers/company.py"] == 4
    assert register.seen.tally["parsed json"] == 1
    register.round()
    assert register.is_true()


def test_an_export_gains_a_column(register: Register) -> None:
    register.round()
    export = json.loads(json.dumps(EXPORT))
    export["table"]["person"].append({"dest_field": "note", "datatype": "TEXT", "option": ""})
    export["mapping"]["人员"]["dest_field"]["职务"] = "note"
    register.write("register.json", json.dumps(export, ensure_ascii=False))
    register.round()
    assert {row[0] for row in register.rows("person", "note")} == {None}
    register.round(only_stage="export", again=True)
    assert {row[0] for row in register.rows("person", "note")} == {"董事长", "经理"}
    assert len(register.rows("_schema_changes")) >= 1


def test_a_table_is_archived_where_a_type_cannot_change(register: Register) -> None:
    register.round()
    text = json.dumps(EXPORT, ensure_ascii=False).replace(
        '"dest_field": "year", "datatype": "INT"', '"dest_field": "year", "datatype": "DATE"'
    )
    register.write("register.json", text)
    with pytest.raises(UsageError, match="structure export"):
        register.round()
    register.round(only_stage="export", again=True, archive=["report"])
    assert {row[0] for row in register.rows("report", "year")} == {None}
    tables = register.rows("sqlite_master", "name")
    assert any(name.startswith("report_2") for (name,) in tables)


def test_a_table_that_is_archived_alone_is_told_to_be_empty(
    register: Register, caplog: pytest.LogCaptureFixture
) -> None:
    register.round()
    register.round(only_stage="export", archive=["report"])
    assert "the new one is empty: `structure export NAME --again` fills it" in caplog.messages
    caplog.clear()
    register.round(only_stage="export", archive=["report"], again=True)
    assert not any("is empty" in each for each in caplog.messages)
    assert register.is_true()


def test_a_table_that_is_not_there_cannot_be_archived(register: Register) -> None:
    register.round()
    with pytest.raises(UsageError, match=r"no table 'reprot' .*; did you mean 'report'\?"):
        register.round(only_stage="export", archive=["company", "reprot"])
    assert register.is_true()


def test_rows_that_would_be_somebody_elses_are_not_doubled(register: Register) -> None:
    register.round()
    register.edit("register.toml", "priority = 2", 'priority = 2\ndocument = "key"')
    with pytest.raises(UsageError, match=r'document was "source" and is "key" now.* --archive'):
        register.round(only_stage="export", again=True)
    assert register.is_true()
    register.round(only_stage="export", again=True, archive=[*TRUTH])
    assert register.is_true()
    assert {name for (name,) in register.rows("person", "_document")} == {"91A"}
    assert len(register.rows("person")) == 2


def test_strict_refuses_documents_with_values_that_do_not_fit(register: Register) -> None:
    register.edit("register.toml", "priority = 2", "priority = 2\nstrict = true")
    register.edit("raw/b.html", "<dd>2015-02-01</dd>", "<dd>someday</dd>")
    register.round()
    (reason,) = register.failures.values()
    assert reason.startswith("company.founded: 'someday': ")
    assert [row[0] for row in register.rows("company", "company_key")] == ["91A"]
    with closing(sqlite3.connect(register.state / "documents.db")) as db:
        (line,) = db.execute("SELECT status, reason FROM exports WHERE status = 'failed'")
    assert line == ("failed", reason)


def test_values_that_do_not_fit_are_problems(register: Register) -> None:
    register.edit("raw/b.html", "<dd>2015-02-01</dd>", "<dd>someday</dd>")
    register.round()
    assert register.failures == {}
    assert len(register.rows("_problems")) == 1


# --- what is lost ----------------------------------------------------------------------------


def test_documents_that_are_gone_are_not_made_anew(register: Register) -> None:
    register.round()
    (register.state / "documents.db").unlink()
    with pytest.raises(StateDamaged, match="gone, though 4 documents were parsed: bring it back"):
        register.round()
    assert not (register.state / "documents.db").exists()


def test_a_database_that_is_gone_is_not_made_anew(register: Register) -> None:
    register.round()
    (register.state / "register.db").unlink()
    with pytest.raises(StateDamaged, match="4 documents were exported"):
        register.round()
    assert not (register.state / "register.db").exists()
    register.round(only_stage="export", again=True)
    assert register.is_true()


def test_a_database_that_was_emptied_is_not_filled_in_part(register: Register) -> None:
    register.round()
    with closing(sqlite3.connect(register.state / "register.db")) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            db.execute(f"DROP TABLE {name}")
    with pytest.raises(StateDamaged, match="4 documents were exported"):
        register.round()


def test_pools_that_are_gone_bring_all_anew(register: Register) -> None:
    register.round()
    for name in ("pools.db", "pools.db-wal", "pools.db-shm"):
        (register.state / name).unlink(missing_ok=True)
    register.round()
    assert register.is_true()
    assert register.exports() == 4

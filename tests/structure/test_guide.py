"""docs/structure.md, typed as it stands there: its files, commands, tables and messages."""

from __future__ import annotations

import re
import shlex
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import ROOT, run
from tests.support.mariadb_server import PASSWORD, mariadb_server
from tests.support.postgres_server import postgres_server
from tools.commands.parsing import parsed
from tools.errors import UsageError
from tools.sample.papers import certificate
from tools.structure.declared import JOB, RULE
from tools.structure.mapping import read_mapping
from tools.structure.registry import OPTIONS
from tools.structure.sources.open import KINDS

pytestmark = pytest.mark.timeout(180)

GUIDE = (ROOT / "docs/structure.md").read_text(encoding="utf-8")
FILES = dict(
    re.findall(r"`(structures/[\w./-]+)`[^`]*?:\n\n```\w+\n(.*?)^```$", GUIDE, re.S | re.M)
)
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", GUIDE, re.S | re.M)
LINES = [line for language, block in BLOCKS if not language for line in block.splitlines()]
LICENCE = ["company: 91A", "licence: L-2016/7", "until: 2027-06-30"]
MANY = 18  # lines that are typed, at least


def chapter(title: str) -> str:
    return GUIDE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def table(title: str) -> list[list[str]]:
    """The cells of the last table of a chapter, without its head."""
    rows = re.findall(r"^\| (.+) \|$", chapter(title), re.M)
    return [row.split(" | ") for row in rows if not row.startswith("--")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With all that a reader of the guide has written down."""
    folder = tmp_path_factory.mktemp("guide")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    (folder / "structures/raw/a.pdf").write_bytes(certificate(LICENCE))
    return folder


def test_the_files_are_all_there() -> None:
    names = "register.toml register.json raw/a.html raw/b.html raw/a-reports.json garden.toml"
    more = "garden.json parsers/company.py parsers/licence.py"
    assert FILES.keys() == {f"structures/{name}" for name in f"{names} {more}".split()}


def test_every_line_does_what_it_says(folder: Path) -> None:
    """One after the other, as a reader types them; servers are ours instead of his."""
    environment: dict[str, Any] = {}
    typed = 0
    with postgres_server() as postgres, mariadb_server() as mariadb:
        servers = {"postgresql://me@localhost/register": postgres.database(),
                   "mysql://me@localhost/register": mariadb.database()}  # fmt: skip
        for line in LINES:
            for shown, ours in servers.items():
                line = line.replace(shown, shlex.quote(ours))
            if line.startswith("export "):
                environment["SHEAF_DATABASE_PASSWORD"] = PASSWORD
                continue
            program, *words = shlex.split(line, comments=True)
            if program == "sqlite3":
                assert asked(folder / words[0], words[1]), line
            else:
                done = run(words[0], *words[1:], cwd=folder, **environment)
                assert done.returncode == 0, (line, done.stdout, done.stderr)
            typed += 1
        rows = postgres.query(servers["postgresql://me@localhost/register"],
                              "SELECT count(*) FROM person")  # fmt: skip
        assert rows == [(2,)]
    assert typed >= MANY
    elsewhere = folder / "state-structure/register/elsewhere.db"
    assert asked(elsewhere, "SELECT name FROM company ORDER BY 1") == [
        ("上海",),
        ("北京茶业有限公司",),
    ]


def asked(file: Path, question: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as db:
        return db.execute(question).fetchall()


@pytest.fixture(scope="module")
def registered(folder: Path) -> Path:
    done = run("main.py", "structure", "register", "--state", "state-alone", "-q", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "state-alone/register.db"


@pytest.mark.parametrize(("name", "shown"), table("A worked example")[1:])
def test_the_tables_of_the_worked_example_are_those_it_shows(
    registered: Path, name: str, shown: str
) -> None:
    expected = [[*map(plain, row.split(", "))] for row in re.findall(r"\(([^)]+)\)", shown)]
    found = asked(registered, f"SELECT * FROM {name} ORDER BY 1, 2")
    assert [[*map(plain, row[:-2])] for row in found] == expected  # without _document, _row


def plain(value: object) -> object:
    """10.50 is 10.5, as a text and as a number."""
    try:
        return float(str(value))
    except ValueError:
        return value


def test_the_pages_of_a_crawl_become_rows(folder: Path) -> None:
    """As the last lines of the guide do it, in a folder of its own."""
    state = folder / "state-structure/garden/garden.db"
    if not state.exists():
        assert run("main.py", "pages", "--sample", "-q", cwd=folder).returncode == 0
        assert run("main.py", "structure", "garden", "-q", cwd=folder).returncode == 0
    plants = dict(asked(state, "SELECT name, about FROM plant"))
    assert len(plants) == 12 and plants["Ivy"].startswith("Ivy flowers last in the year")
    assert asked(state, "SELECT count(*) FROM link WHERE url LIKE '%/rose'")[0][0] > 3


@pytest.mark.parametrize(
    "line",
    [line for line in LINES if line.startswith("python main.py")],
    ids=lambda line: line[:60],
)
def test_every_command_line_is_understood(line: str) -> None:
    parsed(shlex.split(line, comments=True)[2:])


SPOILT = {
    "no column 'proft'": ('"利润总额": "profit"', '"利润总额": "proft"'),
    "'asset' is not in table": ('"dest_table": "assets"', '"dest_table": "asset"'),
    "has 4 entries": ('["", "序号", ""]', '["", "序号", "", ""]'),
    "mapping.许可 has no": ('["许可"], "associated_field_source_path": [""],', '["许可"],'),
    "'VARCHR(20)' is no type": ('founded", "datatype": "DATE', 'founded", "datatype": "VARCHR(20)'),
    "is not understood at": ('"DEFAULT 0"', '"DEFAULT 0; DROP"'),
    "a comma is missing": ('"dest_table": "person", ', '"dest_table": "person" '),
}  # fmt: skip


@pytest.mark.parametrize("message", [row[0].strip("`") for row in table("When it goes wrong")[1:]])
def test_every_message_is_what_one_is_told(message: str, tmp_path: Path) -> None:
    ((old, new),) = [each for part, each in SPOILT.items() if part in message]
    text = FILES["structures/register.json"]
    assert text.count(old) == 1
    (tmp_path / "register.json").write_text(text.replace(old, new), "utf-8")
    with pytest.raises(UsageError) as told:
        read_mapping(tmp_path / "register.json")
    assert re.sub(r"line \d+, column \d+", "", message) in re.sub(
        r"line \d+, column \d+", "", str(told.value)
    )


def test_every_key_of_a_job_parser_and_source_stands_in_the_guide() -> None:
    keys = re.findall(
        r"`(?:\[\[)?(\w+)(?:\]\])?`", " ".join(row[0] for row in table("The job file"))
    )
    assert set(keys) == set(JOB)
    (rule,) = [row[1] for row in table("The job file") if row[0] == "`[[parsers]]`"]
    assert set(RULE) <= set(re.findall(r"`(\w+)`", rule))
    built_in = {row[0].strip("`"): set(re.findall(r"\w+", row[2])) for row in table("Parsers")[1:]}
    assert built_in == {name: set(options) for name, options in OPTIONS.items()}
    kinds = {re.match(r"`(\w+):", row[0])[1] for row in table("Sources")[1:]}  # type: ignore[index]
    assert kinds == set(KINDS)


def test_every_link_leads_somewhere_and_make_knows_the_job() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", GUIDE):
        assert (ROOT / "docs" / target).exists(), target
    command = ["make", "-n", "run", "JOB=structure"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert "main.py structure --sample" in done.stdout, done.stdout + done.stderr

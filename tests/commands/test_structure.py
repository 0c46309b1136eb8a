"""The job `structure` as its user types it: catalogue, stages, requeue, status, clock, fresh."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import run, says, start_in
from tests.support.register import make_register, page

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_register(tmp_path)
    return tmp_path


def structure(folder: Path, *words: str, code: int = 0) -> str:
    done = run("main.py", "structure", *words, cwd=folder)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout


def status(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(structure(folder, "status", "register", "--json"))
    found["statuses"] = {each["status"]: each["documents"] for each in found["statuses"]}
    return found


def rows(folder: Path, table: str) -> int:
    with closing(sqlite3.connect(folder / "state-structure/register/register.db")) as db:
        ((number,),) = db.execute(f"SELECT count(*) FROM {table}")
        return int(number)


def test_a_day_in_its_life(folder: Path) -> None:
    (folder / "structures/broken.toml").write_text("sorce = 1")
    listed = structure(folder)
    assert "register   a register of two companies" in listed
    assert "broken.toml: sorce: no such key; did you mean 'source'?" in listed
    plan = structure(folder, "register", "--dry-run")
    assert "company, person, report, assets, licence in sqlite:register.db" in plan
    assert not (folder / "state-structure").exists()
    assert "8" in structure(folder, "register")
    assert rows(folder, "person") == 2
    seen = status(folder)
    assert seen["statuses"] == dict.fromkeys(range(1, 9), 0) | {9: 4}
    assert len(seen["queues"]) == 8
    assert {each["name"] for each in seen["parsers"]} == {
        "json",
        "parsers/company.py",
        "parsers/licence.py",
    }
    assert all(each["memory"] > 1e6 and each["mean_s"] > 0 for each in seen["parsers"])
    assert [each["status"] for each in seen["exports"]] == ["done"] * 4
    assert "finished          4" in structure(folder, "status", "register")
    shown = run("history.py", "--job", "structure", cwd=folder).stdout
    assert "structure:higher" in shown and "Exports" in shown
    told = json.loads(run("history.py", "--job", "structure", "--json", cwd=folder).stdout)
    assert [each["title"] for each in told["panels"]] == [
        *("Documents", "Queues", "Parsers", "Exports"),
    ]
    assert told["tables"]["company"] == 2


def test_stages_one_by_one(folder: Path) -> None:
    structure(folder, "dispatch", "register")
    assert status(folder)["statuses"][2] == 4
    queues = {each["name"]: each for each in status(folder)["queues"]}
    assert queues["structure:normal"]["waiting"] == 4
    assert 0 <= queues["structure:normal"]["oldest_s"] < 100
    structure(folder, "parse", "register")
    queues = {each["name"]: each for each in status(folder)["queues"]}
    assert queues["extracter:normal"]["waiting"] == 4
    structure(folder, "export", "register")
    assert status(folder)["statuses"][9] == 4
    structure(folder, "export", "register", "--again", "--to", "sqlite:other.db")
    with closing(sqlite3.connect(folder / "state-structure/register/other.db")) as db:
        assert db.execute("SELECT count(*) FROM company").fetchall() == [(2,)]


def test_what_failed_goes_back_until_it_has_failed_three_times(folder: Path) -> None:
    (folder / "structures/raw/b.html").write_text("<p>nothing")
    (folder / "structures/raw/c.html").write_text("")
    structure(folder, "register")
    counts = []
    for _ in range(3):
        counts.append(
            structure(folder, "requeue", "register", "--reason", "keyerror").split("\n")[:3]
        )
        structure(folder, "parse", "register")
    assert counts == [
        ["failed: 1", "failed three times: 0", "put back: 1"],
        ["failed: 1", "failed three times: 0", "put back: 1"],
        ["failed: 1", "failed three times: 1", "put back: 0"],
    ]
    assert structure(folder, "requeue", "register", "--stage", "export").startswith("failed: 0\n")
    assert status(folder)["statuses"][6] == 2
    listed = structure(folder, "status", "register", "--failed")
    assert "raw/b.html\tparse\t3 times\tKeyError" in listed
    assert "raw/c.html\tparse\t1 time\tempty" in listed


def test_the_statuses_can_be_asked_for_by_sql(folder: Path) -> None:
    (folder / "structures/raw/b.html").write_text("<p>nothing")
    structure(folder, "register")
    with closing(sqlite3.connect(folder / "state-structure/register/pools.db")) as db:
        found = dict(db.execute("SELECT source, status FROM task"))
    assert found == {
        "raw/a.html": 9,
        "raw/a.pdf": 9,
        "raw/a-reports.json": 9,
        "raw/b.html": 6,
    }


def test_a_structure_that_stays_takes_what_comes(folder: Path) -> None:
    toml = folder / "structures/register.toml"
    toml.write_text('every = "1 s"\n' + toml.read_text())
    with start_in(folder, "main.py", "structure", "register", "--watch", "-q") as process:
        try:
            until(lambda: rows(folder, "company") == 2)
            text = page("b.html", "new").replace("91B", "91C")
            (folder / "structures/raw/.new").write_text(text)
            (folder / "structures/raw/.new").rename(folder / "structures/raw/c.html")
            until(lambda: rows(folder, "company") == 3)
            script = folder / "structures/parsers/licence.py"
            script.write_text(script.read_text().replace('"编号": said', '"编号": "X" + said'))
            until(lambda: licence(folder) == "XL-2016/7")
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
    assert process.returncode == 0


def licence(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "state-structure/register/register.db")) as db:
        ((number,),) = db.execute("SELECT number FROM licence")
        return str(number)


def until(holds: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if holds():
                return
        except (sqlite3.Error, ValueError):
            pass
        time.sleep(0.05)
    raise AssertionError("it never was so")


def test_fresh_begins_anew(folder: Path) -> None:
    """Also where its tables are no part of its state."""
    export, outside = folder / "structures/register.json", folder / "out.db"
    export.write_text(export.read_text().replace('"register.db"', json.dumps(str(outside))))
    structure(folder, "register")
    said = structure(folder, "register", "--fresh")
    assert "the old state is set aside in " in said
    assert "the old table company is called company_2" in said
    with closing(sqlite3.connect(outside)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master")]
        assert len([each for each in names if each.startswith("company_2")]) == 1
        assert db.execute("SELECT count(*) FROM company").fetchall() == [(2,)]


def test_what_is_wrong_is_said_in_a_sentence(folder: Path) -> None:
    def said(*words: str, code: int = 2) -> str:
        return says(run("main.py", "structure", *words, cwd=folder), code)

    assert "no structure 'registr' in structures; did you mean 'register'?" in said("registr")
    assert "has not been started yet" in said("status", "register")
    assert "has not been started yet" in said("requeue", "register")
    assert "which structure?" in said("parse")
    assert "--source goes with --again" in said("parse", "register", "--source", "*.pdf")
    assert "--after goes with --failed" in said("status", "register", "--after", "x")
    export = folder / "structures/register.json"
    export.write_text(export.read_text().replace('"register.db"', '"pools.db"'))
    assert "is a file of the state itself" in said("register")


def test_a_file_that_cannot_work_is_refused_before_anything_is_made(folder: Path) -> None:
    export = folder / "structures/register.json"
    export.write_text(export.read_text().replace('"profit"', '"proft"', 1))
    done = run("main.py", "structure", "register", cwd=folder)
    assert done.returncode == 2
    assert "did you mean 'profit'?" in done.stderr
    assert not (folder / "state-structure/register").exists() or not [
        each for each in (folder / "state-structure/register").iterdir() if each.name != "LOCK"
    ]


def test_only_one_works_in_a_state(folder: Path) -> None:
    toml = folder / "structures/register.toml"
    toml.write_text('every = "1 h"\n' + toml.read_text())
    with start_in(folder, "main.py", "structure", "register", "--watch", "-q") as process:
        try:
            until(lambda: rows(folder, "company") == 2)
            done: subprocess.CompletedProcess[str] = run(
                "main.py", "structure", "requeue", "register", cwd=folder
            )
            assert done.returncode == 4
            assert "stop it first" in done.stderr
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


def test_what_failed_is_named_by_its_source(folder: Path) -> None:
    parser = folder / "structures/parsers/company.py"
    parser.write_text("class RawParser:\n    def parse(self, raw):\n        return {}['nobody']\n")
    assert "requests" not in structure(folder, "register"), "it asks nobody"
    (group,) = status(folder)["failures"]
    assert group["number"] == 2
    assert [each["source"] for each in group["examples"]] == ["raw/a.html", "raw/b.html"]
    assert {each["reason"] for each in group["examples"]} == {
        "KeyError: 'nobody' (company.py, line 3)"
    }
    seen = run("history.py", "--job", "structure", cwd=folder).stdout
    assert "raw/a.html, raw/b.html" in seen
    assert "raw/a-reports.json" in seen.partition("Exports")[2]


def test_a_run_that_did_nothing_is_no_success(folder: Path) -> None:
    for file in (folder / "structures/raw").iterdir():
        file.unlink()
    done = run("main.py", "structure", "register", cwd=folder)
    assert done.returncode == 7
    assert "no document was found in folder:raw: look at `source`" in done.stderr
    (folder / "structures/raw/c.json").write_text("no JSON")
    done = run("main.py", "structure", "register", cwd=folder)
    assert done.returncode == 7
    assert "1 document failed, and no other is there: `python main.py structure" in done.stderr

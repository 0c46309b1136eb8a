"""What each page says, and that programs get the same."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import ROOT, run
from tests.web.scene import (
    HOSTILE,
    PATIENCE_S,
    Served,
    copied,
    harvesting,
    pools,
    served,
    spoil,
    wait_for,
)
from tools.journal.instance import only_instance
from tools.journal.nodes import Node, nodes_fact
from tools.media.credits import licence_name
from tools.settings import Settings
from tools.web.pages import PAGES
from tools.web.refused import Books
from tools.web.runs import MOST_COPIES

LIVE = [page for page in PAGES if page.is_live]


def test_every_page_and_its_json(page: Served) -> None:
    for each in PAGES:
        if "conceptnet" in each.jobs or not each.jobs:
            assert page.get(each.address).status == 200, each.name
            assert page.get(f"/api/{each.name}").status == 200, each.name
    listed = page.get("/api/").json["api"]
    assert all(f"/api/{each.name}" in listed for each in PAGES)


def test_overview(page: Served) -> None:
    seen = page.get("/api/overview").json
    fetch = next(each for each in seen["stages"] if each["name"] == "fetch")
    assert fetch["done"] == 12
    assert seen["pools"]["finished"] > 0 and seen["newest"] and seen["hosts"]
    (disk,) = seen["disks"]
    assert disk["free"] > 0 and disk["reserve"] == Settings().reserve_bytes
    assert {Path(each).name for each in disk["folders"]} == {"state", "m"}
    curves = page.get("/api/curves").json
    titles = [each["title"] for each in curves["series"]]
    assert titles[0] == "concepts fetched" and "requests" in titles and titles[-1] == "failures"
    for each in curves["series"]:
        first, *others = each["values"]
        assert first is None and len(others) == len(curves["times"]) - 1
        assert all(type(number) in (int, float) for number in others)


def test_nobody_works_at_what_only_lies_ready(harvested: Path, tmp_path: Path) -> None:
    """More is handed out than there are workers, so that none of them waits."""
    folder = copied(harvested, tmp_path)
    with closing(sqlite3.connect(folder / "state" / "pools.db")) as db, db:
        counts = json.loads(db.execute("SELECT counts FROM tally").fetchone()[0])
        counts |= {"on_extend": 40, "to_extend": 100}
        db.execute("UPDATE tally SET counts = ?", (json.dumps(counts),))
    with served(folder) as page, only_instance(folder / "state"):
        extend = page.get("/api/overview").json["stages"][1]
        assert (extend["at_work"], extend["waiting"], extend["workers"]) == (5, 135, 5)
        busy = 'sheaf_workers{stage="extend",state="busy"} 5.0'
        assert busy in page.get("/metrics").text


def test_a_harvest_that_has_ended_says_so(page: Served) -> None:
    status = page.get("/api/status").json
    assert (status["word"], status["can"]) == ("ended", [])
    assert "not running" in page.get("/").text


def test_runs_and_snapshots(page: Served) -> None:
    seen = page.get("/api/runs").json
    assert len(seen["runs"]) == 1 and seen["runs"][0]["counts"]["done_fetch"] > 0
    assert "--limit 12" in seen["beginnings"][0]["beginning"]["command"]
    assert seen["snapshots"][0]["known"] > 0


def test_many_snapshots(harvested: Path, tmp_path: Path) -> None:
    """The oldest that is shown says what changed since the one before it."""
    folder = copied(harvested, tmp_path)
    snapshots = folder / "state" / "snapshots"
    first = next(snapshots.glob("*.db"))
    for number in range(MOST_COPIES + 3):
        shutil.copy(first, snapshots / f"{number + 2:06}-2030-01-01_00-{number:02}-00.db")
    with served(folder) as page:
        seen = page.get("/api/runs").json["snapshots"]
    assert len(seen) == MOST_COPIES
    assert all(each["changed"] == {} for each in seen)
    assert seen[-1]["name"] == "000005-2030-01-01_00-03-00.db"


def test_what_a_second_run_changed(harvested: Path, tmp_path: Path) -> None:
    folder = copied(harvested, tmp_path)
    flags = ("--sample", "--limit", "14", "--depth", "1", "-q")
    assert run("main.py", *flags, cwd=folder).returncode == 0
    with served(folder) as page:
        seen = page.get("/api/runs").json
        assert len(seen["runs"]) == 2
        last = seen["beginnings"][0]
        assert "limit=14" in last["added"] and "limit=12" in last["removed"]


def test_the_log_by_level(page: Served) -> None:
    lines = page.get("/api/log?level=info").json["lines"]
    assert lines[0]["message"].startswith("ended after")  # the last one first
    assert page.get("/api/log?level=error").json["lines"] == []
    assert page.get("/api/log?level=nonsense").json["level"] == "info"


def test_the_nodes_of_a_cluster(harvested: Path, tmp_path: Path) -> None:
    """As a harvest that runs writes them down; we stand for it here."""
    folder, now = copied(harvested, tmp_path), time.time()
    well = Node("<b>a</b>", now - 60, now + 600, "1.2", 8, 3, 120, 2, 5, 9, 99, 0, 10**9, 0, "", "")
    nodes = [
        well,
        well._replace(name="quiet", since=None, heard=now - 3600, at_work=0),
        well._replace(name="full", held="its disk is <full>", free_bytes=None),
        well._replace(name="old", refused="extend: version <0>", owners=7, waiting_bytes=4096),
        well._replace(name="new", since=None, heard=None, version=""),
    ]
    with closing(sqlite3.connect(folder / "state" / "pools.db")) as db, db:
        for key, value in nodes_fact(os.getpid(), nodes).items():
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
    with only_instance(folder / "state"), served(folder) as page:
        seen = {each["node"]["name"]: each for each in page.get("/api/work").json["nodes"]}
        assert seen["<b>a</b>"]["node"]["places"] == 8 and seen["<b>a</b>"]["remarks"] == []
        text = page.get("/work").text
        rows = {name: row_of(text, name) for name in ("&lt;b&gt;a", "quiet", "full", "old", "new")}
        assert all("<b>" not in row and "<full>" not in row for row in rows.values())
        said = ("just now", "3 of 8", "120", "2, 5", "1.0 GB", "1.2")
        assert all(each in rows["&lt;b&gt;a"] for each in said), rows
        assert "quiet is silent since 60 min ago" in rows["quiet"] and ">silent<" in rows["quiet"]
        assert "full is held: its disk is &lt;full&gt;" in rows["full"]
        assert "old may not: extend: version &lt;0&gt;" in rows["old"]
        assert "alone has the files of 7" in rows["old"] and "never" in rows["new"]


def row_of(text: str, name: str) -> str:
    table = text.partition('id="nodes"')[2].partition("</table>")[0]
    return next(each for each in table.split("<tr") if f"<bdi>{name}" in each)


def test_refused_files_by_reason(page: Served, harvested: Path) -> None:
    seen = page.get("/api/refused").json
    text = (harvested / "m" / "SEARCHES.jsonl").read_text()
    assert seen["number"] == text.count('"reason":') > 0
    assert seen["groups"][0]["reason"] == "HTTP 404"
    example = seen["groups"][0]["examples"][0]
    assert example["page"].startswith("http") and example["license"] and example["url"]
    assert licence_name(example["license"]) in page.get("/refused").text


def test_refused_files_are_read_on(harvested: Path, tmp_path: Path) -> None:
    folder = copied(harvested, tmp_path)
    with served(folder) as page:
        before = page.get("/api/refused").json["number"]
        line = (
            '{"owner":"/c/en/x","refused":[{"provider":"p","kind":"image","url":"u","reason":"r"}]}'
        )
        with (folder / "m" / "SEARCHES.jsonl").open("a") as books:
            books.write(line)
            books.flush()
            assert page.get("/api/refused").json["number"] == before  # it is being written
            books.write("\n")
            books.flush()
            assert page.get("/api/refused").json["number"] == before + 1
        assert page.get("/api/refused").json["number"] == before + 1


def test_books_that_are_begun_anew_just_when_they_are_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was opened is read, and the new ones from their beginning."""
    books, new = tmp_path / "SEARCHES.jsonl", tmp_path / "new"
    for file, reasons in ((books, ("a", "a")), (new, ("b", "b", "b"))):
        lines = (f'{{"owner":"x","refused":[{{"reason":"{each}"}}]}}\n' for each in reasons)
        file.write_text("".join(lines))
    open_ = Path.open

    def opened(path: Path, mode: str) -> Any:
        file = open_(path, mode)
        if new.exists():
            new.rename(books)
        return file

    monkeypatch.setattr(Path, "open", opened)
    read = Books(books)
    assert [each[:2] for each in read.groups()] == [("a", 2)]
    assert [each[:2] for each in read.groups()] == [("b", 3)]


def test_hostile_names_are_text(harvested: Path, tmp_path: Path) -> None:
    folder = copied(harvested, tmp_path)
    spoil(folder / "state", HOSTILE)
    with served(folder) as page:
        text = page.get("/failed").text
        assert "<script>window" not in text and "<img src=x" not in text
        assert "&lt;script&gt;window" in text and "犬" in text and "{{ 7 * 7 }}" in text
        assert "\u202e" not in text and "x" * 201 not in text


def test_no_state_yet_is_said(tmp_path: Path) -> None:
    """As when the page is quicker than the harvest that it stands beside."""
    with served(tmp_path) as page:
        answer = page.get("/")
        assert answer.status == 503 and "there is no harvest" in answer.text
        assert page.get("/api/overview").status == 503
        assert page.get("/api/status").json["word"] == "absent"
        assert "sheaf_up 0.0" in page.get("/metrics").text


def test_a_damaged_state_is_said(harvested: Path, tmp_path: Path) -> None:
    folder = copied(harvested, tmp_path)
    (folder / "state" / "pools.db").write_bytes(b"nonsense" * 100)
    for name in ("pools.db-wal", "pools.db-shm"):
        (folder / "state" / name).unlink(missing_ok=True)
    with served(folder) as page:
        assert page.get("/").status == 503 and "cannot be read" in page.get("/").text


def test_metrics_have_the_names_of_a_harvest(page: Served) -> None:
    text = page.get("/metrics").text
    for name in ("sheaf_tasks_total", "sheaf_task_seconds_bucket", "sheaf_pool", "sheaf_hosts"):
        assert f"\n{name}" in text, name
    done = re.search(r'sheaf_tasks_total{outcome="done",stage="fetch"} (\S+)', text)
    assert done and float(done[1]) > 0


def test_pause_resume_and_stop_of_a_harvest_that_runs(tmp_path: Path) -> None:
    """All of it, a stage, a worker: by the ways of the commands."""
    with harvesting(tmp_path) as process, served(tmp_path) as page:
        wait_for(lambda: pools(tmp_path / "state").get("done_fetch", 0) > 5)
        bearer = {"Authorization": f"Bearer {page.token}"}

        def status() -> dict[str, object]:
            found: dict[str, object] = page.get("/api/status").json
            return found

        assert page.ask("/act/pause", "POST", **bearer).status == 200
        wait_for(lambda: status()["word"] == "paused")
        assert page.ask("/act/resume", "POST", **bearer).status == 200
        wait_for(lambda: status()["word"] == "running")
        page.ask("/act/pause", "POST", "stage=extend&number=2", **bearer)
        wait_for(lambda: status()["paused"] == "extend 2")
        assert page.ask("/act/pause", "POST", "stage=extend&number=99", **bearer).status == 409
        assert page.ask("/act/pause", "POST", "stage=nothing", **bearer).status == 409
        at_work = wait_for(lambda: page.get("/api/work").json["at_work"])
        assert at_work[0]["holder"] and at_work[0]["uri"]
        page.ask("/act/stop", "POST", **bearer)
        process.wait(PATIENCE_S)
        wait_for(lambda: status()["word"] == "ended")


def test_a_killed_harvest_is_dead_within_five_seconds(tmp_path: Path) -> None:
    with harvesting(tmp_path) as process, served(tmp_path) as page:
        wait_for(lambda: pools(tmp_path / "state").get("done_fetch", 0) > 5)
        wait_for(lambda: page.get("/api/status").json["word"] == "running")
        process.kill()
        process.wait(PATIENCE_S)
        wait_for(lambda: page.get("/api/status").json["word"] == "killed", 5.0)
        assert page.get("/api/work").json["at_work"] == []


def test_templates_have_no_script_and_no_style_of_their_own() -> None:
    for file in (ROOT / "tools" / "web" / "templates").rglob("*.html"):
        text = file.read_text()
        assert not re.search(r"<script(?! src=)|<style|\sstyle=|\son[a-z]+=|\|safe", text), file


def test_the_board_asks_for_metrics_there_are(page: Served) -> None:
    board = json.loads((ROOT / "docs" / "grafana.json").read_text("utf-8"))
    asked = {
        name
        for panel in board["panels"]
        for target in panel["targets"]
        for name in re.findall(r"sheaf_\w+", target["expr"])
    }
    families = re.findall(r"^# TYPE (\w+)", page.get("/metrics").text, re.MULTILINE)
    assert {name.removesuffix("_bucket") for name in asked} <= {*families}


def test_the_manual_names_every_metric(page: Served) -> None:
    text = (ROOT / "docs" / "serve.md").read_text("utf-8")
    families = re.findall(r"^# TYPE (\w+)", page.get("/metrics").text, re.MULTILINE)
    assert families and all(f"`{name}`" in text for name in families)

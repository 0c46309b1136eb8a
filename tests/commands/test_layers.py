"""The job `layers` as its user types it: the catalogue, a trial, the status, a day in its life."""

from __future__ import annotations

import json
import os
import pty
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.command import ROOT, clean_environment, run, start_in
from tests.support.site import Said, Site

pytestmark = pytest.mark.timeout(120)

TASK = """
about = "notes of a site"
base = "{base}"
start = ["/"]
{more}
[tables.note]
key = ["url"]
columns = {{ url = "VARCHAR(200)", title = "TEXT" }}
[layers.list]
next = [{{ to = "note", each = "a", url = "::attr(href)" }}]
[layers.note]
[[layers.note.rows]]
table = "note"
[layers.note.rows.fields]
url = {{ request = "url" }}
title = "h1::text"
"""


@pytest.fixture
def site() -> Iterator[Site]:
    pages = {"/": "<a href='/a'>a</a><a href='/b'>b</a>", "/a": "<h1>A</h1>", "/b": "<h1>B</h1>"}
    with Site(pages) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path, site: Site) -> Path:
    """With one task, polite to nobody."""
    (tmp_path / "tasks").mkdir()
    hasty = "[layers]\ndelay_s = 0.0\ndelay_factor = 0.0\nper_host = 4\n"
    (tmp_path / "sheaf.toml").write_text(hasty)
    write_task(tmp_path, site)
    return tmp_path


def write_task(folder: Path, site: Site, more: str = "", name: str = "notes") -> None:
    text = TASK.format(base=site.url, more=more)
    (folder / "tasks" / f"{name}.toml").write_text(text)


def layers(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return run("main.py", "layers", *words, cwd=folder)


def titles(folder: Path, name: str = "notes") -> list[str]:
    file = folder / "state-layers" / name / "items.db"
    with closing(sqlite3.connect(file)) as db:
        return [title for (title,) in db.execute("SELECT title FROM note ORDER BY title")]


def test_the_catalogue_shows_every_task_and_ends(folder: Path) -> None:
    (folder / "tasks" / "broken.toml").write_text("about = 1")
    before = layers(folder)
    assert before.returncode == 0
    broken, notes, *mistakes = before.stdout.splitlines()[1:]
    assert "cannot be run: see below" in broken
    assert mistakes and all(each.startswith("tasks/broken.toml: ") for each in mistakes)
    assert notes.split()[:2] == ["2", "notes"] and "notes of a site" in notes
    assert layers(folder, "notes", "-q").returncode == 0
    assert re.search(r"notes +notes of a site +2 +0 +2 +1, ", layers(folder).stdout)


def test_without_a_folder_or_a_task_the_sentence_says_what_to_do(tmp_path: Path) -> None:
    assert "tasks" in layers(tmp_path).stderr
    (tmp_path / "tasks").mkdir()
    empty = layers(tmp_path)
    assert empty.returncode == 0 and "docs/layers.md" in empty.stdout


def test_on_a_terminal_it_asks_until_it_understands(folder: Path) -> None:
    said = on_terminal(folder, ["7", "x", "1"])
    assert said.count("which one") == 3
    assert titles(folder) == ["A", "B"]
    said = on_terminal(folder, ["1", "C", "A"])
    assert "the old state is set aside" in said
    assert titles(folder) == ["A", "B"]
    assert on_terminal(folder, [""]).count("which one") == 1


def on_terminal(folder: Path, answers: list[str]) -> str:
    """What is shown, where each question is answered in turn."""
    main, other = pty.openpty()
    words = [sys.executable, str(ROOT / "main.py"), "layers"]
    process = subprocess.Popen(
        words, cwd=folder, stdin=other, stdout=other, stderr=other, env=clean_environment()
    )
    os.close(other)
    said, left = "", [*answers]
    while True:
        try:
            said += os.read(main, 4096).decode(errors="replace")
        except OSError:  # it has ended
            break
        if left and said.endswith("? "):
            os.write(main, f"{left.pop(0)}\n".encode())
            said += "\n"
    os.close(main)
    assert process.wait(30) == 0, said
    return said


def test_a_trial_shows_what_a_page_gives_and_stores_nothing(folder: Path, site: Site) -> None:
    first = layers(folder, "notes", "--try", "/")
    assert first.returncode == 0
    assert f"note GET {site.url}a" in first.stdout and "next: 2 requests" in first.stdout
    second = layers(folder, "notes", "--try", "/a", "--layer", "note")
    assert json.dumps({"url": f"{site.url}a", "title": "A"}) in second.stdout
    wrong = layers(folder, "notes", "--try", "/a", "--layer", "not")
    assert wrong.returncode == 2 and "did you mean 'note'?" in wrong.stderr
    assert layers(folder, "notes", "--try", "/nowhere").returncode == 5
    assert not (folder / "state-layers").exists()


def test_the_status_tells_depths_rows_and_failures(folder: Path, site: Site) -> None:
    site.pages["/b"] = Said("", 410)
    assert layers(folder, "notes", "--status").returncode == 2
    layers(folder, "notes", "-q")
    status = layers(folder, "notes", "--status")
    assert status.returncode == 0
    head, columns, first, second, rows = status.stdout.splitlines()
    assert head.startswith("notes   activity 1 has ended") and "sqlite:items.db" in head
    assert columns.split() == ["deep", "layers", "unvisited", "visiting", "done", "failed"]
    assert first.split() == ["0", "list", "0", "0", "1", "0"]
    assert second.split()[:6] == ["1", "note", "0", "0", "1", "1"]
    assert "1 x HTTP 410" in second
    assert rows == "rows  note 1"
    check = layers(folder, "notes", "--check")
    assert check.returncode == 0 and "nothing seems to be wrong" in check.stdout


def test_a_table_without_a_key_that_two_requests_fill_alike_is_told(
    folder: Path, site: Site
) -> None:
    text = (folder / "tasks" / "notes.toml").read_text()
    text = text.replace('key = ["url"]', "").replace('url = { request = "url" }', "")
    (folder / "tasks" / "notes.toml").write_text(text)
    site.pages["/b"] = "<h1>A</h1>"
    layers(folder, "notes", "-q")
    check = layers(folder, "notes", "--check")
    assert check.returncode == 6
    assert "note has no key, and 2 rows of it came from two requests" in check.stdout


def test_fresh_begins_anew_and_keeps_the_old(folder: Path, site: Site) -> None:
    database = folder / "shared.db"
    write_task(folder, site, f'database = "sqlite:{database}"')
    layers(folder, "notes", "-q")
    site.pages["/a"] = "<h1>A2</h1>"
    again = layers(folder, "notes", "--fresh")
    assert again.returncode == 0, again.stderr
    with closing(sqlite3.connect(database)) as db:
        names = [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        (old,) = [name for name in names if re.fullmatch(r"note_\d{8}_\d{4}", name)]
        assert [t for (t,) in db.execute(f"SELECT title FROM {old} ORDER BY 1")] == ["A", "B"]
        assert [t for (t,) in db.execute("SELECT title FROM note ORDER BY 1")] == ["A2", "B"]
    assert f"the old table note is called {old} now" in again.stderr + again.stdout


def test_only_a_part_has_a_state_of_its_own(folder: Path, site: Site) -> None:
    assert layers(folder, "notes", "--only", "list", "-q").returncode in (0, 7)
    state = folder / "state-layers" / "notes.list"
    assert site.paths == ["/"]
    with closing(sqlite3.connect(state / "pools.db")) as db:
        ((counts,),) = db.execute("SELECT counts FROM tally")
    assert json.loads(counts)["dropped note"] == 2
    wrong = layers(folder, "notes", "--only", "lst")
    assert wrong.returncode == 2 and "did you mean 'list'?" in wrong.stderr


def test_it_waits_for_the_next_activity_and_can_be_stopped_meanwhile(
    folder: Path, site: Site
) -> None:
    write_task(folder, site, '[activity]\nevery = "1 h"\nagain = ["list"]')
    process = start_in(folder, "main.py", "layers", "notes")
    state = folder / "state-layers" / "notes"
    wait_for(lambda: "waits for its next round" in history(state))
    assert json.loads(history(state, "--json"))["next_round_at"] > time.time() + 3000
    status = layers(folder, "notes", "--status").stdout
    assert "activity 1 has ended, the next begins in" in status
    assert "running" in layers(folder).stdout
    write_task(folder, site, name="others")
    assert layers(folder, "others", "-q").returncode == 0
    assert run("main.py", "stop", cwd=folder).returncode == 0  # only one of them runs
    assert process.wait(30) == 0
    process.communicate()
    assert "not running" in history(state)


def test_the_next_activity_comes_in_the_same_process(folder: Path, site: Site) -> None:
    write_task(folder, site, '[activity]\nevery = "0.3 s"\nagain = ["list"]')
    process = start_in(folder, "main.py", "layers", "notes")
    wait_for(lambda: site.paths.count("/") >= 3)
    site.pages["/"] = "<a href='/c'>c</a>"
    site.pages["/c"] = "<h1>C</h1>"
    wait_for(lambda: "/c" in site.paths)
    process.terminate()
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert site.paths.count("/a") == site.paths.count("/c") == 1
    assert titles(folder) == ["A", "B", "C"]
    assert "activity 2 begins: 1 requests are asked again" in errors


def history(state: Path, *more: str) -> str:
    return run("history.py", "--state", state, *more).stdout


def wait_for(condition: object, seconds: float = 60.0) -> None:
    assert callable(condition)
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it has not come"
        time.sleep(0.1)


def test_a_named_database_is_that_of_the_settings(folder: Path, site: Site) -> None:
    place = folder / "elsewhere.db"
    with (folder / "sheaf.toml").open("a") as file:
        file.write(f'[databases.mine]\nurl = "sqlite:{place}"\n')
    write_task(folder, site, 'database = "mine"')
    assert layers(folder, "notes", "-q").returncode == 0
    assert place.exists()
    assert "note" in history(folder / "state-layers" / "notes").split("Tables")[1]
    (folder / "sheaf.toml").write_text('[databases.mine]\nurll = "sqlite:x"\n')
    wrong = layers(folder, "notes")
    assert wrong.returncode == 2 and "did you mean" in wrong.stderr


def test_two_tasks_run_at_once_and_each_has_its_own_state(folder: Path, site: Site) -> None:
    for name in ("one", "two"):
        write_task(folder, site, '[activity]\nevery = "1 h"', name)
    both = [start_in(folder, "main.py", "layers", name) for name in ("one", "two")]
    wait_for(lambda: layers(folder).stdout.count("running") == 2)
    wait_for(lambda: len([*folder.glob("state-layers/*/requests.json")]) == 2)
    for process in both:
        process.terminate()
        process.communicate(timeout=30)
        assert process.returncode == 0
    for flags in ((), ("--job", "layers")):
        several = run("history.py", *flags, cwd=folder)
        assert several.returncode == 2
        assert "--state state-layers/one, --state state-layers/two" in several.stderr


def test_failed_ones_are_put_back_and_a_snapshot_brings_everything_back(
    folder: Path, site: Site
) -> None:
    site.pages["/b"] = Said("", 410)
    layers(folder, "notes", "-q")
    state = folder / "state-layers" / "notes"
    left = json.loads((state / "requests.json").read_text())
    assert [each[2] for each in left["1"]["failed"]] == [f"{site.url}b"]
    assert run("main.py", "retry", "--state", state).returncode == 0
    site.pages["/b"] = "<h1>B</h1>"
    assert layers(folder, "notes", "-q").returncode == 0
    assert titles(folder) == ["A", "B"]
    left["0"] = {"unvisited": [["list", "GET", site.url, None, []]]}
    (folder / "mine.json").write_text(json.dumps(left))
    site.asked.clear()
    assert layers(folder, "notes", "--resume", "mine.json", "-q").returncode == 0
    assert sorted(site.paths) == ["/", "/b"]
    (folder / "mine.json").write_text("__import__('os')")
    broken = layers(folder, "notes", "--resume", "mine.json")
    assert broken.returncode == 2 and "mine.json is not JSON" in broken.stderr


def test_a_snapshot_of_the_state_is_gone_back_to(folder: Path, site: Site) -> None:
    layers(folder, "notes", "-q")
    state = folder / "state-layers" / "notes"
    (copy,) = (state / "snapshots").iterdir()
    for file in state.glob("pools.db*"):
        file.unlink()
    assert layers(folder, "notes", "-q").returncode == 6
    assert layers(folder, "notes", "--resume", copy, "-q").returncode == 0
    assert titles(folder) == ["A", "B"]


def test_a_trial_shows_what_is_carried_whatever_it_is(folder: Path) -> None:
    file = folder / "tasks" / "notes.toml"
    carry = 'carry = { day = { constant = 2026-11-17 }, n = { constant = "1.50", as = "number" } }'
    file.write_text(
        file.read_text().replace('url = "::attr(href)"', f'url = "::attr(href)", {carry}')
    )
    done = layers(folder, "notes", "--try", "/")
    assert done.returncode == 0, done.stderr
    assert '{"day": "2026-11-17", "n": "1.50"}' in done.stdout


@pytest.mark.parametrize("name", ["pools.db", "kept.db", "../notes/pools.db"])
def test_rows_never_go_into_a_file_of_the_state(folder: Path, site: Site, name: str) -> None:
    assert layers(folder, "notes", "-q").returncode == 0
    write_task(folder, site, f'database = "sqlite:{name}"')
    done = layers(folder, "notes")
    assert done.returncode == 2 and "a file of the state itself" in done.stderr
    assert titles(folder) == ["A", "B"]


def test_a_part_that_nothing_begins_with_says_so(folder: Path) -> None:
    done = layers(folder, "notes", "--only", "note")
    assert done.returncode == 2 and "nothing is asked first of note" in done.stderr
    left: dict[str, object] = {
        "0": {"unvisited": [["note", "GET", "/a", None, []], ["note", "GET", "no:", None, []]]}
    }
    (folder / "left.json").write_text(json.dumps(left))
    done = layers(folder, "notes", "--only", "note", "--resume", "left.json")
    assert done.returncode == 0 and "'no:' is not an address" in done.stderr
    assert titles(folder, "notes.note") == ["A"]


def test_a_trial_of_a_long_row_leaves_the_terminal_alone(folder: Path, site: Site) -> None:
    site.pages["/long"] = f"<h1>{'x' * 100_000}</h1>"
    done = layers(folder, "notes", "--try", "/long", "--layer", "note")
    assert len(done.stdout) < 5000
    assert "characters more" in done.stdout

"""Activities: what is asked again, what waits for the next one, what a kill or a stop leaves."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.layers.test_visit import Notes, listing, note
from tests.support.layers import activity, failures, rows, seen
from tests.support.site import Said, Site
from tools.archive.reader import read
from tools.archive.record import Place
from tools.engine import returns
from tools.errors import StateDamaged, UsageError
from tools.layers import snapshot
from tools.layers.kept import FOLDER, kept_in
from tools.layers.request import Request
from tools.layers.task import LayerOptions, Refill
from tools.tables.rows import Row

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(returns, "FIRST_RETRY_S", 0.02)


def test_the_next_activity_asks_what_it_must_and_doubles_nothing(tmp_path: Path) -> None:
    pages = {"/": listing("/a", "/b"), "/a": note("A"), "/b": note("B"), "/c": note("C")}
    with Site(pages) as site:
        task = Notes(site.url)
        task.again = ["list"]
        activity(task, tmp_path)
        site.asked.clear()
        site.pages["/"] = listing("/a", "/b", "/c")
        activity(task, tmp_path)
        assert site.paths == ["/", "/c"]
    assert [row for (row,) in rows(task, tmp_path, "note", "title")] == ["A", "B", "C"]
    assert seen(tmp_path).facts["activity_ended"] == "2"


def test_without_a_key_the_rows_of_a_page_replace_its_earlier_ones(tmp_path: Path) -> None:
    with Site({"/": listing("/a"), "/a": note("old")}) as site:
        task = Notes(site.url)
        task.tables = {"note": {"columns": {"url": "TEXT", "title": "TEXT"}}}
        task.again = ["note"]
        activity(task, tmp_path)
        site.pages["/a"] = note("new")
        activity(task, tmp_path)
    assert rows(task, tmp_path, "note", "title") == [("new",)]


def test_a_layer_with_an_age_is_asked_again_when_it_is_old(tmp_path: Path) -> None:
    with Site({"/": listing("/a"), "/a": note("A")}) as site:
        task = Notes(site.url)
        task.layer_options = {"note": LayerOptions(age_s=3600.0)}
        activity(task, tmp_path)
        activity(task, tmp_path)
        assert site.paths == ["/", "/a"]
        task.layer_options = {"note": LayerOptions(age_s=0.0)}
        activity(task, tmp_path)
        assert site.paths == ["/", "/a", "/a"]


def test_an_interrupted_activity_goes_on_and_is_still_the_same(tmp_path: Path) -> None:
    names = [f"/{number}" for number in range(8)]
    with Site({"/": listing(*names), **{name: note(name) for name in names}}) as site:
        task = Notes(site.url)
        task.again = ["list"]
        activity(task, tmp_path, stop_after=3)
        assert "activity_ended" not in seen(tmp_path).facts
        activity(task, tmp_path)
    assert sorted(site.paths) == sorted(["/", *names])
    assert seen(tmp_path).facts["activity"] == "1"
    assert len(rows(task, tmp_path, "note", "url")) == 8


def test_what_failed_has_as_many_rounds_as_the_task_says(tmp_path: Path) -> None:
    with Site({"/": listing("/gone", "/bad"), "/bad": Said("", 500)}) as site:
        task = Notes(site.url)
        task.rounds, task.attempts = 3, 2
        for _ in range(5):
            activity(task, tmp_path)
            assert len(failures(tmp_path)) == 2
    assert site.paths.count("/gone") == 3
    assert site.paths.count("/bad") == 2 + 1 + 1


def test_refill_and_a_class_of_its_own_wait_for_the_next_activity(tmp_path: Path) -> None:
    class Refilled(Notes):
        def after(self, tables: Any) -> Iterable[Request]:
            titles = {row.title for row in tables.select("SELECT title FROM note")}
            if "extra" not in titles:
                yield Request("note", "GET", "/extra")

    pages = {"/": listing("/a"), "/a": note("A"), "/extra": note("extra"), "/more": note("more")}
    with Site(pages) as site:
        task = Refilled(site.url)
        query = "SELECT '/more' AS url FROM note WHERE title = 'A'"
        task.refill = [Refill(query, "note")]
        activity(task, tmp_path)
        assert sorted(site.paths) == ["/", "/a"]
        assert seen(tmp_path).pools["to_visit"] == 2
        activity(task, tmp_path)
    assert sorted(site.paths) == ["/", "/a", "/extra", "/more"]


def test_a_mistake_in_a_classs_own_steps_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Wrong(Notes):
        def after(self, tables: Any) -> Iterable[Request]:
            yield Request("note", "GET", tables.no_such_thing)

    class Worse(Notes):
        def create(self, tables: Any) -> None:
            raise KeyError("x")

    class Rubbish(Notes):
        def after(self, tables: Any) -> Iterable[Any]:
            return [None, "rubbish"]

    class Writing(Notes):
        def after(self, tables: Any) -> Iterable[Any]:
            return tables.select("DROP TABLE note")  # type: ignore[no-any-return]

    class Leaving(Notes):
        def after(self, tables: Any) -> Iterable[Any]:
            raise SystemExit(9)

    class Unkept(Notes):
        def after(self, tables: Any) -> Iterable[Any]:
            return [Request("note", "JSON", "/a", payload=object())]

    with Site({"/": listing("/a"), "/a": note("A")}) as site:
        for kind in (Rubbish, Writing, Leaving, Unkept):
            state = tmp_path / kind.__name__
            caplog.clear()
            activity(kind(site.url), state)
            assert "after activity 1: " in caplog.text
            assert seen(state).facts["activity_ended"] == "1"
            assert len(rows(kind(site.url), state, "note", "title")) == 1
        activity(Wrong(site.url), tmp_path)
        assert "after activity 1: test_activity.py:" in caplog.text
        assert seen(tmp_path).facts["activity_ended"] == "1"
        with pytest.raises(UsageError, match=r"create: test_activity\.py:\d+: KeyError"):
            activity(Worse(site.url), tmp_path / "worse")


def test_the_first_requests_may_come_from_the_tasks_own_tables(tmp_path: Path) -> None:
    with Site({"/": listing("/a"), "/a": note("A")}) as site:
        task = Notes(site.url)
        activity(task, tmp_path)
        task.start_from = "SELECT '/' || lower(title) || '2' AS url FROM note WHERE title = 'A'"
        site.pages["/a2"] = listing("/b")
        site.pages["/b"] = note("B")
        activity(task, tmp_path)
    assert rows(task, tmp_path, "note", "title") == [("A",), ("B",)]


def test_a_site_that_changed_is_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Site({"/": listing("/a", "/b"), "/a": note("A"), "/b": note("")}) as site:
        task = Notes(site.url)
        at_least = {"columns": {"url": "TEXT", "title": "TEXT"}, "at_least": {"title": 0.9}}
        task.tables = {"note": at_least}
        activity(task, tmp_path)
        assert not seen(tmp_path).facts["check"]
        site.pages["/b"] = "<h1/>"
        task.again = ["note"]

        class Changed(Notes):
            def work(self, request: Request, page: Any) -> Iterable[Any]:
                for item in super().work(request, page):
                    yield Row("note", url=request.url) if isinstance(item, Row) else item

        changed = Changed(site.url)
        changed.tables, changed.again = task.tables, ["note", "list"]
        activity(changed, tmp_path)
    assert seen(tmp_path).facts["check"] == "note.title is in 0% of the latest rows, not in 90%"
    assert "or the site has changed" in caplog.text


def test_a_lost_database_is_never_made_anew(tmp_path: Path) -> None:
    with Site({"/": listing("/a"), "/a": note("A")}) as site:
        task = Notes(site.url)
        activity(task, tmp_path)
        (tmp_path / "items.db").rename(tmp_path / "elsewhere.db")
        with pytest.raises(StateDamaged, match="2 requests are finished"):
            activity(task, tmp_path)
        assert not (tmp_path / "items.db").exists()
        with closing(sqlite3.connect(tmp_path / "items.db")) as db:
            db.execute("CREATE TABLE other (x)")
        with pytest.raises(StateDamaged, match="2 requests are finished"):
            activity(task, tmp_path)
        with closing(sqlite3.connect(tmp_path / "items.db")) as db:
            names = db.execute("SELECT name FROM sqlite_master").fetchall()
        assert names == [("other",)]


def test_the_snapshot_is_read_by_people_and_puts_everything_back(tmp_path: Path) -> None:
    pages = {"/": listing("/gone", "/a", "/b"), "/a": note("A"), "/b": note("B")}
    with Site(pages) as site:
        task = Notes(site.url)
        activity(task, tmp_path, stop_after=1)
        file = tmp_path / snapshot.FILE
        left = json.loads(file.read_text())
        first, *_ = left["1"]["unvisited"]
        assert first == ["note", "GET", f"{site.url}gone", site.url, []]
        assert left["1"]["visiting"] == left["1"]["failed"] == []
        assert len(file.read_text().splitlines()) == 11  # a request on each line
        activity(task, tmp_path)
        assert [*json.loads(file.read_text())["1"]["failed"]] == [first]
        copy = tmp_path / "copy.json"
        copy.write_text(json.dumps(left))
        site.asked.clear()
        task.after_steps = ()
        activity(task, tmp_path, requests=copy)
        assert sorted(site.paths) == ["/a", "/b", "/gone"]
        activity(Notes(site.url), tmp_path / "new", requests=copy)
    assert len(rows(task, tmp_path / "new", "note", "title")) == 2


@pytest.mark.parametrize(
    "text",
    [
        *("[", "[]", '{"0": []}', '{"0": {"visited": []}}', '{"0": {"failed": [1]}}'),
        '{"0": {"failed": [["a", "GET"]]}}',
        '{"0": {"failed": [["a", "PUT", "http://h/", null, []]]}}',
        '{"0": {"failed": [["a", "GET", "http://h/", 5, []]]}}',
        '{"0": {"failed": [["a", "GET", 5, null, []]]}}',
        '{"0": {"failed": [[["a"], "GET", "http://h/", null, []]]}}',
        '{"0": {"failed": [["a", "GET", "http://h/", null, 5]]}}',
        '{"0": {"failed": [["a", "GET", "http://h/", null, [], {"carried": 5}]]}}',
        '{"0": {"failed": [["a", "GET", "http://h/", null, [], {"encoding": [1]}]]}}',
        '{"0": {"failed": [["a", "GET", "http://h/", null, [], {"encoding": {"files": 5}}]]}}',
        '{"0": {"failed": [["a", "GET", "http://h/", null, [], "xy"]]}}',
        f'{{"0": {{"failed": [["a", "JSON", "http://h/", null, {"9" * 5000}]]}}}}',
    ],
)
def test_a_broken_snapshot_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "requests.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"requests\.json"):
        snapshot.read(file)


def test_answers_of_a_layer_that_keeps_them_are_in_the_archive(tmp_path: Path) -> None:
    with Site({"/": listing("/a", "/b"), "/a": note("A"), "/b": note("B")}) as site:
        task = Notes(site.url)
        task.layer_options = {"note": LayerOptions(keep=True)}
        task.again = ["note"]
        activity(task, tmp_path)
        site.pages["/b"] = note("B2")
        activity(task, tmp_path)
    kept = [*kept_in(tmp_path)]
    assert [each.request for each in kept] == [
        f"note GET {site.url}{name}" for name in ("a", "b", "b")
    ]
    places = [Place(each.file, each.offset, each.length) for each in kept]
    bodies = [read(tmp_path / FOLDER, place).body() for place in places]
    assert bodies == [b"<h1>A</h1>", b"<h1>B</h1>", b"<h1>B2</h1>"]


def test_a_task_without_tables_keeps_answers_alone(tmp_path: Path) -> None:
    with Site({"/": listing("/a"), "/a": ""}) as site:
        task = Notes(site.url)
        task.tables, task.again = {}, ["list"]
        task.layer_options = {"note": LayerOptions(keep=True)}
        activity(task, tmp_path)
        activity(task, tmp_path)
    assert [each.address for each in kept_in(tmp_path)] == [f"{site.url}a"]


def test_by_the_clock_or_after_a_while_or_never(tmp_path: Path) -> None:
    with Site({"/": listing("/a"), "/a": note("A")}) as site:
        task = Notes(site.url)
        assert activity(task, tmp_path).moment is None  # type: ignore[attr-defined]
        task.every = 100.0
        assert activity(task, tmp_path).moment == pytest.approx(time.time() + 100, abs=5)  # type: ignore[attr-defined]
        assert activity(task, tmp_path, once=True).moment is None  # type: ignore[attr-defined]
        task.every, task.at = 0.0, "0 6 * * *"
        moment = activity(task, tmp_path).moment  # type: ignore[attr-defined]
    assert moment % 86_400 == 6 * 3600 and 0 < moment - time.time() <= 86_400


def test_nothing_but_its_files_is_left_open_after_an_activity(tmp_path: Path) -> None:
    """What was written is in the file itself, for whoever copies it."""
    with Site({"/": listing("/a"), "/a": note("A")}) as site:
        task = Notes(site.url)
        task.again = ["note"]
        for _ in range(2):
            activity(task, tmp_path)
            assert not [*tmp_path.glob("items.db-*")]


def test_a_query_that_is_none_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    with Site({"/": listing("/a"), "/a": note("A")}) as site:
        task = Notes(site.url)
        task.refill = [Refill("SELECT url FROM nothing", "note")]
        with pytest.raises(UsageError, match="does not understand"):
            activity(task, tmp_path)
    assert site.paths == []

"""The graph behind the pages when it comes, goes, fails and is replaced while they are served."""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.support.store_contract import relation, write
from tests.web.eyes import Eyes
from tests.web.scene import PATIENCE_S, copied, served, wait_for
from tools.errors import Unreachable
from tools.graphs.reader import Reader
from tools.graphs.sqlite import SqliteGraph
from tools.jobs.registry import job_in
from tools.settings import Settings
from tools.web import explorer
from tools.web.data import sidecar, statistics
from tools.web.site import Site, Sources

WAIT_MS = 1000 * PATIENCE_S
WITHOUT_SEARCH = (
    *("/c/en/dog", "/api/c/en/dog?format=csv", "/graph?concept=/c/en/dog", "/r/HasA", "/stats"),
    *("/path?from=dog&to=cat", "/queries", "/more?concept=/c/en/dog&type=HasA"),
)
WITH_SEARCH = ("/search?q=dog", "/search/found?q=d", "/media", "/api/media")


@pytest.fixture
def site(harvested: Path, tmp_path: Path) -> Iterator[Site]:
    folder = copied(harvested, tmp_path)
    (folder / "state" / statistics.NAME).unlink(missing_ok=True)
    settings = Settings(state=folder / "state", media=folder / "m")
    with closing(Site(Sources(settings, settings.pools_file, job_in))) as found:
        yield found


def test_a_graph_that_was_replaced_is_the_one_that_is_shown(
    harvested: Path, tmp_path: Path
) -> None:
    """As `--fresh` does it while the page is open."""
    folder = copied(harvested, tmp_path)
    with served(folder) as page:
        assert page.get("/api/c/en/dog").status == 200
        with closing(SqliteGraph(folder / "new.db")) as graph:
            write(graph, relation("IsA", "/c/en/zebra", "/c/en/horse"))
        for end in ("-wal", "-shm"):
            (folder / f"state/graph.db{end}").unlink(missing_ok=True)
        (folder / "new.db").replace(folder / "state/graph.db")
        (folder / "state/search.db").unlink()
        assert page.get("/api/c/en/zebra").status == 200
        assert page.get("/api/c/en/dog").status == 404
        found = wait_for(lambda: page.get("/api/search?q=zeb").json["found"])
        assert [each["name"] for each in found] == ["zebra"]


def test_a_graph_that_is_not_there_yet_may_come(harvested: Path, tmp_path: Path) -> None:
    """What is not there is one thing, what it would be looked for in another."""
    folder = copied(harvested, tmp_path)
    graph, away = folder / "state/graph.db", folder / "away.db"
    (folder / "state" / statistics.NAME).unlink(missing_ok=True)
    graph.rename(away)
    with served(folder) as page:
        for path in (*WITHOUT_SEARCH, *WITH_SEARCH, "/file/x", "/thumb/x"):
            answer = page.get(path)
            assert (answer.status, "there is no graph" in answer.text) == (503, True), path
        assert "there is no graph" in page.get("/api/c/en/dog").json["error"]
        away.rename(graph)
        assert page.get("/api/c/en/dog").status == 200
        nobody = page.get("/api/c/en/nobody")
        assert nobody.status == 404 and nobody.json["error"]
        assert page.get("/file/x").status == 404


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (sqlite3.DatabaseError("database disk image is malformed"), "malformed"),
        (TypeError("NoneType"), "TypeError"),
    ],
)
def test_figures_that_cannot_be_counted_say_why(
    error: Exception, sentence: str, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And are not counted again at once, unless somebody wants them."""
    tries: list[int] = []

    def spoiled(*_: object) -> statistics.Statistics:
        tries.append(1)
        raise error

    monkeypatch.setattr(statistics, "count", spoiled)
    assert site.explorer.figures() is None
    wait_for(lambda: site.explorer.trouble)
    assert sentence in site.explorer.trouble
    for _ in range(3):
        assert site.explorer.figures() is None
        assert not site.explorer.is_counting
    assert len(tries) == 1
    monkeypatch.undo()
    site.explorer.count()
    wait_for(site.explorer.figures)
    assert site.explorer.trouble == ""


def test_figures_of_a_graph_that_has_changed_are_counted_again(
    harvested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By whoever looks after a while, on a page that has no button too; before that it is said."""
    folder = copied(harvested, tmp_path)
    (folder / "state" / statistics.NAME).unlink(missing_ok=True)

    def seen() -> Any:
        return page.get("/api/stats").json

    def says_so(path: str) -> bool:
        return "graph has changed since" in page.get(path).text

    with served(folder, is_read_only=True) as page:
        before = wait_for(lambda: seen()["figures"])
        assert not seen()["has_changed"] and not says_so("/stats") and not says_so("/r/IsA")
        with closing(SqliteGraph(folder / "state/graph.db")) as graph:
            write(graph, relation("IsA", "/c/en/zebra", "/c/en/horse"))
        wait_for(lambda: seen()["has_changed"])
        assert says_so("/stats") and says_so("/r/IsA")
        assert seen()["figures"] == before and not seen()["is_counting"]
        monkeypatch.setattr("tools.web.explorer.time", later(statistics.LEAST_REST_S + 1))
        wait_for(lambda: seen()["figures"]["relations"] == before["relations"] + 1)
        wait_for(lambda: not seen()["has_changed"])
        assert not says_so("/stats") and not says_so("/r/IsA")
    with served(folder) as page:
        assert not seen()["has_changed"], "a graph that was only read has not changed"
        (folder / "state/graph.db").unlink()
        assert page.get("/stats").status == 200, "what was counted is known without it"


def later(seconds: float) -> SimpleNamespace:
    return SimpleNamespace(
        time=lambda: time.time() + seconds, monotonic=lambda: time.monotonic() + seconds
    )


def test_figures_are_left_alone_for_twenty_times_as_long_as_counting_took() -> None:
    assert statistics.rest_after(0.1) == 60 and statistics.rest_after(100) == 2000
    counted = SimpleNamespace(time="1970-01-01T00:01:00Z", seconds=10.0)
    rested = {now: statistics.is_rested(cast(Any, counted), now) for now in (59, 60, 259, 260)}
    assert rested == {59: True, 60: False, 259: False, 260: True}


@pytest.mark.parametrize(
    "error",
    [
        sqlite3.OperationalError("database or disk is full"),
        sqlite3.DatabaseError("file is not a database"),
        PermissionError(13, "Permission denied"),
    ],
)
def test_without_room_for_the_search_the_graph_is_shown(
    error: Exception, harvested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied(harvested, tmp_path)
    (folder / "state" / sidecar.NAME).unlink(missing_ok=True)

    def full(path: Path) -> None:
        raise error

    with served(folder) as page, monkeypatch.context() as patch:
        patch.setattr(sidecar, "_connected", full)
        [media] = page.get("/api/c/en/dog").json["concept"]["media"][:1] or [None]
        assert media is not None
        file = quote(media["path"])
        for address in (*WITHOUT_SEARCH, f"/file/{file}", f"/thumb/{file}"):
            assert page.get(address).status == 200, address
        for address in WITH_SEARCH:
            answer = page.get(address)
            assert answer.status == 503, address
            assert "search.db cannot be written" in answer.text and str(error) in answer.text
        patch.undo()
        assert wait_for(lambda: page.get("/api/search?q=dog").json["is_whole"])
        assert page.get("/c/en/dog").status == 200


def test_a_server_that_is_silent_is_asked_by_one(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others hear what it heard."""
    tries, may_fail, now = list[int](), threading.Event(), [100.0]

    def silent(*_: object) -> None:
        tries.append(1)
        assert may_fail.wait(PATIENCE_S)
        now[0] += 5.0
        raise Unreachable("no answer")

    def look() -> str:
        with pytest.raises(Unreachable) as caught:
            _ = site.explorer.reader
        return str(caught.value)

    monkeypatch.setattr(explorer, "open_reader", silent)
    monkeypatch.setattr("tools.web.explorer.time", SimpleNamespace(monotonic=lambda: now[0]))
    with ThreadPoolExecutor(8) as threads:
        looks = [threads.submit(look) for _ in range(8)]
        may_fail.set()
        assert {each.result(PATIENCE_S) for each in looks} == {"no answer"}
    assert len(tries) == 1
    now[0] += 4.9
    look()
    assert len(tries) == 1
    now[0] += 0.2
    look()
    assert len(tries) == 2


@pytest.fixture
def is_seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Counting waits for it."""
    is_seen, count = threading.Event(), statistics.count

    def counted(reader: Reader, state: Path) -> statistics.Statistics:
        is_seen.wait(PATIENCE_S)
        return count(reader, state)

    monkeypatch.setattr(statistics, "count", counted)
    yield is_seen
    is_seen.set()


def test_figures_come_by_themselves_when_they_are_counted(
    browser: Eyes, harvested: Path, tmp_path: Path, is_seen: threading.Event
) -> None:
    """Whoever looks has nothing to do, and needs no script for it."""
    folder = copied(harvested, tmp_path)
    (folder / "state" / statistics.NAME).unlink(missing_ok=True)
    with served(folder) as page, browser.looking(page.full, javascript=False) as look:
        look.page.goto(f"{page.address}/stats")
        expect(look.page.get_by_text("being counted")).to_be_visible(timeout=WAIT_MS)
        is_seen.set()
        expect(look.page.get_by_text("Beside what others publish")).to_be_visible(timeout=WAIT_MS)


def test_figures_are_counted_again_and_leave_alone_who_types(
    browser: Eyes, harvested: Path, tmp_path: Path, is_seen: threading.Event
) -> None:
    folder = copied(harvested, tmp_path)
    (folder / "state" / statistics.NAME).unlink(missing_ok=True)
    with served(folder) as page, browser.looking(page.full) as look:
        see = look.page
        see.goto(f"{page.address}/stats")
        expect(see.locator("#counting")).to_be_visible(timeout=WAIT_MS)
        see.locator("#search").press_sequentially("dog")
        expect(see.locator("#found-number")).to_have_text(
            re.compile(r"^[1-9]\d* found$"), timeout=WAIT_MS
        )
        is_seen.set()
        expect(see.get_by_text("Beside what others publish")).to_be_visible(timeout=WAIT_MS)
        is_seen.clear()
        see.locator("#count").click()
        expect(see.locator("#counting")).to_be_visible(timeout=WAIT_MS)
        assert see.locator("meta[http-equiv=refresh]").count() == 0
        is_seen.set()
        expect(see.locator("#counting")).to_have_count(0, timeout=WAIT_MS)
        expect(see.locator("#search")).to_have_value("dog")
        assert look.complaints() == []

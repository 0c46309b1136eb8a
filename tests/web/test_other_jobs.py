"""The live page over crawls, tasks and structures, as the command serves them."""

from __future__ import annotations

import csv
import re
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from io import StringIO
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.web.eyes import Eyes, picture
from tests.web.scene import HOSTILE, Served, wait_for
from tests.web.serving import Sampled, looking_at

PANELS = {
    "pages": {"Pages by host", "Pages by depth", "Words"},
    "layers": {"Depths", "Tables"},
    "structure": {"Queues", "Documents by status"},
}
MOST = 100
TYPED = {"pages": (), "layers": ("layers.task",), "structure": ("structure.name",)}


@pytest.mark.parametrize("job", ["pages", "layers", "structure"])
def test_pages_of_other_jobs(job: str, sampled: Sampled) -> None:
    with looking_at(sampled(job), job) as page:
        assert page.get("/api/overview").json["newest"] == []
        for path in ("/", "/work", "/failed", "/details", "/runs", "/log", "/settings"):
            assert page.get(path).status == 200, (path, page.get(path).text)
        wait_for(lambda: page.get("/api/details").json["is_counted"])
        titles = [each["title"] for each in page.get("/api/details").json["panels"]]
        assert PANELS[job] <= {*titles}, titles
        assert ("Tables</a>" in page.get("/").text) == (job != "pages")
        named = {each["name"]: each for each in page.get("/api/settings").json["values"]}
        assert {named[each]["origin"] for each in TYPED[job]} <= {"the command line"}
        assert named["state"]["origin"] == f"{job}.state"
        assert all(named[each]["text"] not in ("set", "not set") for each in TYPED[job])
        if job == "pages":
            a_page_of_a_crawl(page)


def bearer_of(page: Served) -> dict[str, str]:
    return {"Authorization": f"Bearer {page.token}"}


def a_page_of_a_crawl(page: Served) -> None:
    assert re.search(r'^sheaf_links_total{verdict="[^"]+"} \d', page.get("/metrics").text, re.M)
    found = page.get("/api/pages").json["found"]
    url = next(each["url"] for each in found if each["words"])
    assert page.get(f"/pages/page?url={url}").status == 200
    assert page.get("/pages/page?url=nothing").status == 404
    copy = page.get(f"/pages/copy?url={url}")
    policy = copy.headers["content-security-policy"]
    assert policy.startswith("sandbox;") and "allow-scripts" not in policy
    assert "<" in copy.text
    alone = page.ask(f"/pages/copy?url={url}", Sec_Fetch_Dest="document", **bearer_of(page))
    assert alone.status == 303 and alone.headers["location"] == f"/pages/page?url={quote(url, '')}"
    begins = found[0]["url"]
    assert page.get(f"/api/pages?q={begins}").json["found"][0]["url"] == begins
    after = page.get(f"/api/pages?after={begins}").json["found"]
    assert after == found[1:]


def test_a_crawl_that_is_not_there_yet_may_come(sampled: Sampled, tmp_path: Path) -> None:
    folder = shutil.copytree(sampled("pages"), tmp_path / "copy")
    table, away = folder / "state-pages/pages.db", folder / "away.db"
    table.rename(away)
    with looking_at(folder, "pages") as page:
        for path in ("/pages", "/api/pages", "/api/pages/page?url=x", "/pages/copy?url=x"):
            answer = page.get(path)
            assert (answer.status, "there is no crawl" in answer.text) == (503, True), path
        away.rename(table)
        assert page.get("/api/pages").status == 200
        nothing = page.get("/api/pages/page?url=x")
        assert nothing.status == 404 and nothing.json["error"]


@pytest.mark.parametrize("job", ["layers", "structure"])
def test_tables_row_by_row(job: str, sampled: Sampled) -> None:
    """Each row once, page by page, with what it is from; programs get the same."""
    with looking_at(sampled(job), job) as page:
        wait_for(lambda: any(page.get("/api/tables").json["tables"].values()))
        counts = page.get("/api/tables").json["tables"]
        for name, number in counts.items():
            rows = all_rows(page, name)
            assert len(rows) == number and all(row[-1] for row in rows), name
        first = page.get("/api/tables").json
        assert first["table"] == next(iter(counts)) and first["columns"][-1].startswith("_")
        for name in counts:
            answer = page.get(f"/tables?table={quote(name)}")
            assert answer.status == 200 and 'class="cell' in answer.text, name


def test_a_table_as_csv(sampled: Sampled, tmp_path: Path) -> None:
    """What is seen, with the same key; hostile texts stay in their cells."""
    folder = shutil.copytree(sampled("layers"), tmp_path / "copy")
    add_hostile_rows(folder / "state-layers" / "shop" / "shop.db")
    with looking_at(folder, "layers", "shop") as page:
        after = ""
        for _ in range(2):
            asked = f"/api/tables?table=product&after={quote(after, '')}"
            seen, found = page.get(asked).json, page.get(f"{asked}&format=csv")
            columns, *rows = csv.reader(StringIO(found.text, newline=""))
            assert columns == seen["columns"]
            cells = [["" if each is None else str(each) for each in row] for row in seen["rows"]]
            assert rows == cells and len(rows) > 50
            after = seen["next"]
        assert found.headers["content-disposition"] == 'attachment; filename="product.csv"'
        assert page.get("/api/tables?table=nothing&format=csv").status == 404
        text = page.get("/tables?table=product").text
        assert 'href="/api/tables?table=product&amp;format=csv"' in text


FORMULAS = ("=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1", '=HYPERLINK("http://x")')


def test_no_text_is_a_formula_in_a_spreadsheet(sampled: Sampled, tmp_path: Path) -> None:
    """Where it was one it is text; numbers, also those below zero, are numbers."""
    folder = shutil.copytree(sampled("layers"), tmp_path / "copy")
    rows = [(f"!{at}", name, "a-b=c", -1.5) for at, name in enumerate(FORMULAS)]
    add_products(folder / "state-layers" / "shop" / "shop.db", [*rows, ("!8", "-7", "+7e3", -2)])
    with looking_at(folder, "layers", "shop") as page:
        text = page.get("/api/tables?table=product&format=csv").text
        columns, *cells = csv.reader(StringIO(text, newline=""))
        found = [dict(zip(columns, row, strict=True)) for row in cells[: len(FORMULAS) + 1]]
    assert [each["name"] for each in found] == [*(f"'{each}" for each in FORMULAS), "-7"]
    assert {each["category"] for each in found} == {"a-b=c", "+7e3"}
    assert {float(each["price"]) for each in found} == {-1.5, -2.0}


def all_rows(page: Served, name: str) -> list[list[object]]:
    rows: list[list[object]] = []
    after: str | None = ""
    while after is not None:
        found = page.get(f"/api/tables?table={quote(name)}&after={quote(after, '')}").json
        assert len(found["rows"]) <= MOST
        rows, after = rows + found["rows"], found["next"]
    return rows


def test_a_table_that_is_not_of_this_harvest(sampled: Sampled) -> None:
    with looking_at(sampled("layers"), "layers") as page:
        counts = page.get("/api/tables").json["tables"]
        for name in ("_tables", "nothing", "sqlite_master", "<script>"):
            answer = page.get(f"/api/tables?table={quote(name)}")
            assert answer.status == 404 and "has no table" in answer.json["error"]
            assert all(each in answer.json["error"] for each in counts)
        assert "<script>" not in page.get("/tables?table=<script>").text.partition("<main")[2]


def test_no_table_yet(sampled: Sampled, tmp_path: Path) -> None:
    """A state whose database is not there, as before the first row."""
    folder = shutil.copytree(sampled("layers"), tmp_path / "copy")
    for file in folder.glob("state-layers/shop/shop.db*"):
        file.unlink()
    with looking_at(folder, "layers", "shop") as page:
        assert page.get("/api/tables").json["tables"] == {}
        assert "No table has been made yet" in page.get("/tables").text


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (320, True)])
def test_hostile_rows_are_text(
    sampled: Sampled, tmp_path: Path, browser: Eyes, width: int, dark: bool
) -> None:
    folder = shutil.copytree(sampled("layers"), tmp_path / "copy")
    add_hostile_rows(folder / "state-layers" / "shop" / "shop.db")
    with looking_at(folder, "layers", "shop") as page:
        with browser.looking(page.full, width, dark=dark) as look:
            look.page.goto(f"{page.address}/tables?table=product")
            shown = look.page.locator("td.cell bdi").all_inner_texts()
            assert "<script>window.hacked=1</script>" in shown and "{{ 7 * 7 }}" in shown
            assert look.page.evaluate("() => window.hacked") is None
            wide = "() => document.documentElement.scrollWidth - window.innerWidth"
            assert look.page.evaluate(wide) <= 0
            picture(look.page, f"tables-{width}", is_whole=False)
            look.page.get_by_role("link", name="The next ones").press("Enter")
            look.page.wait_for_url("**after=**")
            assert look.page.locator("tbody tr td").first.inner_text() == "!100"
            assert look.complaints() == []
        rows = all_rows(page, "product")
        assert [row[0] for row in rows[:151]] == [key(number) for number in range(151)]


def add_hostile_rows(database: Path) -> None:
    """Before those that are there; the last of a page is one whose key is hostile."""
    names = [HOSTILE[number % len(HOSTILE)] for number in range(151)]
    rows = [(key(number), name, name, 1.5) for number, name in enumerate(names)]
    add_products(database, rows)


def add_products(database: Path, rows: Sequence[tuple[str, str, str, float]]) -> None:
    with closing(sqlite3.connect(database)) as db, db:
        columns = "sku, name, category, price"
        db.executemany(f"INSERT INTO product ({columns}) VALUES (?, ?, ?, ?)", rows)


def key(number: int) -> str:
    return f"!{number:03}" + ("<&\"'犬\u202e%2F+" if number == MOST - 1 else "")

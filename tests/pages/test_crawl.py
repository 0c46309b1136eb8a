"""A whole crawl of the garden book, by the ordinary commands."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.support import garden_truth
from tests.support.command import run, says
from tests.support.garden_truth import HOST
from tools.sample import garden


def crawl(folder: Path, *flags: object, **environment: str) -> CompletedProcess[str]:
    flags = ("pages", "--sample", *flags)
    return run("main.py", *flags, cwd=folder, seconds=120, **environment)


def rows(folder: Path, question: str) -> list[Any]:
    with closing(sqlite3.connect(folder / "state-pages/pages.db")) as db:
        return db.execute(question).fetchall()


def found_depths(folder: Path) -> dict[str, int]:
    found = rows(folder, "SELECT url, depth FROM pages WHERE state IN (1, 2)")
    return {url.removeprefix(HOST): depth for url, depth in found}


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 5])
def test_depth_is_a_fact(tmp_path: Path, depth: int) -> None:
    done = crawl(tmp_path, "--depth", depth, "--download-workers", 5, "--per-host", 5)
    assert done.returncode == 0, done.stderr
    assert found_depths(tmp_path) == garden_truth.depths(depth)


def test_a_larger_depth_downloads_nothing_again(tmp_path: Path) -> None:
    crawl(tmp_path, "--depth", 1)
    before = dict(
        rows(
            tmp_path,
            "SELECT url, count(*) FROM captures JOIN pages ON pages.id = page GROUP BY url",
        )
    )
    done = crawl(tmp_path, "--depth", 4)
    assert done.returncode == 0, done.stderr
    assert found_depths(tmp_path) == garden_truth.depths(4)
    after = dict(
        rows(
            tmp_path,
            "SELECT url, count(*) FROM captures JOIN pages ON pages.id = page GROUP BY url",
        )
    )
    assert {url: after[url] for url in before} == before


def test_a_smaller_depth_is_refused(tmp_path: Path) -> None:
    crawl(tmp_path, "--depth", 2)
    done = crawl(tmp_path, "--depth", 1)
    assert done.returncode == 2
    assert "this crawl went 2 links deep already" in done.stderr


def test_a_page_that_failed_has_a_remark(tmp_path: Path) -> None:
    crawl(tmp_path, "--depth", 1)
    failed = dict(rows(tmp_path, "SELECT url, remark FROM pages WHERE state = 2"))
    assert failed == {
        f"{HOST}/missing": "HTTP 404",
        f"{HOST}/gone": "HTTP 410",
        f"{HOST}/loop": "redirected to itself",
        f"{HOST}/shed/key": "robots.txt: /shed/",
    }
    kept = rows(
        tmp_path,
        "SELECT captures.status FROM captures JOIN pages ON pages.id = page "
        "WHERE url LIKE '%/missing'",
    )
    assert kept == [(404,)]


def test_words_are_counted_once(tmp_path: Path) -> None:
    crawl(tmp_path, "--depth", 3)
    pages = garden.pages()
    for name, (charset, _) in garden.ABROAD.items():
        (count,) = rows(tmp_path, f"SELECT words FROM pages WHERE url = '{HOST}/abroad/{name}'")[0]
        assert count == garden_truth.words_in(pages[f"/abroad/{name}"], charset).total()
    ((total,),) = rows(tmp_path, "SELECT sum(words) FROM pages")
    ((counted,),) = rows(tmp_path, "SELECT sum(count) FROM words")
    assert total == counted


def test_the_same_content_is_kept_once(tmp_path: Path) -> None:
    crawl(tmp_path, "--depth", 2, "--download-workers", 1)
    kinds = rows(
        tmp_path,
        "SELECT kind FROM captures JOIN pages ON pages.id = page "
        f"WHERE url IN ('{HOST}/copy/rose', '{HOST}/copy/rose-again') ORDER BY 1",
    )
    assert kinds == [("response",), ("revisit",)]
    for name in ("rose", "rose-again"):
        shown = run("main.py", "pages", "show", f"{HOST}/copy/{name}", "--body", cwd=tmp_path)
        assert shown.stdout.encode() == garden.pages()["/copy/rose"].content


def test_what_asks_not_to_be_archived_is_read_and_not_kept(tmp_path: Path) -> None:
    crawl(tmp_path, "--depth", 2)
    where = f"WHERE url = '{HOST}/private-note'"
    assert rows(tmp_path, f"SELECT state, title FROM pages {where}") == [(1, "A note")]
    assert not rows(tmp_path, f"SELECT 1 FROM captures JOIN pages ON pages.id = page {where}")
    shown = run("main.py", "pages", "show", f"{HOST}/private-note", cwd=tmp_path)
    assert shown.returncode == 2 and "the archive holds no answer" in shown.stderr


def test_settings_come_from_the_environment(tmp_path: Path) -> None:
    done = crawl(tmp_path, SHEAF_PAGES_DEPTH="0", SHEAF_PAGES_SITEMAPS="false")
    assert done.returncode == 0, done.stderr
    assert found_depths(tmp_path) == {"/": 0}
    wrong = crawl(tmp_path, SHEAF_PAGES_DEPTH="deep")
    assert wrong.returncode == 2 and "SHEAF_PAGES_DEPTH is 'deep'" in wrong.stderr


def test_only_the_types_that_are_wanted_are_kept(tmp_path: Path) -> None:
    crawl(tmp_path, "--depth", 1, SHEAF_PAGES_TYPES="text/html")
    failed = dict(rows(tmp_path, "SELECT url, remark FROM pages WHERE remark LIKE 'its type%'"))
    assert failed == {
        f"{HOST}/picture.svg": "its type is not wanted: image/svg+xml",
        f"{HOST}/seeds.csv": "its type is not wanted: text/csv",
    }
    kept = rows(tmp_path, "SELECT url FROM pages WHERE state = 1 AND url LIKE '%/secret/%'")
    assert len(kept) == len(garden.HIDDEN)  # the sitemap was read all the same


def test_history_knows_the_job(tmp_path: Path) -> None:
    crawl(tmp_path, "--depth", 1)
    seen = json.loads(run("history.py", "--json", cwd=tmp_path).stdout)
    assert seen["pools"]["finished"] == len(garden_truth.depths(1)) - 4
    text = run("history.py", "--job", "pages", cwd=tmp_path).stdout
    assert "pages downloaded" in text


def test_seeds_that_are_no_addresses_are_all_named(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("https://a.example/\nftp://b\n# a remark\nhttp://\n")
    done = run("main.py", "pages", "--seeds", "seeds.txt", cwd=tmp_path)
    assert done.returncode == 2
    assert "line 2 of seeds.txt: 'ftp://b'" in done.stderr
    assert "line 4 of seeds.txt: 'http://'" in done.stderr
    assert not (tmp_path / "state-pages").exists()


def test_another_world_is_refused_before_anything_is_changed(tmp_path: Path) -> None:
    crawl(tmp_path, "--depth", 1)
    done = run("main.py", "pages", "--depth", 2, cwd=tmp_path)
    assert "holds a harvest of the built-in site, not of the web" in says(done, 2)
    done = crawl(tmp_path, "--depth", 1)
    assert done.returncode == 0 and found_depths(tmp_path) == garden_truth.depths(1), done.stderr


def test_places_are_those_of_the_disk(tmp_path: Path) -> None:
    plan = crawl(tmp_path, "--dry-run").stdout
    done = crawl(tmp_path, "--depth", 0).stdout
    for said in (plan, done):
        (table,) = (line.split()[-1] for line in said.splitlines() if "page table" in line)
        assert table == "state-pages/pages.db"


def test_a_limit_that_is_reached_is_not_the_end(tmp_path: Path) -> None:
    verdict = crawl(tmp_path, "--limit", 5).stdout.splitlines()[-1]
    assert verdict == "the limit is reached; a larger one goes on from here"
    assert crawl(tmp_path).stdout.splitlines()[-1] == "done"


@pytest.mark.parametrize("words", ["history.py", "history.py --check", "main.py retry"])
def test_whoever_comes_too_early_is_told_how_to_begin(tmp_path: Path, words: str) -> None:
    script, *flags = words.split()
    said = says(run(script, *flags, "--job", "pages", cwd=tmp_path), 2)
    assert said.endswith("at state-pages/pools.db yet: python main.py pages starts one")


def test_what_a_plan_tells_steers_no_terminal(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("http://h.example/\x1b[2Jx\u202e\n")
    plan = run("main.py", "pages", "--seeds", "seeds.txt", "--dry-run", cwd=tmp_path).stdout
    assert "http://h.example/ [2Jx" in plan and not {"\x1b", "\u202e"} & set(plan)

"""What belongs to pages is kept beside them, and changes nothing else of a crawl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import run
from tests.support.crawl import crawl, pages, rows
from tests.support.worlds.faults import answer
from tests.support.worlds.hostile_site import HOME, HostileSite, in_turn, redirect

pytestmark = pytest.mark.timeout(120)

CDN = "127.0.0.2"
PNG = answer(200, b"\x89PNG", "image/png")


@pytest.fixture
def site() -> Iterator[HostileSite]:
    with HostileSite((CDN,)) as site:
        site.put(
            "/", html('<img src=a.png><img src="/gone.png"><a href=/next>n</a><a href=/a.png>')
        )
        site.put(
            "/next",
            html(f'{"word " * 30}<img src=a.png><script src="{site.at("/j.js", CDN)}"></script>'),
        )
        site.put("/a.png", PNG)
        yield site


def html(body: str) -> bytes:
    return answer(200, f"<!DOCTYPE html><title>t</title>{body}".encode(), "text/html")


def captured(folder: Path, host: str) -> Counter[str]:
    """By target."""
    found = rows(folder, "SELECT address FROM captures WHERE kind IN ('response', 'revisit')")
    own = [address.partition(host)[2] for (address,) in found if host in address]
    return Counter(own)


def test_nobody_asks_for_them_unless_told(site: HostileSite, tmp_path: Path) -> None:
    assert crawl(tmp_path, "--seed", site.at("/"), depth=1) == 0
    assert site.targets() == {"/robots.txt": 1, "/": 1, "/next": 1, "/a.png": 1}


def test_they_are_kept_and_are_no_pages(site: HostileSite, tmp_path: Path) -> None:
    """Of another host too, though not one that only a page has named: that is private here."""
    site.put("/", html("<img src=a.png><img src=/gone.png><a href=/next>n</a>"))
    site.put("/j.js", answer(200, b"1", "text/javascript"), CDN)
    both = ("--seed", site.at("/"), "--seed", site.at("/none", CDN))
    assert crawl(tmp_path, *both, "--requisites", "--no-sitemaps", depth=1) == 0
    assert pages(tmp_path, site.lane()) == {"/": (1, None), "/next": (1, None)}
    assert list(pages(tmp_path, site.lane(CDN))) == ["/none"]
    wanted = {"/robots.txt", "/", "/next", "/a.png", "/gone.png"}
    assert captured(tmp_path, site.lane()) == dict.fromkeys(wanted, 1)
    assert captured(tmp_path, site.lane(CDN)) == {"/robots.txt": 1, "/none": 1, "/j.js": 1}
    assert set(site.targets().values()) == {1}
    checked = run("main.py", "pages", "check", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout
    index = (tmp_path / "archive/index.cdxj").read_text()
    assert "/a.png" in index and "/j.js" in index


def test_one_that_is_a_page_too_is_one(site: HostileSite, tmp_path: Path) -> None:
    settings = {"depth": 1, "requisites": "true", "per_host": 1}
    assert crawl(tmp_path, "--seed", site.at("/"), **settings) == 0
    assert pages(tmp_path, site.lane())["/a.png"] == (1, None)
    assert rows(tmp_path, "SELECT count(*) FROM pages WHERE url LIKE '%#%'") == [(0,)]
    depth = rows(tmp_path, "SELECT depth FROM pages WHERE url LIKE '%/a.png'")
    assert depth == [(1,)] and site.targets()["/a.png"] <= 2


def test_their_redirects_end(site: HostileSite, tmp_path: Path) -> None:
    site.put("/", html("<img src=/r0>"))
    site.put_all({f"/r{n}": redirect(f"/r{n + 1}") for n in range(30)})
    assert crawl(tmp_path, "--seed", site.at("/"), requisites="true") == 0
    asked = [target for target in site.targets() if target.startswith("/r") and "x" not in target]
    assert sorted(asked) == [f"/r{n}" for n in range(6)]


def test_what_is_forbidden_or_fails_costs_no_page(site: HostileSite, tmp_path: Path) -> None:
    robots = answer(200, f"User-agent: *\nDisallow: /x/\nSitemap: {site.at('/map')}".encode())
    site.put("/robots.txt", robots)
    site.put("/", html("<img src=/x/a.png><img src=/bad.png>"))
    site.put("/bad.png", in_turn(answer(500, b""), PNG))
    flags = ("--seed", site.at("/"))
    assert crawl(tmp_path, *flags, requisites="true", attempts=2, sitemaps="false") == 0
    assert pages(tmp_path, site.lane()) == {"/": (1, None)}
    assert not site.targets(HOME)["/x/a.png"] and site.targets()["/bad.png"] == 2
    assert captured(tmp_path, site.lane())["/bad.png"] == 1

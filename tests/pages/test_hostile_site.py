"""Sites that misbehave: each page ends as it should, and nothing is asked that should not be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.crawl import crawl, pages, rows
from tests.support.worlds.faults import answer, reset
from tests.support.worlds.hostile_site import (
    HOME,
    HostileSite,
    after_hints,
    bomb,
    cut_short,
    drip,
    endless_headers,
    page,
    redirect,
)

SLOW, RUDE, BROKEN, FOREIGN, SAME = (f"127.0.0.{number}" for number in (2, 3, 4, 5, 6))
FETCHED, FAILED = (1, None), 2
MOST, MOST_READ = 3_000_000, 1_000_000
TO_ITSELF = [f"/?page={number}" for number in range(10_000)]
LATIN = "caf\u00e9 na\u00efve"


def links(site: HostileSite) -> list[str]:
    """All that the first page leads to."""
    bad = ["javascript:alert(1)", "data:text/html,<a href=/data>", "mailto:a@b.example", "ftp://x/"]
    nowhere = ["http://", "http://a b/", "http://h:99999/", "//", "http://[::1/"]
    places = [target for host, target in site.answers if host == HOME and target != "/robots.txt"]
    away = [site.at("/", FOREIGN), site.at("/named").replace("//", "//me:secret@")]
    return [*places, *bad, *nowhere, *away, "/nothing"]


def html(text: bytes, charset: str) -> bytes:
    return answer(200, text, f"text/html; charset={charset}")


def put_pages(site: HostileSite) -> None:
    site.put_all(
        {
            "/itself": redirect("/itself"),
            "/ping": redirect("/pong"),
            "/pong": redirect("/ping"),
            "/session": redirect("/session;jsessionid=1"),
            "/session;jsessionid=1": redirect("/session"),
            "/nowhere": answer(302, b"", "text/html"),
            "/unchanged": b"HTTP/1.1 304 Not Modified\r\nContent-Type: text/html\r\n\r\n",
            "/bomb": bomb(20_000_000),
            "/large": answer(200, b"<p>" + b"x " * (MOST // 2), "text/html"),
            "/long": answer(200, b'<a href="/beyond">' + b"x " * MOST_READ, "text/html"),
            "/empty": answer(200, b"", "text/html"),
            "/cut": cut_short(page("/unseen", text="x" * 1000), 500),
            "/hints": after_hints(page(text="hints")),
            "/header-bomb": endless_headers,
            "/many-headers": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 101 + b"\r\n",
            "/garbled": b"250 this is no HTTP\r\n\r\n",
            "/wrong-charset": html(LATIN.encode("latin-1"), "utf-8"),
            "/no-such-charset": html(LATIN.encode(), "klingon"),
            "/two-charsets": html(f"\ufeff<meta charset=koi8-r><body>{LATIN}".encode(), "gbk"),
            "/picture": answer(200, b'\x89PNG\r\n\x1a\n<a href="/in-a-picture">', "image/png"),
            "/plain": answer(200, b'<a href="/in-plain-text">word', "text/plain"),
            "/no-type": b"HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\n<html><a href=/found>x</a>",
            "/odd-type": answer(200, b"word", "text/html\x01; =;;"),
            "/named": page(text="named"),
            "/to-itself": page(*TO_ITSELF),
        }
    )  # fmt: skip
    site.put("/robots.txt", answer(403, b"go away"))
    site.put("/", page(*links(site)))
    for target in TO_ITSELF[:3]:
        site.put(target, page(*TO_ITSELF[:3]))
    site.put("/", drip, SLOW)
    site.put("/", lambda connection, _: reset(connection), RUDE)
    site.put("/", answer(500, b"broken", "text/html"), BROKEN)


@dataclass
class Crawled:
    site: HostileSite
    folder: Path

    def __getitem__(self, target: str) -> tuple[int, str | None]:
        return pages(self.folder, self.site.lane())[target]

    def of(self, host: str) -> tuple[int, str | None]:
        return pages(self.folder, self.site.lane(host))["/"]

    def one(self, column: str, target: str) -> object:
        url = self.site.lane() + target
        return rows(self.folder, f"SELECT {column} FROM pages WHERE url = ?", url)[0][0]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """One crawl of all of it."""
    folder = tmp_path_factory.mktemp("hostile")
    with HostileSite((SLOW, RUDE, BROKEN, FOREIGN)) as site:
        put_pages(site)
        seeds = [site.at("/", host) for host in (HOME, SLOW, RUDE, BROKEN)]
        flags = [word for seed in seeds for word in ("--seed", seed)]
        settings = {"max_bytes": MOST, "analyse_max_bytes": MOST_READ, "timeout_s": 2}
        code = crawl(folder, *flags, "--exclude", r"page=\d\d", depth=2, **settings)
        assert code == 0
        yield Crawled(site, folder)


def test_redirects_that_lead_nowhere(crawled: Crawled) -> None:
    assert crawled["/itself"] == (FAILED, "redirected to itself")
    assert crawled["/session"] == (FAILED, "redirected too often")
    assert crawled["/ping"] == crawled["/pong"] == FETCHED
    assert crawled["/nowhere"] == crawled["/unchanged"] == FETCHED
    asked = crawled.site.targets()
    assert asked["/ping"] == asked["/pong"] == asked["/itself"] == 1
    assert asked["/session"] + asked["/session;jsessionid=1"] == 5


def test_what_is_too_large(crawled: Crawled) -> None:
    state, remark = crawled["/bomb"]
    assert state == FAILED and remark and f"unpacks to more than {MOST:,} bytes" in remark
    state, remark = crawled["/large"]
    assert state == FAILED and remark and f"larger than {MOST:,} bytes" in remark
    state, remark = crawled["/long"]
    assert state == 1 and remark and remark.startswith("too large to be read for links")
    assert not crawled.site.targets()["/beyond"]


def test_answers_that_are_none(crawled: Crawled) -> None:
    assert crawled["/empty"] == FETCHED
    for target, said in (
        ("/cut", "cut short"),
        ("/header-bomb", "no HTTP"),
        ("/many-headers", "no HTTP"),
        ("/garbled", "no HTTP"),
    ):
        state, remark = crawled[target]
        assert state == FAILED and remark and said in remark, (target, remark)
    assert not crawled.site.targets()["/unseen"]
    assert crawled["/hints"] == FETCHED and crawled.one("words", "/hints") == 1


def test_hosts_that_do_not_answer(crawled: Crawled) -> None:
    for host, said in (
        (SLOW, "no complete answer in time"),
        (RUDE, "connection lost"),
        (BROKEN, "HTTP 500"),
    ):
        state, remark = crawled.of(host)
        assert state == FAILED and remark and said in remark, (host, remark)


def test_an_answer_by_drops_ends_with_its_time(crawled: Crawled) -> None:
    (drop,) = (x for x in crawled.site.asked if x.host == SLOW and x.target == "/")
    assert drop.ended - drop.begun < 5


def test_charsets_that_are_wrong(crawled: Crawled) -> None:
    assert crawled["/wrong-charset"] == crawled["/no-such-charset"] == FETCHED
    assert crawled.one("words", "/two-charsets") == 2
    words = dict(rows(crawled.folder, "SELECT word, count FROM words WHERE word LIKE 'caf%'"))
    assert words["caf\u00e9"] >= 2


def test_what_is_no_html_has_no_links(crawled: Crawled) -> None:
    for target in ("/picture", "/plain", "/odd-type"):
        assert crawled[target] == FETCHED
        assert crawled.one("sub_urls", target) == "[]", target
    asked = crawled.site.targets()
    assert not asked["/in-a-picture"] and not asked["/in-plain-text"]
    assert asked["/found"] == 1  # what has no type may be looked at


def test_a_page_of_ten_thousand_links_to_itself(crawled: Crawled) -> None:
    """They are pages like any other, unless the user says otherwise; each is asked once."""
    asked = crawled.site.targets()
    assert [asked[target] for target in TO_ITSELF[:12]] == [1] * 10 + [0] * 2


def test_links_that_are_no_addresses_and_those_with_a_password(crawled: Crawled) -> None:
    assert crawled["/named"] == FETCHED
    assert not [x for x in crawled.site.asked if "authorization" in x.request.headers]
    stored = rows(crawled.folder, "SELECT url FROM pages WHERE url LIKE '%secret%'")
    assert not stored
    hosts = {url.partition("/")[0] for (url,) in rows(crawled.folder, "SELECT url FROM pages")}
    assert hosts == {crawled.site.lane(host) for host in (HOME, SLOW, RUDE, BROKEN)}


def test_each_is_asked_once_and_each_robots_txt_too(crawled: Crawled) -> None:
    asked = crawled.site.targets()
    assert asked.pop("/robots.txt") == 1
    often = {target: times for target, times in asked.items() if times > 1}
    assert set(often) <= {"/session", "/session;jsessionid=1"}
    assert not crawled.site.targets(FOREIGN)


def test_answers_that_refuse_are_archived(crawled: Crawled) -> None:
    url = crawled.site.lane() + "/nothing"
    found = rows(
        crawled.folder,
        "SELECT captures.status FROM captures JOIN pages ON pages.id = page WHERE url = ?",
        url,
    )
    assert crawled["/nothing"] == (FAILED, "HTTP 404") and found == [(404,)]


def test_one_content_under_endless_addresses(tmp_path: Path) -> None:
    """Fifty times the same, and its host's links are not followed any more."""
    whole = page("a/", "b/", "c/", text="the same again")
    with HostileSite() as site:
        site.answer_to_all = whole
        assert crawl(tmp_path, "--seed", site.at("/"), depth=15, robots="ignore") == 0
        assert 50 <= len(site.asked) < 300

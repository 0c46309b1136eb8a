"""What a crawl is asked for: going on, asking again, sitemaps, proxies, seeds that have moved."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import chdir, closing
from pathlib import Path
from socket import socket

import pytest

from main import main
from tests.support.crawl import TABLE, crawl, depths, pages, rows
from tests.support.crawl_flaws import flaws
from tests.support.worlds.faults import Request, answer
from tests.support.worlds.hostile_site import Answer, HostileSite, markup, page, redirect
from tests.support.worlds.proxies import Socks5Proxy
from tools.jobs.ownership import Past
from tools.pages.archived import Archived
from tools.pages.table_sqlite import SqlitePages

OTHER = "127.0.0.2"
FETCHED = (1, None)


@pytest.fixture
def site() -> Iterator[HostileSite]:
    with HostileSite((OTHER,)) as site:
        yield site


def put_star(site: HostileSite, number: int, host: str = "127.0.0.1") -> list[str]:
    targets = [f"/{each}" for each in range(number)]
    site.put("/", page(*targets), host)
    site.put_all({target: page("/", *targets[:2]) for target in targets}, host)
    return ["/", *targets]


def test_queues_of_one_do_not_block(site: HostileSite, tmp_path: Path) -> None:
    targets = put_star(site, 100)
    settings = {"page_queue": 1, "parsed_queue": 1, "download_workers": 1, "analyse_workers": 1}
    assert crawl(tmp_path, "--seed", site.at("/"), control_workers=1, **settings) == 0
    assert pages(tmp_path, site.lane()) == dict.fromkeys(targets, FETCHED)
    assert set(site.targets().values()) == {1}


# --- asking again ----------------------------------------------------------------------------


def tagged(tag: str, text: str) -> Answer:
    """A page that says whether it is still the same."""

    def say(_: socket, request: Request) -> bytes:
        if request.headers.get("if-none-match") == f'"{tag}"':
            return f'HTTP/1.1 304 Not Modified\r\nETag: "{tag}"\r\n\r\n'.encode()
        return answer(200, markup(text=text).encode(), "text/html", ETag=f'"{tag}"')

    return say


def test_asking_again_for_what_may_have_changed(site: HostileSite, tmp_path: Path) -> None:
    site.put("/", page("/same", "/changed", "/untagged", "/gone"))
    site.put("/same", tagged("1", "oak oak elm"))
    site.put("/changed", tagged("1", "rose ivy"))
    site.put("/untagged", page(text="yew"))
    site.put("/gone", page(text="fern"))
    assert crawl(tmp_path, "--seed", site.at("/")) == 0
    assert words(tmp_path) == {"oak": 2, "elm": 1, "rose": 1, "ivy": 1, "yew": 1, "fern": 1}
    site.put("/changed", tagged("2", "rose moss moss"))
    site.answers.pop(("127.0.0.1", "/gone"))
    assert crawl(tmp_path, "--refetch-after", "0s") == 0
    assert words(tmp_path) == {"oak": 2, "elm": 1, "rose": 1, "moss": 2, "yew": 1, "fern": 1}
    assert pages(tmp_path, site.lane())["/gone"] == (2, "HTTP 404")
    assert kinds(tmp_path, site, "/same") == [("response", 200), ("revisit", 304)]
    assert kinds(tmp_path, site, "/changed") == [("response", 200), ("response", 200)]
    assert kinds(tmp_path, site, "/untagged") == [("response", 200), ("revisit", 200)]
    assert set(site.targets().values()) == {1, 2}
    assert flaws(tmp_path / "archive", lambda question: rows(tmp_path, question)) == []
    assert crawl(tmp_path, "--refetch-after", "1h") == 0  # nothing is that old
    assert site.targets()["/same"] == 2


def words(folder: Path) -> dict[str, int]:
    found = dict(rows(folder, "SELECT word, count FROM words"))
    found.pop("link", None)
    return found


def kinds(folder: Path, site: HostileSite, target: str) -> list[tuple[str, int]]:
    return rows(
        folder,
        "SELECT kind, captures.status FROM captures JOIN pages ON pages.id = page WHERE url = ? "
        "ORDER BY captures.id",
        site.lane() + target,
    )


# --- where it begins -------------------------------------------------------------------------


def test_an_index_of_packed_sitemaps(site: HostileSite, tmp_path: Path) -> None:
    def packed(kind: str, entry: str, *targets: str) -> bytes:
        entries = "".join(f"<{entry}><loc>{site.at(each)}</loc></{entry}>" for each in targets)
        text = f'<{kind} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</{kind}>'
        return answer(200, gzip.compress(text.encode()), "application/gzip")

    maps = {"/index.gz": packed("sitemapindex", "sitemap", "/1.xml.gz", "/2.xml.gz")}
    maps["/1.xml.gz"] = packed("urlset", "url", "/a", "/b")
    maps["/2.xml.gz"] = packed("urlset", "url", "/c")
    site.put("/robots.txt", answer(200, f"Sitemap: {site.at('/index.gz')}".encode()))
    site.put_all({**maps, "/": page(), "/a": page("/below"), "/b": page(), "/c": page()})
    site.put("/below", page())
    assert crawl(tmp_path, "--seed", site.at("/"), depth=1) == 0
    near = dict.fromkeys(["/", *maps, "/a", "/b", "/c"], 0)
    assert depths(tmp_path, site.lane()) == {**near, "/below": 1}


def test_a_crash_between_a_robots_txt_and_its_sitemaps(site: HostileSite, tmp_path: Path) -> None:
    """The table knows the host already; the pools do not know yet what follows from that."""
    sitemap = f"<urlset><url><loc>{site.at('/hidden')}</loc></url></urlset>".encode()
    site.put("/robots.txt", answer(200, f"Sitemap: {site.at('/map.xml')}".encode()))
    site.put_all({"/": page(), "/hidden": page()})
    site.put("/map.xml", answer(200, sitemap, "application/xml"))
    assert crawl(tmp_path, "--seed", site.at("/"), sitemaps="false") == 0  # as if killed there
    assert not site.targets()["/map.xml"]
    assert crawl(tmp_path) == 0
    assert depths(tmp_path, site.lane()) == {"/": 0, "/map.xml": 0, "/hidden": 0}
    assert set(site.targets().values()) == {1}


def test_a_seed_that_has_moved_takes_the_crawl_with_it(site: HostileSite, tmp_path: Path) -> None:
    (tmp_path / "sheaf.toml").write_text(f'[http]\nprivate_hosts = ["{site.lane(OTHER)}"]\n')
    site.put("/", redirect(site.at("/", OTHER), 301))
    targets = put_star(site, 3, OTHER)
    site.put("/0", page(site.at("/not-a-seed")), OTHER)
    site.put("/not-a-seed", page())
    for depth in (1, 2):
        assert crawl(tmp_path, "--seed", site.at("/"), depth=depth) == 0
        found = rows(
            tmp_path, "SELECT url, depth FROM pages WHERE state = 1 AND url LIKE ?", f"{OTHER}%"
        )
        assert dict(found) == {site.lane(OTHER) + x: int(x != "/") for x in targets}
    assert pages(tmp_path, site.lane()) == {"/": FETCHED, "/not-a-seed": FETCHED}


def test_through_a_socks_proxy(site: HostileSite, tmp_path: Path) -> None:
    targets = put_star(site, 10)
    with Socks5Proxy() as proxy:
        (tmp_path / "proxies.txt").write_text(proxy.url)
        (tmp_path / "proxies.txt").chmod(0o600)
        (tmp_path / "sheaf.toml").write_text('[proxy]\nfile = "proxies.txt"\n')
        assert crawl(tmp_path, "--seed", site.at("/")) == 0
        assert pages(tmp_path, site.lane()) == dict.fromkeys(targets, FETCHED)
        assert proxy.tunnels and proxy.outgoing == set(site.peers)


def test_asking_again_and_going_deeper_are_one_command(site: HostileSite, tmp_path: Path) -> None:
    def unchanged(_: socket, request: Request) -> bytes:
        if "if-none-match" in request.headers:
            return answer(304)
        return answer(200, markup(f"{request.target}1").encode(), "text/html", ETag='"1"')

    site.put_all({f"/{'1' * length}": unchanged for length in range(4)})
    assert crawl(tmp_path, "--seed", site.at("/"), "--depth", 1) == 0
    assert crawl(tmp_path, "--depth", 2, "--refetch-after", "0s") == 0
    assert depths(tmp_path, site.lane()) == {"/": 0, "/1": 1, "/11": 2}
    asked = site.targets()
    assert [asked[each] for each in ("/", "/1", "/11", "/111")] == [2, 2, 1, 0]


# --- a start that fails ----------------------------------------------------------------------


def test_a_refused_start_claims_nothing(site: HostileSite, tmp_path: Path) -> None:
    put_star(site, 2)
    seed = ("--seed", site.at("/"))
    assert crawl(tmp_path, *seed) == 0
    assert crawl(tmp_path, *seed, "--state", "other") == 6  # the archive is the first one's
    assert crawl(tmp_path, *seed, "--state", "other", "--archive", "other/archive") == 0


def test_a_start_that_fails_late_is_begun_again(site: HostileSite, tmp_path: Path) -> None:
    """By then table and archive know whose they are."""
    put_star(site, 2)
    seed = ("--seed", site.at("/"))
    assert crawl(tmp_path, *seed, "--metrics", site.port) != 0
    assert crawl(tmp_path, *seed) == 0
    assert fetched(tmp_path) == 3


def test_whoever_is_killed_at_the_start_knows_what_is_his(
    site: HostileSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, claim = [], SqlitePages.claim

    def claim_and_look(table: SqlitePages, harvest: str) -> None:
        claim(table, harvest)
        known.append((Past.of(tmp_path / "state-pages/pools.db").harvest, harvest))

    monkeypatch.setattr(SqlitePages, "claim", claim_and_look)
    assert crawl(tmp_path, "--seed", site.at("/")) == 7
    assert known and all(state == harvest for state, harvest in known)


# --- what the archive gives back -------------------------------------------------------------


def test_the_same_body_twice_has_two_heads(site: HostileSite, tmp_path: Path) -> None:
    """What is analysed after a crash is what would have been analysed without it."""
    body, kind = markup("/1").encode(), "text/html"
    site.put("/", page("/1", "/b"))
    site.put("/1", answer(200, body, kind))
    site.put("/b", answer(200, body, kind, X_Robots_Tag="nofollow"))
    assert crawl(tmp_path, "--seed", site.at("/"), "--depth", 2, per_host=1) == 0
    table = SqlitePages(tmp_path / TABLE, writable=False)
    with closing(table):
        archived = Archived(table, tmp_path / "archive", 10**6)
        heads = {each: archived(f"{site.lane()}{each}") for each in ("/1", "/b")}
    assert all(each is not None and each.content == body for each in heads.values())
    names = {each: [name for name, _ in found.headers] for each, found in heads.items() if found}
    assert "X-Robots-Tag" in names["/b"] and "X-Robots-Tag" not in names["/1"]


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("/moved", "it leads to "),
        ("/same", "HTTP 304"),
        ("/secret", "it asked not to be kept"),
        ("/later", "not asked yet"),
    ],
)
def test_a_page_without_a_body_says_why(
    site: HostileSite, tmp_path: Path, target: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    site.put("/", page(target))
    site.put("/moved", redirect("/"))
    site.put("/same", answer(304))
    site.put("/secret", answer(200, b"x", "text/html", X_Robots_Tag="noarchive"))
    limit = ("--limit", 1) if target == "/later" else ()
    assert crawl(tmp_path, "--seed", site.at("/"), *limit) == 0
    with chdir(tmp_path):
        assert main(("pages", "show", site.at(target))) == 2
    assert f"({why}" in capsys.readouterr().err


# --- how far it goes -------------------------------------------------------------------------


def test_so_many_pages_and_then_the_others(site: HostileSite, tmp_path: Path) -> None:
    targets = put_star(site, 30)
    for limit in (10, 10, 25):
        assert crawl(tmp_path, "--seed", site.at("/"), "--limit", limit) == 0
        assert fetched(tmp_path) == limit
    assert crawl(tmp_path, "--seed", site.at("/")) == 0
    assert pages(tmp_path, site.lane()) == dict.fromkeys(targets, FETCHED)
    assert set(site.targets().values()) == {1}


def test_so_many_pages_of_a_host(site: HostileSite, tmp_path: Path) -> None:
    put_star(site, 30)
    put_star(site, 5, OTHER)
    seeds = ("--seed", site.at("/"), "--seed", site.at("/", OTHER))
    assert crawl(tmp_path, *seeds, "--limit-per-host", 10) == 0
    assert len(depths(tmp_path, site.lane())) == 10 + 6
    assert crawl(tmp_path, *seeds, "--limit-per-host", 10) == 0
    assert len(depths(tmp_path, site.lane())) == 10 + 6
    assert crawl(tmp_path, *seeds, "--limit-per-host", 20) == 0
    assert len(depths(tmp_path, site.lane())) == 20 + 6
    assert set(site.targets().values()) == {1}


def test_so_many_seconds_and_then_the_rest(site: HostileSite, tmp_path: Path) -> None:
    targets = put_star(site, 12)
    settings = {"delay_s": 0.15, "per_host": 1}
    assert crawl(tmp_path, "--seed", site.at("/"), "--seconds", 0.7, **settings) == 0
    assert 0 < fetched(tmp_path) < len(targets)
    assert crawl(tmp_path, **settings) == 0
    assert pages(tmp_path, site.lane()) == dict.fromkeys(targets, FETCHED)
    assert set(site.targets().values()) == {1}


def fetched(folder: Path) -> int:
    return int(rows(folder, "SELECT count(*) FROM pages WHERE state = 1")[0][0])

"""A crawl whose pages are downloaded by nodes ends as one that is made here."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest

from tests.cluster.test_limits import most_in_a_second
from tests.support.cluster import Cluster
from tests.support.command import run
from tests.support.crawl import rows
from tests.support.crawl_flaws import flaws
from tests.support.nats_server import NatsServer, running_nats
from tests.support.random_site import RandomSite
from tests.support.worlds.faults import Request, answer
from tests.support.worlds.hostile_site import (
    HOME,
    Answer,
    HostileSite,
    markup,
    page,
    redirect,
)
from tools.pages.page import FAILED

pytestmark = pytest.mark.timeout(120)

NEXT = "127.0.0.2"
NODES, OTHERS = ("alpha", "beta"), ("gamma", "delta")
HASTY = "delay_s = 0.0\ndelay_factor = 0.0\nper_host = 8\nattempts = 2\n"
OWN = "reserve_bytes = 0\n"
SIZE = 40
ESSENCE = """SELECT url, state, remark, depth, status, content_type, charset, bytes, title, digest,
    etag, canonical, redirect, words, sub_urls FROM pages ORDER BY url"""
WORDS = "SELECT word, count, pages FROM words ORDER BY word"
CAPTURES = "SELECT DISTINCT address, status, mime, digest FROM captures ORDER BY 1, 2, 3, 4"
HOSTS = "SELECT name, scheme, robots, crawl_delay, pages, failures, bytes FROM hosts ORDER BY name"

SAME = page(text="the same words for all")
SPECIAL = {
    "/robots.txt": answer(200, b"User-agent: *\nDisallow: /private\nSitemap: /map.xml\n"),
    "/special": page(
        *("/private/1", "/private/2", "/listed", "/slash", "/round", "/secret", "/packed"),
        *("/same/1", "/same/2", "/same/3", "/styled", "/nowhere", "/text", "/dirty"),
    ),
    "/listed": page(text="named by a map", title="Listed"),
    "/slash": redirect("/slash?utm_source=x"),
    "/slash?utm_source=x": page(text="the same page by another address"),
    "/round": redirect("/round"),
    "/secret": answer(200, markup("/listed").encode(), "text/html", X_Robots_Tag="noarchive"),
    "/packed": answer(
        200,
        gzip.compress(markup("/listed", text="packed").encode()),
        "text/html",
        Content_Encoding="gzip",
        ETag='"one"',
    ),
    "/same/1": SAME,
    "/same/2": SAME,
    "/same/3": SAME,
    "/styled": answer(
        200,
        b'<title>x</title><img src="/a.png"><link rel=stylesheet href=/s.css>',
        "text/html; charset=latin-1",
    ),
    "/a.png": answer(200, b"\x89PNG", "image/png"),
    "/s.css": redirect("/t.css"),
    "/t.css": answer(200, b"a { color: red }", "text/css"),
    "/nowhere": answer(302, b"", "text/html"),
    "/text": answer(200, b"plain \xff\xfe text", "text/plain"),
    "/dirty": answer(
        200, markup().encode(), "text/html; charset=\xe9", Last_Modified="\xff, never"
    ),
}


def put_pages(site: HostileSite, slowest: float = 0.0) -> None:
    RandomSite(11, SIZE).put(site, slowest)
    site.put_all(SPECIAL)
    listed = f"<urlset><url><loc>{site.at('/listed')}</loc></url></urlset>"
    site.put("/map.xml", answer(200, listed.encode(), "text/xml"))


@pytest.fixture(scope="module")
def site() -> Iterator[HostileSite]:
    with HostileSite((NEXT,)) as site:
        put_pages(site)
        yield site


def seeds(site: HostileSite) -> list[str]:
    return ["--seed", site.at("/"), "--seed", site.at("/special")]


def settings(*more: str) -> str:
    return "[pages]\ndepth = 4\nrequisites = true\n" + HASTY + "\n".join(more)


def end_of(folder: Path) -> dict[str, Any]:
    with closing(sqlite3.connect(f"file:{folder}/state-pages/pools.db?mode=ro", uri=True)) as db:
        pools = sorted(db.execute("SELECT uri, pool FROM uri"))
    questions = {"pages": ESSENCE, "words": WORDS, "captures": CAPTURES, "hosts": HOSTS}
    return {"pools": pools} | {name: rows(folder, each) for name, each in questions.items()}


def require_whole(folder: Path) -> None:
    """Archive, index and table agree, in our eyes and in those of others. One page may be kept by
    nobody."""
    found = flaws(folder / "archive", lambda question: rows(folder, question))
    assert [each for each in found if "/secret has an answer that is not" not in each] == []
    checked = run("main.py", "pages", "check", cwd=folder)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.fixture(scope="module")
def alone(site: HostileSite, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("alone")
    (folder / "sheaf.toml").write_text(settings())
    done = run("main.py", "pages", *seeds(site), "-q", cwd=folder)
    assert done.returncode == 0, done.stderr
    return end_of(folder)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with running_nats(tmp_path / "server", nodes=(*NODES, *OTHERS)) as server:
        yield server


@pytest.fixture
def cluster(tmp_path: Path, server: NatsServer) -> Iterator[Cluster]:
    with Cluster(tmp_path, server, OWN + settings(), OWN, "pages") as cluster:
        yield cluster


def test_a_crawl_ends_as_without_nodes(
    cluster: Cluster, site: HostileSite, alone: dict[str, Any]
) -> None:
    site.asked.clear()
    for node in NODES:
        cluster.start_node(node)
    assert cluster.run(*seeds(site), "-q") == 0, cluster.log("coordinator")
    found = end_of(cluster.home)
    for name, rows_alone in alone.items():
        assert found[name] == rows_alone, name
    require_whole(cluster.home)
    asked = site.targets()
    assert asked["/robots.txt"] == 1, "read once by all nodes together"
    assert not [target for target in asked if target.startswith("/private")]
    often = {target for target, number in asked.items() if number > 1}
    assert often <= {"/round"}, "nobody asks twice"


def test_what_is_killed_is_made_up_for(
    cluster: Cluster, site: HostileSite, alone: dict[str, Any]
) -> None:
    """A node amid its downloads, then the coordinator: what nodes have meanwhile comes home to the
    next one."""
    site.asked.clear()
    put_pages(site, slowest=0.1)
    for node in NODES:
        cluster.start_node(node)
    cluster.start(*seeds(site), "-q")
    site.wait_for(lambda: len(site.asked) > 12)
    cluster.kill("alpha")
    cluster.start_node("gamma")
    site.wait_for(lambda: len(site.asked) > 24)
    cluster.kill("coordinator")
    assert cluster.run("-q") == 0, cluster.log("coordinator")
    found = end_of(cluster.home)
    for name in ("pools", "pages", "words"):
        assert found[name] == alone[name], name
    require_whole(cluster.home)
    assert not [target for target in site.targets() if target.startswith("/private")]


# --- how often a host is asked -----------------------------------------------------------------

DELAY_S, SLOWLY_S, NUMBER = 0.4, 0.8, 5
SLACK_S = 0.2  # what is sent at once may be read late, by a busy machine


def test_hosts_have_their_pauses_while_nodes_are_killed(
    cluster: Cluster, site: HostileSite
) -> None:
    """The second asks for longer ones in its robots.txt, and one of its pages is answered when
    nobody waits for it any more."""
    stuck, links = Event(), [f"/{number}" for number in range(NUMBER)]

    def hang(_connection: object, _request: object) -> bytes:
        stuck.set()
        paced.stopping.wait(1.0)
        return page(text="late")

    with HostileSite((NEXT,)) as paced:
        for host in (HOME, NEXT):
            paced.put("/", page(*links), host)
            paced.put_all({each: page(text=each) for each in links}, host)
        paced.put("/2", hang)
        robots = f"User-agent: *\nDisallow: /3\nCrawl-delay: {SLOWLY_S}\n"
        paced.put("/robots.txt", answer(200, robots.encode()), NEXT)
        text = OWN + settings().replace("delay_s = 0.0", f"delay_s = {DELAY_S}")
        cluster.rewrite(text)
        for node in NODES:
            cluster.start_node(node)
        flags = [word for host in (HOME, NEXT) for word in ("--seed", paced.at("/", host))]
        coordinator = cluster.start(*flags, "-q")
        assert stuck.wait(60), cluster.log("coordinator")
        for node, other in zip(NODES, OTHERS, strict=True):
            cluster.kill(node)
            cluster.start_node(other)
        assert coordinator.wait(90) == 0, cluster.log("coordinator")
        for host, delay_s in ((HOME, DELAY_S), (NEXT, SLOWLY_S)):
            beats, asked = paced.beats(host), paced.targets(host)
            assert min(beats) >= delay_s - SLACK_S, (host, beats)
            assert {"/", *links} - {"/3"} <= asked.keys()
        assert "/3" not in paced.targets(NEXT)
        state = "SELECT state FROM pages WHERE url = ?"
        assert rows(cluster.home, state, f"{paced.lane(NEXT)}/3") == [(FAILED,)]


LIMIT = 4


def test_a_limit_of_the_user_is_one_for_all_nodes(cluster: Cluster) -> None:
    links = [f"/{number}" for number in range(4 * LIMIT)]
    with HostileSite() as limited:
        limited.put_all({"/": page(*links)} | {each: page(text=each) for each in links})
        cluster.rewrite(OWN + settings(f'[http.limits]\n"{limited.lane()}" = ["{LIMIT}/second"]\n'))
        for node in NODES:
            cluster.start_node(node)
        assert cluster.run("--seed", limited.at("/"), "-q") == 0, cluster.log("coordinator")
        assert {"/", *links} <= limited.targets().keys()
        assert most_in_a_second([each.begun for each in limited.asked]) <= LIMIT * 1.1 + 1


# --- what stays here ---------------------------------------------------------------------------


def test_headers_and_cookies_of_the_user_stay_on_one_machine(
    cluster: Cluster, site: HostileSite
) -> None:
    secret = cluster.home / "headers"
    secret.write_text("Authorization: of the user alone\n")
    secret.chmod(0o600)
    cluster.rewrite(OWN + settings(f"headers_file = '{secret}'"))
    assert cluster.run(*seeds(site)) == 2
    said = cluster.log("coordinator")
    assert "pages.headers_file is a secret of this computer" in said
    assert "start it without --cluster" in said and "of the user alone" not in said
    cluster.rewrite(OWN)
    assert cluster.run("--sample") == 2
    assert "the built-in site is on this computer alone" in cluster.log("coordinator")


EXTRACT = """
def heading(page, document):
    return {"heading": document.title, "bytes": len(page["body"])}
"""


def test_what_cannot_travel_is_downloaded_here(cluster: Cluster) -> None:
    """What is larger than a message, and what a user's own code reads of a page that nobody may
    keep; whatever has changed is found by the others."""
    large, number = Random(3).randbytes(7_000_000), "SELECT count(*) FROM captures"
    found = "SELECT bytes, extra FROM pages WHERE url = ?"
    with HostileSite() as odd:
        odd.put("/", page("/large", "/secret", "/plain"))
        odd.put("/large", answer(200, large, "application/octet-stream"))
        secret = markup("/", title="Of its own").encode()
        odd.put("/secret", answer(200, secret, "text/html", X_Robots_Tag="noarchive"))
        odd.put("/plain", conditional(page(text="as ever"), '"v1"'))
        (cluster.home / "own.py").write_text(EXTRACT)
        cluster.rewrite(OWN + settings("extract = 'own:heading'"))
        for node in NODES:
            cluster.start_node(node)
        assert cluster.run("--seed", odd.at("/"), "-q") == 0, cluster.log("coordinator")
        assert rows(cluster.home, found, f"{odd.lane()}/large") == [(len(large), None)]
        told = rows(cluster.home, found, f"{odd.lane()}/secret")[0][1]
        assert json.loads(told) == {"heading": "Of its own", "bytes": len(secret)}
        twice = {target for target, times in odd.targets().items() if times > 1}
        assert twice == {"/large", "/secret"}, "by a node, and then here"
        before = rows(cluster.home, number)
        odd.asked.clear()
        assert cluster.run("--refetch-after", "0s", "-q") == 0, cluster.log("coordinator")
        asked = [each.request for each in odd.asked if each.target == "/plain"]
        assert [each.headers["if-none-match"] for each in asked] == ['"v1"']
        assert rows(cluster.home, number) > before
        checked = run("main.py", "pages", "check", cwd=cluster.home)
        assert checked.returncode == 0, checked.stdout + checked.stderr


def conditional(whole: bytes, tag: str) -> Answer:
    head, body = whole.split(b"\r\n", 1)

    def send(_connection: object, request: Request) -> bytes:
        if request.headers.get("if-none-match") == tag:
            return answer(304, ETag=tag)
        return head + f"\r\nETag: {tag}\r\n".encode() + body

    return send

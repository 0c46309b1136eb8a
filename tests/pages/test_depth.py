"""How deep a page is, is a fact about its site, whoever was quicker and whoever was killed."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Event

import pytest

from tests.support.crawl import command, crawl, depths, environment, pages, rows
from tests.support.random_site import RandomSite
from tests.support.worlds.hostile_site import HostileSite, page

SLOWEST_S = 0.03


@pytest.fixture
def server() -> Iterator[HostileSite]:
    with HostileSite() as server:
        yield server


def asked_once(server: HostileSite) -> bool:
    """A page that sends us to itself is asked again by every crawl, but there is only one."""
    return set(server.targets().values()) == {1}


@pytest.mark.parametrize("workers", [1, 25])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_all_at_that_distance_and_no_others(
    server: HostileSite, tmp_path: Path, workers: int, number: int
) -> None:
    site = RandomSite(number)
    site.put(server, SLOWEST_S if workers > 1 else 0.0)
    for depth in range(5):
        folder = tmp_path / str(depth)
        server.asked.clear()
        flags = ("--seed", server.at("/"), "--download-workers", workers)
        assert crawl(folder, *flags, depth=depth) == 0
        assert depths(folder, server.lane()) == site.depths(depth), depth
        assert asked_once(server)


@pytest.mark.parametrize("number", [4, 5])
def test_a_larger_depth_later_downloads_nothing_again(
    server: HostileSite, tmp_path: Path, number: int
) -> None:
    site = RandomSite(number)
    site.put(server, SLOWEST_S)
    for depth in (0, 1, 3, 4):
        assert crawl(tmp_path, "--seed", server.at("/"), depth=depth) == 0
        assert depths(tmp_path, server.lane()) == site.depths(depth), depth
        assert asked_once(server)


def test_another_scope_later_downloads_nothing_again(tmp_path: Path) -> None:
    other = "127.0.0.2"
    with HostileSite((other,)) as server:
        server.put_all({"/in/": page("/in/a", "/out", server.at("/", other)), "/in/a": page()})
        server.put("/out", page("/in/b"))
        server.put("/in/b", page())
        seed = ("--seed", server.at("/in/"))
        assert crawl(tmp_path, *seed, scope="prefix") == 0
        assert set(depths(tmp_path, server.lane())) == {"/in/", "/in/a"}
        assert crawl(tmp_path, *seed, scope="host") == 0
        assert depths(tmp_path, server.lane()) == {"/in/": 0, "/in/a": 1, "/out": 1, "/in/b": 2}
        assert asked_once(server) and not server.targets(other)
        assert crawl(tmp_path, *seed, "--seed", server.at("/", other)) == 0
        assert asked_once(server) and server.targets(other) == {"/robots.txt": 1, "/": 1}


def test_a_shorter_path_found_later_opens_what_was_cut_off(
    server: HostileSite, tmp_path: Path
) -> None:
    """/deep is found first as the third, and only later, by a slow page, as the second."""

    def late(_: object, __: object) -> bytes:
        server.wait_for(lambda: bool(server.targets()["/deep"]))
        Event().wait(0.5)  # /deep is read meanwhile
        return page("/deep")

    server.put_all({"/": page("/a", "/slow"), "/a": page("/b"), "/b": page("/deep")})
    server.put("/slow", late)
    server.put_all({"/deep": page("/below"), "/below": page("/too-deep")})
    assert crawl(tmp_path, "--seed", server.at("/"), depth=3) == 0
    found = depths(tmp_path, server.lane())
    assert found == {"/": 0, "/a": 1, "/slow": 1, "/b": 2, "/deep": 2, "/below": 3}
    assert asked_once(server)
    order = [each.target for each in sorted(server.asked, key=lambda each: each.begun)]
    assert order[-2:] == ["/deep", "/below"]
    (paths,) = rows(tmp_path, "SELECT paths FROM pages WHERE url LIKE '%/below'")[0]
    assert paths.startswith('[["{0}/","{0}/slow","{0}/deep"]'.format(server.lane()))


@pytest.mark.parametrize("number", [6, 7])
def test_kills_change_nothing(server: HostileSite, tmp_path: Path, number: int) -> None:
    chance, site = Random(number), RandomSite(number)
    site.put(server, SLOWEST_S)
    workers = chance.choice([1, 25])
    words = command("--seed", server.at("/"), "--depth", 3, "--download-workers", workers)
    for _ in range(4):
        process = subprocess.Popen(
            words, cwd=tmp_path, env=environment({}), stderr=subprocess.DEVNULL
        )
        wanted = len(server.asked) + chance.randrange(3, 15)
        while process.poll() is None and len(server.asked) < wanted:
            Event().wait(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
    assert crawl(tmp_path, depth=3, download_workers=workers) == 0
    assert depths(tmp_path, server.lane()) == site.depths(3)
    states = {state for state, _ in pages(tmp_path, server.lane()).values()}
    assert states <= {1, 2}

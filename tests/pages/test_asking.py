"""How a host is asked: which types, with whose headers, by which scheme, and how often."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.crawl import crawl, pages, rows
from tests.support.worlds.faults import answer
from tests.support.worlds.hostile_site import HostileSite, page

OTHER = "127.0.0.2"


@pytest.fixture
def site() -> Iterator[HostileSite]:
    with HostileSite(others=[OTHER]) as site:
        site.put("/", page("/text", "/picture", site.at("/", OTHER)))
        site.put("/text", page(text="words"))
        site.put("/picture", answer(200, b"\x89PNG", "image/png"))
        site.put("/", page(text="elsewhere"), OTHER)
        yield site


def test_other_types_than_those_wanted_fail(site: HostileSite, tmp_path: Path) -> None:
    assert crawl(tmp_path, "--seed", site.at("/"), types="text/html") == 0
    found = pages(tmp_path, site.lane())
    assert found["/picture"] == (2, "its type is not wanted: image/png")
    assert found["/text"] == (1, None)


def test_a_seed_without_a_scheme_is_asked_plainly_if_it_must(
    site: HostileSite, tmp_path: Path
) -> None:
    assert crawl(tmp_path, "--seed", site.lane(), "--depth", 0) == 0
    assert rows(tmp_path, "SELECT address, state FROM pages") == [(site.at("/"), 1)]


def test_a_seed_with_https_is_never_asked_plainly(site: HostileSite, tmp_path: Path) -> None:
    assert crawl(tmp_path, "--seed", f"https://{site.lane()}/", "--no-robots") == 7
    assert site.asked == [] or all(each.target != "/" for each in site.asked)


def test_own_headers_go_to_the_seeds_hosts_only(site: HostileSite, tmp_path: Path) -> None:
    headers, cookies = tmp_path / "headers.txt", tmp_path / "cookies.txt"
    headers.write_text("X-Who: me\n")
    line = "127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\t7\n"
    cookies.write_text(f"# Netscape HTTP Cookie File\n{line}")
    for file in (headers, cookies):
        file.chmod(0o600)
    flags = ("--seed", site.at("/"), "--seed", site.at("/text"), "--include", OTHER, "--depth", 1)
    assert crawl(tmp_path, *flags, headers_file=headers, cookies=cookies) == 0
    sent = {(each.host, each.target): each.request.headers for each in site.asked}
    names = {key: {name.lower() for name in found} for key, found in sent.items()}
    assert {"x-who", "cookie"} <= names["127.0.0.1", "/text"]
    assert not {"x-who", "cookie"} & set().union(*(n for (h, _), n in names.items() if h == OTHER))


def test_a_file_of_headers_that_others_can_read_is_refused(
    site: HostileSite, tmp_path: Path
) -> None:
    (tmp_path / "headers.txt").write_text("X-Who: me\n")
    (tmp_path / "headers.txt").chmod(0o644)
    assert crawl(tmp_path, "--seed", site.at("/"), headers_file="headers.txt") == 2
    assert not site.asked


def test_a_host_with_one_page_for_all_is_a_trap(site: HostileSite, tmp_path: Path) -> None:
    """The same text at every address, with a link that is another one from each."""
    site.put("/", page(*(f"/{number}/" for number in range(90))))
    for number in range(90):
        site.put(f"/{number}/", page("more", text="the same"))
    flags = ("--seed", site.at("/"), "--depth", 2, "--download-workers", 1)
    assert crawl(tmp_path, *flags) == 0
    further = [url for url in pages(tmp_path, site.lane()) if url.endswith("/more")]
    assert 0 < len(further) < 90


def test_a_limit_for_each_host_holds_over_a_restart(site: HostileSite, tmp_path: Path) -> None:
    site.put("/", page(*(f"/{number}" for number in range(9))))
    flags = ("--seed", site.at("/"), "--limit-per-host", 4)
    for depth in (1, 2):
        assert crawl(tmp_path, *flags, "--depth", depth) == 0
        assert len(pages(tmp_path, site.lane())) == 4

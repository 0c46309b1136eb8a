"""What a host asks for it gets, as the host itself has counted it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from socket import socket
from statistics import fmean
from time import monotonic

import pytest

from tests.support.crawl import crawl, pages, rows
from tests.support.worlds.faults import answer, reset
from tests.support.worlds.hostile_site import (
    HOME,
    Answer,
    HostileSite,
    in_turn,
    page,
    redirect,
    slowly,
)
from tools.errors import NothingHarvested

NEXT, THIRD, UNNAMED = (f"127.0.0.{number}" for number in (2, 3, 9))
CLOCKS = 0.02  # how much two of them may differ, in seconds
FETCHED = (1, None)
KIB = 1024
NOTHING = NothingHarvested.exit_code


@pytest.fixture
def site() -> Iterator[HostileSite]:
    with HostileSite((NEXT, THIRD, UNNAMED)) as site:
        yield site


def put_star(site: HostileSite, host: str, number: int, answer: Answer | None = None) -> None:
    """A page that leads to so many."""
    targets = [f"/{each}" for each in range(number)]
    site.put("/", page(*targets), host)
    site.put_all(dict.fromkeys(targets, answer or page()), host)


def seeds(site: HostileSite, *hosts: str) -> list[str]:
    return [word for host in hosts for word in ("--seed", site.at("/", host))]


def reset_it(connection: socket, _: object) -> None:
    reset(connection)


def the_log(folder: Path) -> str:
    return (folder / "state-pages" / "log").read_text()


def robots(text: str) -> bytes:
    return answer(200, text.encode())


def test_every_host_has_its_pauses(site: HostileSite, tmp_path: Path) -> None:
    for host in (HOME, NEXT, THIRD):
        put_star(site, host, 6)
    site.put("/robots.txt", robots("User-agent: *\nCrawl-delay: 0.4"), NEXT)
    site.put("/robots.txt", robots("User-agent: *\nCrawl-delay: 1000"), THIRD)
    hosts = (HOME, NEXT, THIRD)
    settings = {"delay_s": 0.2, "crawl_delay_cap_s": 0.5, "per_host": 1}
    crawl(tmp_path, *seeds(site, *hosts), depth=1, **settings)
    for host, delay in zip(hosts, (0.2, 0.4, 0.5), strict=True):
        assert fmean(site.beats(host)) > 0.8 * delay  # the first may be read later than it was sent
        assert site.most_at_once(host) == 1 and site.targets(host).total() == 8
    spans = [[each.begun for each in site.asked if each.host == host] for host in hosts]
    assert max(map(min, spans)) < min(map(max, spans))  # all three at the same time


def test_a_delay_counts_from_the_beginning_of_a_request(site: HostileSite, tmp_path: Path) -> None:
    """So a host that takes its time is still asked as often as it may be."""
    put_star(site, HOME, 6, slowly(page(), 0.3))
    crawl(tmp_path, *seeds(site, HOME), depth=1, delay_s=0.5, delay_factor=0, per_host=1)
    beats = site.beats(HOME)[2:]
    assert fmean(beats) > 0.45 and min(beats) < 0.7


def test_a_host_has_no_more_requests_at_once_than_places(site: HostileSite, tmp_path: Path) -> None:
    for host in (HOME, NEXT):
        put_star(site, host, 12, slowly(page(), 0.1))
    crawl(tmp_path, *seeds(site, HOME, NEXT), depth=1, per_host=3, download_workers=12)
    for host in (HOME, NEXT):
        assert site.most_at_once(host) == 3 and site.targets(host).total() == 14


def test_a_slow_host_is_asked_more_slowly(site: HostileSite, tmp_path: Path) -> None:
    put_star(site, HOME, 3, slowly(page(), 0.2))
    crawl(tmp_path, *seeds(site, HOME), depth=1, per_host=1, delay_factor=2)
    assert min(site.gaps(HOME)[2:]) > 0.4 - CLOCKS


@pytest.mark.parametrize("status", [429, 503])
def test_a_pause_that_is_asked_for_costs_no_attempt(
    site: HostileSite, tmp_path: Path, status: int
) -> None:
    busy = answer(status, b"later", "text/html", Retry_After="1")
    site.put("/robots.txt", in_turn(busy, robots("")))
    put_star(site, HOME, 2)
    site.put("/1", in_turn(busy, busy, page()))
    put_star(site, NEXT, 3)
    assert crawl(tmp_path, *seeds(site, HOME, NEXT), depth=1, per_host=1) == 0
    found = pages(tmp_path, site.lane())
    assert found == dict.fromkeys(["/", "/0", "/1"], FETCHED)
    asked = [each for each in site.asked if each.host == HOME]
    after = {id(each): following for each, following in pairwise(asked)}
    refused = [each for each in asked if each.target == "/1"][:2] + asked[:1]
    assert all(after[id(each)].begun - each.ended > 1 - CLOCKS for each in refused)
    ended = max(each.ended for each in site.asked if each.host == NEXT)
    assert ended < max(each.ended for each in asked)  # the other did not wait


@pytest.mark.parametrize(
    "trouble",
    [answer(500, b""), b"no HTTP\r\n\r\n", reset_it],
    ids=["HTTP 500", "no HTTP", "reset"],
)
def test_a_host_rests_until_its_robots_txt_can_be_had(
    site: HostileSite, tmp_path: Path, trouble: Answer
) -> None:
    put_star(site, HOME, 2)
    site.put("/robots.txt", trouble)
    put_star(site, NEXT, 2)
    assert crawl(tmp_path, *seeds(site, HOME, NEXT), depth=1, attempts=1, seconds=1.5) == 0
    assert site.targets(HOME) == {"/robots.txt": 1}
    assert pages(tmp_path, site.lane()) == {"/": (0, None)}
    assert pages(tmp_path, site.lane(NEXT)) == dict.fromkeys(["/", "/0", "/1"], FETCHED)
    site.put("/robots.txt", robots(""))
    assert crawl(tmp_path, depth=1) == 0
    assert pages(tmp_path, site.lane()) == dict.fromkeys(["/", "/0", "/1"], FETCHED)


def test_robots_txt_is_asked_for_once_however_many_may_ask(
    site: HostileSite, tmp_path: Path
) -> None:
    """All seeds of a host are ready at the same moment."""
    site.put("/robots.txt", slowly(robots("User-agent: *\nDisallow: /3"), 0.2))
    targets = [f"/{each}" for each in range(8)]
    site.put_all(dict.fromkeys(targets, slowly(page(), 0.2)))
    flags = [word for target in targets for word in ("--seed", site.at(target))]
    assert crawl(tmp_path, *flags, depth=0, per_host=8, download_workers=8) == 0
    assert site.targets() == {"/robots.txt": 1, **dict.fromkeys(set(targets) - {"/3"}, 1)}
    assert site.most_at_once() > 1  # as soon as it is known what they may


def test_a_crawl_that_gets_no_robots_txt_says_so_and_gives_up_soon(
    site: HostileSite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for host in (HOME, NEXT):
        site.put("/robots.txt", answer(500, b""), host)
    begun = monotonic()
    assert crawl(tmp_path, *seeds(site, HOME, NEXT), start_patience_s=0.5) == NOTHING
    assert monotonic() - begun < 20
    remark = "the host is away: robots.txt could not be had: HTTP 500"
    for host in (HOME, NEXT):
        assert pages(tmp_path, site.lane(host)) == {"/": (2, remark)}
        assert site.targets(host) == {"/robots.txt": 1}
    said, log = capsys.readouterr().err, the_log(tmp_path)
    assert f"no page was fetched ({remark})" in said and "main.py retry --job pages" in said
    assert "waiting for 2 hosts, next: 127.0.0." in log and "HTTP 500" in log
    assert "stays silent for 0 s fail. Ctrl-C stops" in log and "--no-robots does" in log


def test_a_silent_host_is_given_up_when_patience_ends(site: HostileSite, tmp_path: Path) -> None:
    """There are pages of another one, so that only the patience with hosts counts."""
    put_star(site, NEXT, 2)
    site.put("/robots.txt", answer(500, b""))
    patience = {"host_patience_h": 2 / 3600, "start_patience_s": 0}
    begun = monotonic()
    assert crawl(tmp_path, *seeds(site, HOME, NEXT), depth=1, **patience) == 0
    assert 2 < monotonic() - begun < 20
    assert pages(tmp_path, site.lane(NEXT)) == dict.fromkeys(["/", "/0", "/1"], FETCHED)
    remark = "the host is away: robots.txt could not be had: HTTP 500"
    assert pages(tmp_path, site.lane()) == {"/": (2, remark)}
    assert f"{site.lane()}: 1 page given up ({remark})" in the_log(tmp_path)


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_robots_txt_that_is_refused_forbids_nothing(
    site: HostileSite, tmp_path: Path, status: int
) -> None:
    put_star(site, HOME, 1)
    site.put("/robots.txt", answer(status, b"User-agent: *\nDisallow: /"))
    crawl(tmp_path, *seeds(site, HOME), depth=1)
    assert site.targets(HOME) == {"/robots.txt": 1, "/": 1, "/0": 1}


def test_a_robots_txt_of_ten_megabytes(site: HostileSite, tmp_path: Path) -> None:
    """The first 500 KiB count."""
    early, late = "User-agent: *\nDisallow: /0\n", "Disallow: /1\n"
    filler = "# nothing\n" * (500 * KIB // 10) + late + "# nothing\n" * 950_000
    site.put("/robots.txt", robots(early + filler))
    put_star(site, HOME, 2)
    crawl(tmp_path, *seeds(site, HOME), depth=1)
    assert pages(tmp_path, site.lane()) == {
        "/": FETCHED,
        "/0": (2, "robots.txt: /0"),
        "/1": FETCHED,
    }
    assert not site.targets(HOME)["/0"]


def test_a_robots_txt_without_an_end_is_none_that_can_be_obeyed(
    site: HostileSite, tmp_path: Path
) -> None:
    site.put("/robots.txt", robots("# nothing\n" * 1_100_000))
    put_star(site, HOME, 2)
    crawl(tmp_path, *seeds(site, HOME), depth=1)
    ((state, remark),) = pages(tmp_path, site.lane()).values()
    assert state == 2 and remark and remark.startswith("robots.txt could not be had: ")
    assert site.targets(HOME) == {"/robots.txt": 1}


def test_a_robots_txt_that_is_sent_round_in_circles_is_asked_a_few_times(
    site: HostileSite, tmp_path: Path
) -> None:
    site.put("/robots.txt", redirect("/robots.txt"))
    put_star(site, HOME, 1)
    site.put("/robots.txt", redirect("/r"), NEXT)
    site.put("/r", redirect("/robots.txt"), NEXT)
    crawl(tmp_path, *seeds(site, HOME, NEXT), depth=1)
    assert site.targets(HOME) == {"/robots.txt": 1, "/": 1, "/0": 1}
    assert site.targets(NEXT)["/robots.txt"] + site.targets(NEXT)["/r"] <= 6


def test_private_addresses_are_not_asked(site: HostileSite, tmp_path: Path) -> None:
    """Unless the user has named them: neither for a link nor for a redirect."""
    away = [site.at("/", UNNAMED), "http://10.0.0.1/", "http://169.254.169.254/latest/meta-data/"]
    away += ["http://0x7f.9/", "http://[::1]/", f"http://localhost:{site.port}/"]
    site.put("/", page(*away, "/sent", "/far"))
    site.put("/sent", redirect(site.at("/secret", UNNAMED)))
    site.put("/far", redirect("http://[fd00::1]/"))
    assert crawl(tmp_path, *seeds(site, HOME), depth=2, scope="any") == 0
    others = rows(
        tmp_path, "SELECT url, state, remark FROM pages WHERE url NOT LIKE ?", f"{site.lane()}%"
    )
    assert len(others) == len(away) + 2
    for url, state, remark in others:
        assert state == 2, url
        assert "private address" in remark or "only 80 and 443" in remark, (url, remark)
    assert not site.targets(UNNAMED) and "localhost" in str(others)


def test_a_host_that_dies_and_comes_back(site: HostileSite, tmp_path: Path) -> None:
    put_star(site, NEXT, 8, slowly(page(), 0.05))
    put_star(site, HOME, 3)

    def last_words(*_: object) -> bytes:
        site.die(NEXT)
        return page()

    site.put("/4", last_words, NEXT)
    both = seeds(site, HOME, NEXT)
    settings = {"depth": 1, "attempts": 3, "per_host": 1}
    assert crawl(tmp_path, *both, **settings, seconds=1.5) == 0
    before = pages(tmp_path, site.lane(NEXT))
    assert set(before.values()) == {FETCHED, (0, None)}
    assert set(pages(tmp_path, site.lane()).values()) == {FETCHED}
    site.put("/4", page(), NEXT)
    site.revive(NEXT)
    assert crawl(tmp_path, **settings) == 0
    assert pages(tmp_path, site.lane(NEXT)) == dict.fromkeys(before, FETCHED)
    assert set(site.targets(NEXT).values()) <= {1, 2}

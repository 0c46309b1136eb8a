"""Any bytes can be a robots.txt; what they ask of us is heard, what they ask of others is not."""

from __future__ import annotations

import random
import tarfile
import time
from pathlib import Path

import pytest

from tools.network.robots import MOST_OF_A_FILE, Rules, rules_in

pytestmark = pytest.mark.timeout(60)

REAL = Path(__file__).parents[3] / "shared" / "real" / "pages" / "robots-600.tar.gz"
SITE = "https://h.example"


def allowed(text: str | bytes, *paths: str) -> list[bool]:
    rules = Rules(text if isinstance(text, bytes) else text.encode())
    return [rules.allows(SITE + path) for path in paths]


ALL = "User-agent: *\n"


@pytest.mark.parametrize(
    "text, path, may",
    [
        ("", "/x", True),
        (ALL + "Disallow:", "/x", True),
        (ALL + "Disallow: /", "/x", False),
        (ALL + "Disallow: /", "/robots.txt", True),
        (ALL + "Disallow: /a", "/ab", False),
        (ALL + "Disallow: /a$", "/ab", True),
        (ALL + "Disallow: /a$", "/a", False),
        (ALL + "Disallow: /*.gif$", "/a/b.gif", False),
        (ALL + "Disallow: /*.gif$", "/a/b.gif?x", True),
        (ALL + "Disallow: /a\nAllow: /a/b", "/a/b/c", True),
        (ALL + "Allow: /a\nDisallow: /a", "/a", True),
        (ALL + "Disallow: /p?q=", "/p?q=1", False),
        (ALL + "Disallow: /%7Ejoe", "/~joe/x", False),
        (ALL + "Disallow: /caf\u00e9", "/caf%C3%A9", False),
        (ALL + "disallow : /a # why\n", "/a", False),
        ("Disallow: /a", "/a", True),
        ("User-agent: OtherBot\nDisallow: /", "/x", True),
        ("User-agent: Sheaf\nDisallow: /a\n\n" + ALL + "Disallow: /", "/b", True),
        (ALL + "Disallow: /\n\nUser-agent: sheaf\nDisallow: /a", "/b", True),
        ("User-agent: SHEAF/1.2\nDisallow: /a\n\n" + ALL + "Allow: /", "/a", False),
        ("User-agent: Sheaf 2 (x)\nDisallow: /a\n\n" + ALL + "Allow: /", "/a", False),
        ("User-agent: SheafBot\nDisallow: /\n", "/a", True),
        ("User-agent: she\nDisallow: /\n", "/a", True),
        ("User-agent: Other\nUser-agent: Sheaf\nDisallow: /a\n", "/a", False),
        ("User-agent: Sheaf\nUser-agent: Other\nDisallow: /a\n", "/a", False),
        ("User-agent: Sheaf\nDisallow: /a\n\nUser-agent: sheaf\nDisallow: /b", "/b", False),
        ("User-agent: Sheaf\nCrawl-delay: 1\nUser-agent: *\nDisallow: /", "/b", True),
        ("\ufeff" + ALL + "Disallow: /a", "/a", False),
        (ALL.replace("\n", "\r") + "Disallow: /a\r", "/a", False),
        (ALL + "Disallow: //[bad\nDisallow: /a", "/a", False),
    ],
)
def test_what_it_says(text: str, path: str, may: bool) -> None:
    assert allowed(text, path) == [may]


def test_delays() -> None:
    text = "User-agent: *\nCrawl-delay: 2.5\nRequest-rate: 1/10s\n\nUser-agent: x\nCrawl-delay: 99"
    rules = Rules(text.encode())
    assert (rules.crawl_delay, rules.request_rate) == (10.0, 10.0)
    assert Rules(b"User-agent: *\nCrawl-delay: 2.5").crawl_delay == 2.5
    assert Rules(b"User-agent: *\nRequest-rate: 30/1m").request_rate == 2.0
    nothing = Rules(b"")
    assert (nothing.crawl_delay, nothing.request_rate) == (None, None)


@pytest.mark.parametrize("value", ["soon", "-1", "nan", "inf", "1e999", "", "0x10"])
def test_a_delay_that_is_no_number_is_none(value: str) -> None:
    assert Rules(f"User-agent: *\nCrawl-delay: {value}".encode()).crawl_delay is None


def test_sitemaps_are_for_everybody() -> None:
    text = "Sitemap: https://h.example/a.xml\nUser-agent: x\nSitemap: /b.xml\nDisallow: /"
    assert Rules(text.encode()).sitemaps == ("https://h.example/a.xml", "/b.xml")


@pytest.mark.parametrize(
    "text, path, rule",
    [
        ("Disallow: /private/", "/private/x", "/private/"),
        ("Disallow: /private/", "/public", None),
        ("Disallow: /a\nDisallow: /a/b/c\nAllow: /a/b", "/a/b/c/d", "/a/b/c"),
        ("Disallow: /*.gif$", "/x.gif", "/*.gif$"),
        ("Disallow: /" + "x" * 500, "/" + "x" * 600, "/" + "x" * 199),
    ],
)
def test_the_rule_is_told(text: str, path: str, rule: str | None) -> None:
    assert Rules(f"{ALL}{text}".encode()).rule_for(SITE + path) == rule


def test_only_the_first_part_counts() -> None:
    filling = b"# " + b"x" * MOST_OF_A_FILE + b"\n"
    assert allowed(b"User-agent: *\nDisallow: /a\n" + filling + b"Disallow: /b", "/a", "/b") == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    "status, may", [(200, False), (206, False), (301, True), (401, True), (403, True), (404, True)]
)
def test_the_status_decides(status: int, may: bool) -> None:
    rules = rules_in(status, b"User-agent: *\nDisallow: /")
    assert rules is not None and rules.allows(f"{SITE}/x") == may


@pytest.mark.parametrize("status", [429, 500, 502, 503, 599, 999])
def test_who_cannot_say_is_not_asked_for_now(status: int) -> None:
    assert rules_in(status, b"") is None


def test_any_bytes_can_be_read() -> None:
    chance = random.Random(7)
    words = [
        b"User-agent:",
        b"Disallow:",
        b"*",
        b"/",
        b"\n",
        b"\r",
        b"\x00",
        b"http://[",
        b"%",
        b"$",
    ]
    words += [
        b"Crawl-delay: ",
        b"Request-rate: 1/",
        b"Sitemap: ",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b":",
    ]
    words += ["\u2028".encode(), b"sheaf", b"//", b"[", b"]", b"?", b"#"]
    for _ in range(1500):
        use_all(b"".join(chance.choices(words, k=chance.randrange(40))))
        use_all(chance.randbytes(chance.randrange(200)))


def use_all(content: bytes) -> Rules:
    rules = Rules(content)
    for address in (f"{SITE}/", f"{SITE}/a/b?c=%zz#d", "http://[", "", "nothing", "http://h:x/"):
        rules.allows(address)
        rules.rule_for(address)
    assert rules.crawl_delay is None or rules.crawl_delay >= 0
    assert all(isinstance(each, str) for each in rules.sitemaps)
    return rules


@pytest.mark.parametrize(
    "content",
    [
        b"User-agent: %d\n" * 16_000 % tuple(range(16_000)) + b"Disallow: /x\n" * 19_000,
        b"User-agent: *\n" + b"Disallow: /" + b"*a" * 200_000,
        b"User-agent: *\n" + b"Disallow: /*a*b*c*d*e$\n" * 20_000,
        b"\n" * 500_000,
        b"User-agent: *\n" + b"Disallow: //[\n" * 30_000,
    ],
)
def test_what_is_meant_to_hurt_does_not(content: bytes) -> None:
    begun = time.thread_time()
    use_all(content)
    assert time.thread_time() - begun < 5


@pytest.mark.skipif(not REAL.exists(), reason="the real files are not here")
def test_real_files_can_be_read() -> None:
    with tarfile.open(REAL) as archive:
        files = [file.read() for each in archive if (file := archive.extractfile(each))]
    assert len(files) >= 500
    rules = [use_all(content) for content in files]
    assert sum(bool(each.sitemaps) for each in rules) > 100
    assert any(not each.allows(f"{SITE}/") for each in rules)
    assert any(each.crawl_delay for each in rules)

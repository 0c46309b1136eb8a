"""Addresses are what a browser would make of them."""

from __future__ import annotations

import json
import random

import pytest

from tests.support.chance import any_seed
from tests.support.real import real
from tools.documents.address import (
    DropParameters,
    absolute,
    address_of,
    as_seed,
    host_of,
    identity,
    lane_of,
    registrable,
    resolve,
)

BASE = "http://h.example/a/b.html?q=1"


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("", "http://h.example/a/b.html?q=1"),
        ("#top", "http://h.example/a/b.html?q=1"),
        ("c.html", "http://h.example/a/c.html"),
        ("./c.html#x", "http://h.example/a/c.html"),
        ("../c", "http://h.example/c"),
        ("../../../c", "http://h.example/c"),
        ("?r=2", "http://h.example/a/b.html?r=2"),
        ("?", "http://h.example/a/b.html?"),
        ("//other.example/x", "http://other.example/x"),
        ("https:c", "https://c/"),
        ("http:c", "http://h.example/a/c"),
        (r"\\away.example\p", "http://away.example/p"),
        (r"\p\q", "http://h.example/p/q"),
        ("///host.example/x", "http://host.example/x"),
        ("http:///three.example/x", "http://three.example/x"),
        ("/li\nne\tbreak", "http://h.example/linebreak"),
        ("  /sp ace.html  ", "http://h.example/sp%20ace.html"),
        ("/%2e%2e/x", "http://h.example/x"),
        ("/%2E/x/..", "http://h.example/"),
        ("HTTP://H.EXAMPLE:80/A", "http://h.example/A"),
        ("https://h.example:443/", "https://h.example/"),
        ("http://h.example:443/", "http://h.example:443/"),
        ("http://h.example:0080/", "http://h.example/"),
        ("http://ex%41mple.com/", "http://example.com/"),
        ("http://fa\xdf.example/", "http://xn--fa-hia.example/"),
        ("http://\u2460.example/", "http://1.example/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://[0:0::1]/x", "http://[::1]/x"),
        ("http://me:secret@h.example/a", "http://h.example/a"),
        ("http://me@h.example:81/@a?b@c", "http://h.example:81/@a?b@c"),
        ("/x?a=[1]|2", "http://h.example/x?a=[1]|2"),
        ("/x?a='b'", "http://h.example/x?a=%27b%27"),
        ("/caf\xe9?caf\xe9", "http://h.example/caf%C3%A9?caf%C3%A9"),
        ("/ye\ufffds", "http://h.example/ye%EF%BF%BDs"),
        ("/a//b/", "http://h.example/a//b/"),
        ("/a%2Fb", "http://h.example/a%2Fb"),
        ("x y #z", "http://h.example/a/x%20y%20"),
        ("http://", None),
        ("http://?x", None),
        ("http://a b.example/", None),
        ("http://h:99999/", None),
        ("http://h:8o/", None),
        ("http://[::1/", None),
        ("http://1.2.3.256/", None),
        ("mailto:somebody@h.example", None),
        ("javascript:void(0)", None),
        (" java\nscript:alert(1)", None),
        ("data:text/html,x", None),
        ("ftp://h.example/", None),
        ("file:///etc/passwd", None),
        ("about:blank", None),
        ("x" * 10_000, None),
        ("\ud800", None),
    ],
)
def test_a_reference_becomes_the_address_a_browser_would_ask_for(
    reference: str, expected: str | None
) -> None:
    assert resolve(BASE, reference) == expected


@pytest.mark.parametrize(
    ("encoding", "reference", "expected"),
    [
        ("GBK", "?q=\u4e2d", "?q=%D6%D0"),
        ("windows-1252", "?q=\xe9#\xe9", "?q=%E9"),
        ("windows-1252", "?a=\u4e2d&b", "?a=%26%2320013%3B&b"),
        ("Shift_JIS", "?\u8868", "?%95\\"),
        ("EUC-KR", "?\ud55c", "?%C7%D1"),
        ("Big5", "?\u4e2d", "?%A4%A4"),
        ("x-mac-cyrillic", "?\u0416", "?%86"),
        ("UTF-16LE", "?\xe9", "?%C3%A9"),
        ("replacement", "?\xe9", "?%C3%A9"),
        ("nobody knows", "?\xe9", "?%C3%A9"),
    ],
)
def test_a_query_is_written_in_the_encoding_of_its_page(
    encoding: str, reference: str, expected: str
) -> None:
    assert resolve("http://h.example/p", reference, encoding) == f"http://h.example/p{expected}"


def test_the_path_is_utf_8_whatever_the_page_is_written_in() -> None:
    assert (
        resolve("http://h.example/", "\xe9?\xe9", "windows-1252") == "http://h.example/%C3%A9?%E9"
    )


def test_a_base_that_is_none_gives_nothing() -> None:
    assert [resolve(base, "x") for base in ("", "nothing", "x" * 9000)] == [None] * 3


ONE_PAGE = [
    ("http://h:80/a", "http://h/a"),
    ("https://h:443/a", "http://h/a"),
    ("http://H./a", "http://h/a"),
    ("http://h.:81/a", "http://h:81/a"),
    ("http://u:p@h/a", "http://h/a"),
    ("https://h/a", "http://h/a"),
    ("http://h/a#b", "http://h/a"),
    ("http://h", "http://h/"),
    ("http://h/a;jsessionid=1", "http://h/a"),
    ("http://h/a;JSESSIONID=1.x/b", "http://h/a/b"),
    ("http://h/a;v=1;jsessionid=1?b", "http://h/a;v=1?b"),
    ("http://h/a?PHPSESSID=0f&b=1", "http://h/a?b=1"),
    ("http://h/?utm_x&b=1", "http://h/?b=1"),
    ("http://h/a?UTM_Source=x", "http://h/a"),
    ("http://h/a?b=1&gclid=x&fbclid=y", "http://h/a?b=1"),
    ("http://h/./a/../a", "http://h/a"),
    ("http://0x7f.1/", "http://127.0.0.1/"),
]
TWO_PAGES = [
    ("http://h/?a=1&a=2", "http://h/?a=2&a=1"),
    ("http://h/?a=1&b=2", "http://h/?b=2&a=1"),
    ("http://h/?x", "http://h/?x="),
    ("http://h/a?", "http://h/a"),
    ("http://h/a//b", "http://h/a/b"),
    ("http://h/a%2Fb", "http://h/a/b"),
    ("http://h/a/", "http://h/a"),
    ("http://h/A", "http://h/a"),
    ("http://h/%41", "http://h/A"),
    ("http://h:81/", "http://h/"),
    ("http://h:443/", "https://h/"),
    ("http://www.h/", "http://h/"),
    ("http://h/a;v=1", "http://h/a"),
    ("http://h/?b=utm_x", "http://h/?b="),
    ("http://h/?xutm_a=1", "http://h/"),
    ("http://h/?gclids=1", "http://h/"),
]


@pytest.mark.parametrize(("left", "right"), ONE_PAGE)
def test_one_page(left: str, right: str) -> None:
    assert identity(left) == identity(right)


@pytest.mark.parametrize(("left", "right"), TWO_PAGES)
def test_two_pages(left: str, right: str) -> None:
    assert identity(left) != identity(right)


def test_an_identity_has_no_scheme_and_leads_back() -> None:
    name = identity("https://docs.python.org/3/os.html#os.open")
    assert name == "docs.python.org/3/os.html"
    assert address_of(name, "https") == "https://docs.python.org/3/os.html"


@pytest.mark.parametrize(("address", "_"), ONE_PAGE + TWO_PAGES)
def test_the_identity_of_an_identity_is_itself(address: str, _: str) -> None:
    name = identity(address)
    assert identity(address_of(name, address.partition(":")[0])) == name


def test_what_is_dropped_can_be_chosen() -> None:
    drop = DropParameters.named("from", "x.y*")
    assert identity("http://h/?From=1&utm_a=2&x.yz=3&xay=4", drop) == "h/?utm_a=2&xay=4"
    assert identity("http://h/?utm_a=2&&", DropParameters.named()) == "h/?utm_a=2&&"


def test_what_is_no_address_has_no_identity() -> None:
    with pytest.raises(ValueError, match="no web address"):
        identity("mailto:somebody@h.example")


@pytest.mark.parametrize(
    ("name", "lane", "host", "domain"),
    [
        ("www.h.co.uk/a:1", "www.h.co.uk", "www.h.co.uk", "h.co.uk"),
        ("h.example:8080/", "h.example:8080", "h.example", "h.example"),
        ("127.0.0.1:80/", "127.0.0.1:80", "127.0.0.1", "127.0.0.1"),
        ("[2001:db8::1]:81/x", "[2001:db8::1]:81", "[2001:db8::1]", "[2001:db8::1]"),
        ("[::1]/", "[::1]", "[::1]", "[::1]"),
        ("localhost/", "localhost", "localhost", "localhost"),
        ("co.uk/", "co.uk", "co.uk", "co.uk"),
        ("a.xn--fa-hia.de/", "a.xn--fa-hia.de", "a.xn--fa-hia.de", "xn--fa-hia.de"),
        ("me.github.io/", "me.github.io", "me.github.io", "me.github.io"),
    ],
)
def test_the_parts_of_a_name(name: str, lane: str, host: str, domain: str) -> None:
    assert (lane_of(name), host_of(name)) == (lane, host)
    assert registrable(host) == domain


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("example.org", "https://example.org/"),
        (" https://example.org/a b#c \r\n", "https://example.org/a%20b"),
        ("http://example.org", "http://example.org/"),
        ("HTTP://Example.org", "http://example.org/"),
        ("//example.org/x", "https://example.org/x"),
        ("localhost:8080/x", "https://localhost:8080/x"),
        ("[::1]:8080", "https://[::1]:8080/"),
        ("b\xfccher.example", "https://xn--bcher-kva.example/"),
        ("example.org/a@b", "https://example.org/a@b"),
        ("", None),
        ("two words", None),
        ("somebody@example.org", None),
        ("mailto:somebody@example.org", None),
        ("javascript:alert(1)", None),
        ("ftp://example.org", None),
        ("https://", None),
        ("\x00", None),
    ],
)
def test_a_seed_may_lack_its_scheme(text: str, expected: str | None) -> None:
    assert as_seed(text) == expected


def test_a_host_that_only_looks_like_a_number_does_not_become_one() -> None:
    assert identity("http://80../") == "80../" and identity("http://80./") == "0.0.0.80/"


def test_nothing_raises_and_what_comes_out_stays_as_it_is() -> None:
    seed = any_seed()
    print("seed", seed)
    chance = random.Random(seed)
    parts = ["http", "https", ":", "//", "/", "\\", "?", "#", "@", "..", ".", "%", "%2e", "[", "]"]
    parts += ["h.example", "\xe9", "\u4e2d", " ", "\t", "\0", "x", "1", ":80", "&", "utm_a=1", ";"]
    for _ in range(3000):
        found = resolve(BASE, "".join(chance.choices(parts, k=chance.randrange(1, 9))))
        if found is not None:
            assert absolute(found) == found
            assert found.isascii()
            assert "#" not in found
            name = identity(found)
            assert identity(address_of(name, found.partition(":")[0])) == name


def test_every_one_of_the_standards_own_cases() -> None:
    cases = json.loads(real("pages/urltestdata.json").read_text(encoding="utf-8"))
    tried = [_tried(case) for case in cases if isinstance(case, dict)]
    assert len(tried) > 800
    assert [case for case, found, expected in tried if found != expected] == []


def _tried(case: dict[str, str]) -> tuple[dict[str, str], str | None, str | None]:
    base, text = case["base"], case["input"]
    found = absolute(text) if base is None else resolve(base, text)
    if case.get("protocol") not in ("http:", "https:"):
        return case, found, None
    expected = f"{case['protocol']}//{case['host']}{case['pathname']}{case['search']}"
    if not case["search"] and "?" in case["href"].partition("#")[0]:
        expected += "?"
    return case, found, expected

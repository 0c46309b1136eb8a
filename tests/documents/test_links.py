"""Links of headers, and of refreshes."""

from __future__ import annotations

import random
import time

import pytest

from tests.support.chance import any_seed
from tools.documents.address import resolve
from tools.documents.links import Link, Links, header_links, refresh_of

PAGE = "http://h.example/a/b"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("0; url=x", "x"),
        ("5;URL = 'x y' z", "x y"),
        ('0.5 , "x"', "x"),
        ("0 x", "x"),
        (".5;x", "x"),
        ("0;url", "url"),
        ("0;urlx", "urlx"),
        ("0;url=", None),
        ("0;url='unclosed", "unclosed"),
        ("0", None),
        ("0;", None),
        ("", None),
        ("x", None),
        ("0x", None),
        ("-1;url=x", None),
        ("url=x", None),
    ],
)
def test_where_a_refresh_leads(content: str, expected: str | None) -> None:
    assert refresh_of(content) == expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("Link", '<c>; rel="next"', [("next", "http://h.example/a/c")]),
        (
            "LINK",
            '</c>; rel=prev; title="a, b", <http://x.example>;rel="canonical alternate"',
            [
                ("prev", "http://h.example/c"),
                ("canonical", "http://x.example/"),
                ("alternate", "http://x.example/"),
            ],
        ),
        ("Link", "<s.css>; rel=stylesheet, <p>; rel=preload", []),
        ("Link", "<c>", []),
        ("Link", "", []),
        ("Link", ";;;,,,<<<>>>===", []),
        ("Link", "<javascript:x>; rel=next", []),
        ("Refresh", "3; url=/d", [("refresh", "http://h.example/d")]),
        ("Refresh", "3", []),
        ("Location", "/d", []),
    ],
)
def test_links_of_headers(name: str, value: str, expected: list[tuple[str, str]]) -> None:
    assert [(link.kind, link.address) for link in header_links([(name, value)], PAGE)] == expected


def test_a_link_is_kept_once_for_each_kind_where_it_stood_first() -> None:
    links = Links(PAGE)
    for kind, reference in [("a", "x#1"), ("a", "y"), ("area", "x"), ("a", "./x#2")]:
        links.add(kind, reference)
    x, y = "http://h.example/a/x", "http://h.example/a/y"
    assert list(links) == [Link("a", x), Link("a", y), Link("area", x)]


def test_a_link_is_followed_if_one_of_its_places_allows_it() -> None:
    links = Links(PAGE)
    for reference, rel in [("x", "UGC  NoFollow"), ("y", "nofollow"), ("x", None), ("z", "me")]:
        links.add("a", reference, rel)
    links.add("a", "z", "nofollow")
    assert [(link.rel, link.nofollow) for link in links] == [
        ("", False),
        ("nofollow", True),
        ("me", False),
    ]


@pytest.mark.parametrize("base", [PAGE, "http://h.example/", "http://h.example/a/?b=/c/d"])
def test_what_is_remembered_of_a_folder_is_what_the_page_itself_would_give(base: str) -> None:
    seed = any_seed()
    print("seed", seed)
    chance = random.Random(seed)
    parts = [
        "a",
        "b",
        "/",
        ".",
        "..",
        "\\",
        "?",
        "#",
        ":",
        "http:",
        "//",
        "\n",
        " ",
        "\xe9",
        "%2e",
        "@",
    ]
    for _ in range(2000):
        reference = "".join(chance.choices(parts, k=chance.randrange(1, 6)))
        links = Links(base, "windows-1252")
        links.add("a", reference)
        wanted = resolve(base, reference, "windows-1252")
        assert [link.address for link in links] == ([wanted] if wanted else []), repr(reference)


def test_fragments_of_one_page_are_resolved_once() -> None:
    links = Links(PAGE)
    for number in range(60_000):
        links.add("a", f"#{number}")
    assert (list(links), links.left_out) == ([Link("a", PAGE)], 0)


@pytest.mark.timeout(20)
def test_a_header_that_hurts_costs_little() -> None:
    start = time.process_time()
    for value in ("<" * 10**6, "<a>;" * 10**6, '<a>;rel="' + " " * 10**6, "0" + " " * 10**6 + "x"):
        header_links([("Link", value), ("Refresh", value)], PAGE)
    assert time.process_time() - start < 2

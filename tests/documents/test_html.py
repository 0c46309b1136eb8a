"""A page is read as a browser without scripts reads it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.command import ROOT
from tests.support.real import real
from tools.documents.html import Document, is_html, read
from tools.documents.links import Link

PAGE = "http://h.example/a/b.html"


def page(markup: str | bytes, content_type: str | None = "text/html") -> Document:
    return read(markup.encode() if isinstance(markup, str) else markup, content_type, PAGE)


def found(markup: str) -> list[tuple[str, str]]:
    """Kind and address of its links, without what all addresses here begin with."""
    links = page(markup).links
    return [(link.kind, link.address.removeprefix("http://h.example/")) for link in links]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<a href=x>x</a>", [("a", "a/x")]),
        ("<A HREF='../x'>", [("a", "x")]),
        ("<a>x</a><a name=x></a>", []),
        ("<map><area href=x></map>", [("area", "a/x")]),
        ("<iframe src=x></iframe><iframe src=about:blank></iframe>", [("iframe", "a/x")]),
        ("<frameset><frame src=x><frame src=y></frameset>", [("frame", "a/x"), ("frame", "a/y")]),
        ("<meta http-equiv=Refresh content='0;url=x'>", [("refresh", "a/x")]),
        ("<meta http-equiv=refresh content=5>", []),
        ("<link rel=Next href=x><link rel=previous href=y>", [("next", "a/x"), ("prev", "a/y")]),
        ("<link rel=canonical href=/>", [("canonical", "")]),
        ("<link rel='alternate' href=x>", [("alternate", "a/x")]),
        ("<link rel='alternate stylesheet' href=x><link rel=icon href=y>", []),
        ("<link rel=next><link rel=next href=''>", []),
        ("<a href=x#1>1</a><a href=y>y</a><a href=x#2>2</a>", [("a", "a/x"), ("a", "a/y")]),
        ("<a href=#top>up</a>", [("a", "a/b.html")]),
        ("<a href='x #y'>1</a><a href='x '>2</a>", [("a", "a/x%20"), ("a", "a/x")]),
        ("<a href='mailto:a@b.example'><a href='javascript:x()'><a href='tel:1'>", []),
        ("<base href=/c/><a href=x>", [("a", "c/x")]),
        ("<a href=x><base href=/c/>", [("a", "c/x")]),
        ("<base target=_top><base href=/c/><base href=/d/><a href=x>", [("a", "c/x")]),
        ("<base href=http://?><a href=x>", [("a", "a/x")]),
        ("<base href='javascript:x'><a href=x>", [("a", "a/x")]),
        ("<base href=/c/><a href=#top>", [("a", "c/")]),
        ("</html><p>text<a href=yes>", [("a", "a/yes")]),
        ("<div>" * 5000 + "<a href=yes>", [("a", "a/yes")]),
        ("<a href='ye\0s'>", [("a", "a/ye%EF%BF%BDs")]),
        ("<template><a href=no></a></template><a href=yes>", [("a", "a/yes")]),
        ("<template><template></template><a href=no></a></template>", []),
        ("<div><template shadowrootmode=open><a href=no></a></template></div>", []),
        ("<svg><a href=yes xlink:href=no></a></svg>", [("a", "a/yes")]),
        ("<a href='?a=1&copy=3'>", [("a", "a/b.html?a=1&copy=3")]),
        ("<a href='?a=1&amp;b=2'>", [("a", "a/b.html?a=1&b=2")]),
        ("<!-- <a href=no> --!><a href=yes>", [("a", "a/yes")]),
        ("<!--><a href=yes>-->", [("a", "a/yes")]),
        ("<script><!--<script></script><a href=no>--></script><a href=yes>", [("a", "a/yes")]),
        ("<script>document.write('<a href=no>')</script>", []),
        ("<style><a href=no></style><textarea><a href=no></textarea>", []),
        ("<noscript><a href=yes></a></noscript>", [("a", "a/yes")]),
        ("<title><a href=no></title>", []),
        ("<plaintext><a href=no>", []),
        ("<a href=x href=y>", [("a", "a/x")]),
        ("<a title='>' href=x>", [("a", "a/x")]),
        ("<a\nhref\n=\nx\n>", [("a", "a/x")]),
        ("<table><a href=x><tr><a href=y>", [("a", "a/x"), ("a", "a/y")]),
        ("<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><body><a href='x'/>",
         [("a", "a/x")]),
        ("", []),
    ],
)  # fmt: skip
def test_the_links_of_a_page(markup: str, expected: list[tuple[str, str]]) -> None:
    assert found(markup) == expected


def test_a_link_says_whether_it_is_to_be_followed() -> None:
    links = page("<a rel='NoFollow ugc' href=x><a rel=nofollow href=y><a href=y>").links
    assert links == [
        Link("a", "http://h.example/a/x", "nofollow ugc"),
        Link("a", "http://h.example/a/y", ""),
    ]
    assert [link.nofollow for link in links] == [True, False]


def test_what_a_page_says_of_itself() -> None:
    read = page(
        "<title> One\n title </title><meta name=ROBOTS content='none'><meta name=sheaf content=x>"
        "<meta name=other content=noarchive><link rel=canonical href=/c><link rel=canonical href=d>"
        "<base href=/e/f><body><svg><title>Other</title></svg>"
    )
    assert read.title == "One title"
    assert read.meta_robots == {"noindex", "nofollow", "x"}
    assert read.canonical == "http://h.example/c"
    assert read.base == "http://h.example/e/f"
    assert page("<svg><title>No</title></svg>").title is None
    assert page("<title> </title>").title is None
    assert len(page(f"<title>{'x' * 5000}").title or "") == 1000


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<body>Cat cat 12 c4<script>dog</script>", {"cat": 2, "c4": 1}),
        ("<title>no</title><p>caf\xe9 CAF\xc9 na\xefve_x", {"caf\xe9": 2, "na\xefve_x": 1}),
        ("<p>foo<b>bar</b>baz", {"foo": 1, "bar": 1, "baz": 1}),
        ("</body></html>after", {"after": 1}),
        ("<noscript>yes <b>too</b></noscript>", {"yes": 1, "too": 1}),
        ("<style>no</style><template>no</template><svg><style>no</style></svg>yes", {"yes": 1}),
        ("<p>\u0130stanbul \u03a3\u0391\u03a3", {"i\u0307stanbul": 1, "\u03c3\u03b1\u03c2": 1}),
        ("<p>12 \u0661\u0662 \xb2 1a", {"1a": 1}),
        (f"<p>{'x' * 200} {'y' * 201}", {"x" * 200: 1}),
        ("<p>don't x-ray a.b", dict.fromkeys(["don", "t", "x", "ray", "a", "b"], 1)),
        ("<frameset><frame src=x></frameset>", {}),
        ("", {}),
    ],
)
def test_the_words_of_a_page(markup: str, expected: dict[str, int]) -> None:
    assert page(f"<meta charset=utf-8>{markup}").words == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<div id=app></div><script src=x></script>", True),
        ("<link rel=canonical href=x><div id=app></div><script src=x></script>", True),
        ("<div id=app></div>", False),
        ("<script></script><a href=x>", False),
        ("<script></script>" + "word " * 19, True),
        ("<script></script>" + "word " * 20, False),
        ("<script></script><meta http-equiv=refresh content='0;url=x'>", False),
    ],
)
def test_a_page_that_needs_a_browser(markup: str, expected: bool) -> None:
    assert page(markup).needs_browser is expected


TEXT = "<p>" + "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\u304c\u3042\u308a\u307e\u3059"


@pytest.mark.parametrize(
    ("markup", "content_type", "charset", "text"),
    [
        (b"\xef\xbb\xbf<meta charset=koi8-r>\xc3\xa9", "text/html;charset=latin1", "UTF-8", "\xe9"),
        (b"<meta charset=utf-8>\xe9", 'text/html; Charset="ISO-8859-1"', "windows-1252", "\xe9"),
        (b"<meta charset=latin1>\x80uro", "text/html", "windows-1252", None),
        (b"<meta http-equiv=content-type content='text/html; charset=gb2312'>\xd6\xd0", None,
         "GBK", "\u4e2d"),
        (TEXT.encode("shift_jis"), None, "Shift_JIS", TEXT[3:]),
        ("<p>caf\xe9".encode(), None, "UTF-8", "caf\xe9"),
        (b"<p>x", "text/html; charset=no-such-thing", "windows-1252", "x"),
        (b"<meta charset=utf-8>\xc3\xa9", "text/html; charset=no-such-thing", "UTF-8", "\xe9"),
        (b"<p>x", "text/html; charset=\xe9\0", "windows-1252", "x"),
        ("\ufeff<p>\xe9".encode("utf-16-le"), None, "UTF-16LE", "\xe9"),
    ],
)  # fmt: skip
def test_how_a_page_is_decoded(
    markup: bytes, content_type: str | None, charset: str, text: str | None
) -> None:
    read = page(markup, content_type)
    assert read.charset == charset
    assert text is None or list(read.words) == [text]


def test_a_query_is_in_the_pages_own_encoding() -> None:
    markup = "<meta charset=gbk><a href='?q=\u4e2d'>".encode("gbk")
    assert page(markup).links[0].address == f"{PAGE}?q=%D6%D0"


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("text/html", b"", True),
        ("Text/HTML ; charset=x", b"", True),
        ("application/xhtml+xml", b"", True),
        ("application/pdf", b"<html>", False),
        ("text/plain", b"<html>", False),
        (None, b"\xef\xbb\xbf \n<!DOCTYPE html>", True),
        ("", b"<HTML>", True),
        (None, b"%PDF-1.4", False),
        (None, b"", False),
    ],
)
def test_what_is_a_page(content_type: str | None, body: bytes, expected: bool) -> None:
    assert is_html(content_type, body) is expected


def test_the_same_bytes_are_read_the_same() -> None:
    markup = "<title>t</title><a href=x>y</a>" * 50
    assert page(markup) == page(markup)


def test_one_room_alone_knows_the_parser() -> None:
    knows = [path for path in (ROOT / "tools").rglob("*.py") if "turbohtml" in _imports(path)]
    assert {path.parent.name for path in knows} == {"documents"}


def _imports(path: Path) -> set[str]:
    text = path.read_text(encoding="utf-8")
    return set(re.findall(r"^\s*(?:from|import) ([\w]+)", text, re.MULTILINE))


@pytest.mark.parametrize("name", ["tests1", "tests2", "test-yahoo-jp"])
def test_the_encoding_a_browser_finds(name: str) -> None:
    cases = re.findall(
        rb"^#data\n(.*?)\n#encoding\n(\S+)",
        real(f"pages/encoding-{name}.dat").read_bytes(),
        re.MULTILINE | re.DOTALL,
    )
    assert cases
    wrong = [
        (data, page(data, None).charset, expected.decode())
        for data, expected in cases
        if page(data, None).charset.lower() != expected.decode().lower()
    ]
    assert wrong == []

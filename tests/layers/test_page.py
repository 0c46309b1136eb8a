"""Pages as they are meant to be, and hostile ones: each ends, with a page or with GiveUp."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import pytest

from tests.layers.declaring import HEAD, field, followed, task_of, worked
from tools.errors import GiveUp, RetryLater
from tools.layers.page import Page
from tools.layers.request import Request

URL = "http://h.example/dir/page"


def page(text: str, format: str = "html") -> Page:
    return Page(URL, text=text, format=format)


def test_a_page_is_asked_as_parsel_is() -> None:
    tea = page("<p class=a>x<b>y</b></p>")

    assert tea.css("p::text").get() == "x"
    assert tea.xpath("//b[.=$v]/text()", v="y").getall() == ["y"]
    assert tea.css("p")[0].attrib["class"] == "a"


def test_headers_are_found_in_any_letters() -> None:
    tea = Page(URL, headers=[("X-Kind", "1"), ("x-kind", "2")])

    assert (tea.header("X-KIND"), tea.header("none")) == ("1", None)


@pytest.mark.parametrize(
    ("reference", "address"),
    [
        ("/p/1", "http://h.example/p/1"),
        ("/p/1.html?a=b", "http://h.example/p/1.html?a=b"),
        ("/p/../q", "http://h.example/q"),
        ("/.well/x", "http://h.example/.well/x"),
        ("//other.example/x", "http://other.example/x"),
        ("q", "http://h.example/dir/q"),
        ("?a", "http://h.example/dir/page?a"),
        (" /x y ", "http://h.example/x%20y"),
        ("javascript:x()", None),
        ("/p/é", "http://h.example/p/%C3%A9"),
    ],
)
def test_references_lead_where_a_browser_goes(reference: str, address: str | None) -> None:
    assert page("").address(reference) == address


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("<p>中文".encode("gbk"), "text/html; charset=gb2312", "中文"),
        ("<meta charset=gbk><p>中文".encode("gbk"), "text/html", "中文"),
        ("<p>中文 网页 内容 很多".encode("gbk"), None, "中文 网页 内容 很多"),
        ("<p>中".encode("utf-16"), "text/html; charset=gbk", "中"),
        (b"<p>a\xe4", "text/html; charset=nonsense", "aä"),
        ("<p>\ufeffé".encode(), "text/html", "\ufeffé"),
        (b"<p>a\x00b", "text/html", "ab"),
        (b"<p>" + b"fine " * 100 + b"\xff", "text/html; charset=utf-8", "fine " * 100 + "\ufffd"),
    ],
)
def test_bytes_are_decoded_as_browsers_do(body: bytes, kind: str | None, text: str) -> None:
    headers = {"Content-Type": kind} if kind else {}

    assert "".join(Page.of(URL, 200, headers, body).root.itertext()) == text


def test_what_is_no_text_is_worth_another_try() -> None:
    with pytest.raises(RetryLater, match="no text in UTF-8"):
        Page.of(URL, 200, {"Content-Type": "text/html; charset=utf-8"}, bytes(range(128, 256)))


@pytest.mark.parametrize(
    ("body", "kind", "format", "text"),
    [
        (b'<?xml version="1.0" encoding="iso-8859-1"?><a>\xe4</a>', "text/xml", "xml", "ä"),
        ("<a>ä</a>".encode("utf-16"), "text/xml", "xml", "ä"),
        (
            '<?xml version="1.0" encoding="gbk"?><a>中</a>'.encode(),
            "text/xml; charset=utf-8",
            "xml",
            "中",
        ),
    ],
)
def test_xml_says_its_encoding(body: bytes, kind: str, format: str, text: str) -> None:
    assert Page.of(URL, 200, {"Content-Type": kind}, body, format).root.text == text


def test_json_in_utf_16() -> None:
    assert Page.of(URL, 200, {}, '{"a": "中"}'.encode("utf-16"), "json").json == {"a": "中"}


BOMB = "<!DOCTYPE a [<!ENTITY a 'aaaaaaaaaa'>" + "".join(
    f"<!ENTITY {chr(98 + n)} '{f'&{chr(97 + n)};' * 10}'>" for n in range(9)
)
HOSTILE: dict[str, tuple[str, Callable[[], str]]] = {
    "50 MB of tags": ("html", lambda: "<p>x" * 12_500_000),
    "50 MB of text": ("html", lambda: "x" * 50_000_000),
    "30 MB of JSON": ("json", lambda: "[" + "1," * 15_000_000),
    "three million tags": ("html", lambda: "<p>" * 3_000_000),
    "nested": ("html", lambda: "<div>" * 100_000),
    "nested tables": ("html", lambda: "<table><tr><td>" * 100_000),
    "nested XML": ("xml", lambda: "<a>" * 100_000),
    "attributes": ("html", lambda: "<p " + " ".join(f"a{n}=1" for n in range(100_000)) + ">"),
    "attributes with >": ("html", lambda: "<p " + " ".join(f"a{n}='>'" for n in range(50_000))),
    "entities": ("xml", lambda: BOMB + "]><a x='&j;'>&j;</a>"),
    "a file": ("xml", lambda: "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>"),
    "no XML": ("xml", lambda: "hello"),
    "nothing": ("xml", lambda: ""),
    "lists": ("json", lambda: "[" * 100_000),
    "objects": ("json", lambda: '{"a":' * 100_000),
    "a long number": ("json", lambda: "9" * 100_000),
    "no JSON": ("json", lambda: "<html>"),
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_is_given_up(name: str) -> None:
    format, text = HOSTILE[name]
    begun = time.process_time()
    with pytest.raises(GiveUp):
        page(text(), format).content  # noqa: B018
    assert time.process_time() - begun < 10


STRANGE = {
    "NULs": "\x00" * 10_000 + "<p>a\x00b</p>",
    "an endless tag": "<p a='" + "x" * 1_000_000,
    "open tags": "<a " * 4000,
    "closing tags": "</p>" * 200_000,
    "only entities": "&amp;" * 500_000,
    "comments": "<!--" * 200_000,
    "surrogates": "<p>\ud800</p>",
    "scripts": "<script>" * 200_000,
    "tags whose values hold tags": ("<a " * 4999 + ">") * 60,
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_page_is_read(name: str) -> None:
    assert page(STRANGE[name]).root.tag == "html"


def test_a_document_type_elsewhere_is_not_loaded() -> None:
    text = '<!DOCTYPE a SYSTEM "http://127.0.0.1:9/a.dtd"><a>x</a>'

    assert page(text, "xml").root.text == "x"


@pytest.mark.timeout(60)
def test_a_selector_that_finds_too_much_is_given_up() -> None:
    many = "<a href=/x>y</a>" * 110_000

    with pytest.raises(GiveUp, match="more than 100,000 times"):
        field('{ css = "a::text", many = "all" }', many)
    with pytest.raises(GiveUp, match="more than 100,000 times"):
        followed('to = "detail", each = "a", url = "::attr(href)"', many)
    with pytest.raises(GiveUp, match="more than 100,000 times"):
        field('{ json = "@", many = "all" }', "[" + "1," * 110_000 + "1]", "json")
    assert field('{ xpath = "//a/@href" }', many) == "/x"


@pytest.mark.timeout(60)
def test_a_page_of_too_many_rows_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.layers.rules.MOST_FOUND", 1000)
    toml = HEAD % "json" + "[[layers.list.rows]]\ntable = 't'\neach = '@'\n"
    task = task_of(toml + "fields = { a = { json = '@', many = 'rows' } }")
    values = "[" + ",".join(["[" + "1," * 99 + "1]"] * 11) + "]"

    with pytest.raises(GiveUp, match="1,000 rows"):
        worked(task, values)


@pytest.mark.timeout(60)
def test_fields_that_look_everywhere_for_each_row_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.layers.field.LONGEST_S", 0.5)
    toml = HEAD % "html" + "[[layers.list.rows]]\ntable = 't'\neach = 'b'\n"
    task = task_of(toml + "fields = { a = { xpath = '//i[. = \"x\"]' } }")

    with pytest.raises(GiveUp, match="took more than"):
        worked(task, "<b>1</b><i>2</i>" * 40_000)


@pytest.mark.timeout(60)
def test_rows_within_rows_do_not_multiply_a_long_text() -> None:
    toml = HEAD % "html" + "[[layers.list.rows]]\ntable = 't'\neach = 'div'\n"
    for selector in ("div", "div::text", "i::text"):
        task = task_of(toml + f"fields = {{ a = '{selector}' }}")
        with pytest.raises(GiveUp, match="100,000,000 characters"):
            worked(task, "<div>" * 1500 + "<i>" + "x" * 1_000_000 + "</i>" + "y" * 1_000_000)


@pytest.mark.timeout(60)
def test_a_pattern_sees_a_long_text_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.layers.field.LONGEST_S", 0.5)
    with pytest.raises(GiveUp, match="took more than"):
        field(r"{ css = 'p::text', re = '\d+ EUR' }", "<p>" + "1" * 500_000)
    lines = "".join(f"line {number}\n" for number in range(50_000))
    assert field(r"{ re = 'line (\d+)', many = 'all' }", lines, "text") == [
        *map(str, range(50_000))
    ]


def test_reading_needs_no_more_memory_than_the_page_is_worth() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(page("<p>" + "x" * 9_900_000).root) == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


def test_a_request_of_another_layer_than_declared_is_a_mistake() -> None:
    task = task_of(HEAD % "html")

    with pytest.raises(KeyError):
        worked(task, "", Request("none", url=URL))

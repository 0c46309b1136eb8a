from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any
from unittest.mock import Mock

import pytest

from tests.layers.declaring import HEAD, URL, field, followed, task_of, worked
from tools.documents.forms import form_in
from tools.layers.request import Request
from tools.layers.task import LayerOptions, Limits, Refill, Skipped
from tools.tables.rows import Row

PAGE = """<html><head><title> The
 title </title><base href="/other/"></head><body>
<h1> <span></span> Tea &amp; more </h1><p class="price now">&pound; 1,234.50</p>
<p class=none>none</p>
<ul><li>one<li> two <li><li>three</ul><a href="x y.html#z">more</a><i>17.11.2026</i>
<script type="application/ld+json">{"a": [1, 2.5]}</script><div id=d>x <b>y</b>
 z</div></body></html>"""
REVIEWS = """{"reviews": [{"id": 1, "tags": ["a", "b"], "author": {"name": "x"}},
{"id": 2, "tags": []}],
"next": 7, "empty": "", "no": null, "yes": true, "big": 12345678901234567890123, "when": 0}"""

FIELDS = {
    '"h1::text"': "Tea & more",
    '"title::text"': "The\n title",
    '"h1"': "Tea & more",
    '"#d"': "x y z",
    '"#d::text"': "x",
    '"nothing::text"': None,
    '{ css = "#d::text", many = "join" }': "x z",
    '{ css = "#d", as = "text" }': "x y z",
    '{ css = "#d b", as = "html" }': "<b>y</b>",
    '{ css = "li::text", many = "all" }': ["one", "two", "three"],
    '{ css = "li::text", many = "join" }': "one two three",
    '{ css = "none::text", many = "all" }': None,
    '{ xpath = "//li[2]/text()" }': "two",
    '{ xpath = "count(//li)" }': 4.0,
    '{ xpath = "string(//h1)" }': "Tea & more",
    r"""{ xpath = '//*[re:test(@class, "^pr")]/text()' }""": "£ 1,234.50",
    '{ css = ".price::text", as = "number" }': Decimal("1234.50"),
    '{ css = ".none::text", as = "number" }': None,
    '{ css = ".none::text", as = "number", default = 0 }': 0,
    r"""{ css = ".price::text", re = '[\d,]+' }""": "1,234",
    r"""{ css = ".price::text", re = '(\d+)\.(\d+)', as = "number" }""": 234,
    r"""{ css = ".price::text", re = 'EUR' }""": None,
    r"""{ css = "li::text", re = '[aeiou]', many = "all" }""": ["o", "e", "o", "e", "e"],
    r"""{ re = 'class="(\w+)' }""": "price",
    '{ css = "a::attr(href)", as = "url" }': "http://h.example/other/x%20y.html",
    '"a::attr(href)"': "x y.html#z",
    '{ css = "i::text", as = "date", format = "%d.%m.%Y" }': "2026-11-17",
    '{ css = "h1::text", as = "date" }': None,
    '{ css = "script::text", as = "json" }': {"a": [1, 2.5]},
    '{ css = "h1::text", as = "json" }': None,
    '{ css = "h1::text", plus = "!" }': "Tea & more!",
    '{ request = "query.old", as = "number", plus = 1 }': 2,
    '{ request = "url" }': URL,
    '{ request = "layer" }': "list",
    '{ request = "sent.k" }': "v",
    '{ request = "referer" }': None,
    '{ carried = "k" }': "v",
    '{ carried = "other" }': None,
    '{ constant = "c" }': "c",
    "{ constant = [1, 2] }": [1, 2],
    "7": 7,
    "true": True,
    '{ header = "X-Kind" }': "tea",
    '{ header = "x-none" }': None,
    '{ text = "{k}/1" }': "v/1",
    '{ text = "{nothing}/1" }': None,
    '{ text = "{{k}}" }': "{k}",
    '{ css = "nothing::text", required = true }': Skipped("t", "no a"),
    '{ css = "nothing::text", required = true, default = "d" }': "d",
}


@pytest.mark.parametrize("declared", FIELDS)
def test_a_field_of_html(declared: str) -> None:
    assert field(declared, PAGE, headers={"x-kind": "tea"}) == FIELDS[declared]


JSON_FIELDS: dict[str, Any] = {
    '"next"': 7,
    '"no"': None,
    '"empty"': "",
    '"yes"': True,
    '"big"': 12345678901234567890123,
    '"when"': 0,
    '"length(no)"': None,
    '"reviews[0].author.name"': "x",
    '"reviews[*].id"': 1,
    '{ json = "reviews[*].id", many = "all" }': [1, 2],
    '{ json = "reviews[0].tags", many = "join" }': "a b",
    '{ json = "reviews[0].author", as = "text" }': '{"name": "x"}',
    '{ json = "next", as = "number", plus = 2.5 }': 9.5,
    '{ json = "when", as = "date" }': "1970-01-01T00:00:00+00:00",
    r"""{ json = "big", re = '^\d{3}', as = "number" }""": 123,
    '{ json = "empty", required = true }': Skipped("t", "no a"),
}


@pytest.mark.parametrize("declared", JSON_FIELDS)
def test_a_field_of_json(declared: str) -> None:
    assert field(declared, REVIEWS, "json") == JSON_FIELDS[declared]


def test_fields_of_xml_need_no_prefixes() -> None:
    feed = """<?xml version="1.0" encoding="gbk"?><feed xmlns="http://www.w3.org/2005/Atom"
        xmlns:dc="http://d.example/"><entry><Title>中</Title>
        <dc:creator xml:lang="en">x</dc:creator></entry></feed>"""

    assert field('"Title::text"', feed, "xml") == "中"
    assert field('{ xpath = "//entry/creator" }', feed, "xml") == "x"
    assert field('"creator::attr(lang)"', feed, "xml") == "en"


def test_fields_of_text_are_patterns() -> None:
    assert field(r"'port (\d+)'", "on port 80", "text") == "80"


def test_lines_of_text_are_rows() -> None:
    toml = (
        HEAD % "text"
        + "[[layers.list.rows]]\ntable = 't'\neach = '(?m)^.+$'\n"
        + r"""
fields = { a = '^\w+', n = { re = '\d+$', as = "number" } }"""
    )

    assert worked(task_of(toml), "x 1\n\ny 2\n") == [Row("t", a="x", n=1), Row("t", a="y", n=2)]


ROWS = HEAD % "json" + "[[layers.list.rows]]\ntable = 't'\neach = 'reviews'\n"


def test_a_field_with_rows_makes_a_row_for_each_value() -> None:
    fields = 'fields = { a = { json = "id", as = "text" }, b = { json = "tags", many = "rows" } }'

    assert worked(task_of(ROWS + fields), REVIEWS) == [
        Row("t", a="1", b="a"),
        Row("t", a="1", b="b"),
    ]


def test_fields_with_rows_go_side_by_side() -> None:
    fields = 'fields = { a = { json = "x", many = "rows" }, b = { json = "y", many = "rows" } }'
    said = '{"reviews": [{"x": [1, 2], "y": [3]}]}'

    assert worked(task_of(ROWS + fields), said) == [Row("t", a=1, b=3), Row("t", a=2, b=None)]


def test_a_text_is_put_together_of_the_fields_beside_it() -> None:
    fields = 'fields = { b = { text = "no. {a}" }, a = "id" }'

    assert [row.values["b"] for row in worked(task_of(ROWS + fields), REVIEWS)] == [
        "no. 1",
        "no. 2",
    ]


def test_a_row_without_a_required_field_is_skipped_alone() -> None:
    fields = 'fields = { a = { json = "author.name", required = true } }'

    assert worked(task_of(ROWS + fields), REVIEWS) == [Row("t", a="x"), Skipped("t", "no a")]


LINKS = (
    "<ul><li><a href=/1>one</a><li>none<li><a href='?p=2' rel=x>two</a></ul><a class=next>last</a>"
)


def got(layer: str, url: str, **more: Any) -> Request:
    return Request(layer, "GET", url, **more)


NEXTS: dict[str, list[Any]] = {
    'to = "detail", url = "li a::attr(href)"': [got("detail", "http://h.example/1")],
    'to = "list", url = ".next::attr(href)"': [],
    'to = "detail", each = "li", url = "a::attr(href)"': [
        got("detail", "http://h.example/1"),
        Skipped("-> detail", "no address"),
        got("detail", "http://h.example/dir/page?p=2"),
    ],
    'to = "detail", each = "li", url = "a::attr(href)", when = "a::attr(rel)"': [
        got("detail", "http://h.example/dir/page?p=2")
    ],
    'to = "detail", url = "a::attr(href)", referer = true': [
        got("detail", "http://h.example/1", referer=URL)
    ],
    'to = "detail", url = { text = "/{name}?k={k}" }, carry = { name = "li a::text" }': [
        got("detail", "http://h.example/one?k=v")
    ],
    'to = "detail", url = { text = "/{name}" }, carry = { name = ".none::text" }': [],
    'to = "detail", form = { q = "li a::text", none = ".none::text", p = 2 }': [
        Request("detail", "POST", URL, None, {"q": "one", "p": "2"})
    ],
    'to = "detail", method = "GET", url = { constant = "/s" }, form = { q = "li a::text" }': [
        Request("detail", "GET", "http://h.example/s", None, {"q": "one"})
    ],
    'to = "detail", url = { constant = "/api" }, json = { q = "li a::text", p = 1, n = "u" }': [
        Request("detail", "JSON", "http://h.example/api", None, {"q": "one", "p": 1, "n": None})
    ],
    'to = "detail", url = { constant = "/" }, carry = { x = { css = ".n", required = true } }': [
        Skipped("-> detail", "no x")
    ],
    'to = "detail", url = { constant = "javascript:void(0)" }': [],
}


@pytest.mark.parametrize("declared", NEXTS)
def test_what_is_asked_next(declared: str) -> None:
    assert followed(declared, LINKS) == NEXTS[declared]


@pytest.mark.parametrize(
    ("said", "asks"), [("0", 1), ('"x"', 1), ("false", 0), ('""', 0), ("[]", 0)]
)
def test_a_request_is_made_when_its_condition_holds(said: str, asks: int) -> None:
    line = (
        'to = "list", when = "next", url = { text = "/r?after={next}" }, carry = { next = "next" }'
    )

    assert len(followed(line, f'{{"next": {said}}}', "json")) == asks


def test_what_is_carried_goes_on_with_what_is_new() -> None:
    (request,) = followed(
        'to = "detail", url = "a::attr(href)", carry = { name = "a::text" }', LINKS
    )

    assert request.carried == {"k": "v", "name": "one"}


def test_a_form_is_sent_with_fields_on_top() -> None:
    form = (
        "<form id=f method=post action=/s><input name=state value=7><input name=q></form><b>tea</b>"
    )

    (request,) = followed('to = "list", form_of = "#f", form = { q = "b::text" }', form)

    assert request == Request(
        "list", "POST", "http://h.example/s", None, {"state": "7", "q": "tea"}
    )


def test_a_page_without_the_form_gives_what_else_it_has() -> None:
    (skipped,) = followed('to = "list", form_of = "#f"', "<p>x")

    assert skipped == Skipped("-> list", "the page has no form '#f'")


def test_many_requests_of_one_form_read_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Mock(side_effect=form_in)
    monkeypatch.setattr("tools.layers.form.form_in", read)
    line = 'to = "list", each = "option", form_of = "form", form = { b = "::attr(value)" }'

    found = followed(line, f"<form method=post><select name=b>{'<option value=1>' * 50}</select>")

    assert (len(found), read.call_count) == (50, 1)


def test_threads_share_what_is_compiled() -> None:
    task = task_of(HEAD % "html" + ROWS_OF_ALL_KINDS)
    pages = ["".join(f"<li><a href=/{n}>{n + k}<b>x</b></a>" for n in range(200)) for k in range(8)]
    alone = [worked(task, page) for page in pages]

    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            assert list(pool.map(lambda page: worked(task, page), pages)) == alone


ROWS_OF_ALL_KINDS = """[[layers.list.rows]]
table = "t"
each = "li"
[layers.list.rows.fields]
a = "a::text"
b = { xpath = "./a/@href", as = "url" }
c = { css = "b::text", many = "all" }
n = { css = "a::text", re = '[0-9]+', as = "number" }
"""


WHOLE = """
about = "tea"
base = "http://h.example/"
database = "postgresql://me@h.example/x"
robots = false
cookies = "task"
forget = ["__STATE"]
workers = 3
attempts = 2
rounds = 1
start = ["/a", { layer = "list", url = "b?c", referer = "http://r.example/" },
  { layer = "list", method = "POST", url = "/c", form = { q = ["1", "2"] } },
  { layer = "list", url = "/d", json = { q = [1] } }]
[limits]
delay_s = 0.5
per_host = 2
"h.example" = ["20/minute"]
[activity]
every = "30 min"
again = ["home"]
after = ["retry"]
[[refill]]
query = "SELECT url FROM t"
layer = "list"
[tables.t]
key = ["a"]
columns = { a = "VARCHAR(20)", b = "TEXT" }
at_least = { b = 0.9 }
[layers.home]
[layers.list]
deep = 5
format = "json"
accept = "application/x-tea"
status = [200, 404]
age = "24 h"
keep = true
identity = ["referer"]
[[layers.list.rows]]
table = "t"
fields = { a = "a", b = "b" }
[layers.last]
"""


def test_every_key_of_a_task_is_read() -> None:
    task = task_of(WHOLE, "tea")

    assert (task.name, task.about, task.base) == ("tea", "tea", "http://h.example/")
    assert (task.robots, task.cookies, task.forget) == (False, "task", {"__STATE"})
    assert (task.workers, task.attempts, task.rounds) == (3, 2, 1)
    assert task.limits == Limits(0.5, 2, {"h.example": ("20/minute",)})
    assert (task.every, task.at, [*task.again], [*task.after_steps]) == (
        1800,
        "",
        ["home"],
        ["retry"],
    )
    assert [*task.refill] == [Refill("SELECT url FROM t", "list")]
    assert task.layers == {"home": 0, "list": 5, "last": 2}
    assert task.options("home") == LayerOptions()
    assert task.options("list") == LayerOptions(
        "json", "application/x-tea", (200, 404), 86_400.0, True, True
    )
    assert list(task.starts()) == [
        got("home", "http://h.example/a"),
        got("list", "http://h.example/b?c", referer="http://r.example/"),
        Request("list", "POST", "http://h.example/c", None, [("q", "1"), ("q", "2")]),
        Request("list", "JSON", "http://h.example/d", None, {"q": [1]}),
    ]


def test_a_part_of_a_task_counts_its_depths_from_0() -> None:
    part = task_of('extends = "tea"\nonly = ["last"]\nstart = ["/x"]', tea=WHOLE)

    assert part.layers == {"last": 0}
    assert part.left_out == {"home", "list"}
    assert (part.about, part.every, [*part.again], [*part.refill]) == ("tea", 1800, [], [])
    assert list(part.starts()) == [got("last", "http://h.example/x")]


def test_a_part_may_begin_with_a_query() -> None:
    part = task_of(
        'extends = "tea"\nonly = ["list"]\nstart_from = "SELECT url, b FROM t"', tea=WHOLE
    )

    assert (part.start_from, list(part.starts())) == ("SELECT url, b FROM t", [])
    (request,) = part.asked_by([{"url": "/p", "b": 7}])
    assert (request, request.carried) == (got("list", "http://h.example/p"), {"b": 7})


def test_layers_and_tables_of_an_extended_task_are_replaced_one_by_one() -> None:
    task = task_of(
        'extends = "middle"\n[layers.list]\nformat = "xml"',
        middle='extends = "tea"\nworkers = 9\n[activity]\nevery = 0',
        tea=WHOLE.replace("at_least", "# at_least"),
    )

    assert (task.workers, task.every, [*task.again]) == (9, 0, ["home"])
    assert task.layers == {"home": 0, "list": 1, "last": 2}
    assert task.options("list") == LayerOptions("xml")


def test_only_by_hand_leaves_the_task_itself_as_it_is() -> None:
    task = task_of(WHOLE)

    assert task.only(["list", "last"]).layers == {"list": 1, "last": 0}
    assert len(task.layers) == 3

"""Mistakes of a task's file: told at load, all at once, with place and nearest right name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.layers.declaring import mistakes_of
from tools.errors import UsageError
from tools.layers.catalogue import load_tasks

SHOP = """
base = "http://h.example/"
start = ["/"]
[tables.product]
key = ["sku"]
columns = { sku = "VARCHAR(20)", name = "TEXT", stock = "INTEGER", price = "DECIMAL(10,2)" }
[layers.home]
next = [
    { to = "detail", url = "a::attr(href)" },
    { to = "home", url = "a.next::attr(href)" },
]
[layers.detail]
[[layers.detail.rows]]
table = "product"
[layers.detail.rows.fields]
sku = { css = ".sku::text", required = true }
price = { css = ".price::text", as = "number" }
[layers.api]
format = "json"
next = [{ to = "api", when = "next", url = "next" }]
"""

WRONG = {
    ('to = "home"', 'to = "hoem"'): "layers.home.next[1].to: no layer 'hoem'; did you mean 'home'?",
    (
        ".price::text",
        "p..price",
    ): "layers.detail.rows[0].fields.price.css: 'p..price' is no selector"
    " (Expected ident, got <DELIM '.' at 2>)",
    ('"a::attr(href)"', '"a["'): "layers.home.next[0].url: 'a[' is no selector"
    " (Expected ident or '*', got <EOF at 2>)",
    (
        'css = ".sku::text"',
        'xpath = "//a["',
    ): "layers.detail.rows[0].fields.sku.xpath: '//a[' is no XPath (Invalid expression)",
    (
        'css = ".sku::text"',
        'xpath = "nothing()"',
    ): "layers.detail.rows[0].fields.sku.xpath: 'nothing()' is no XPath (Unregistered function)",
    ('when = "next"', 'when = "a["'): None,
    (
        'as = "number"',
        'as = "nubmer"',
    ): "layers.detail.rows[0].fields.price.as: no 'nubmer'; did you mean 'number'?",
    (
        'as = "number"',
        "re = '(a'",
    ): "layers.detail.rows[0].fields.price.re: '(a' is no regular expression"
    " (missing ), unterminated subpattern at position 0)",
    (
        'as = "number"',
        "re = '(a+)+'",
    ): "layers.detail.rows[0].fields.price.re: '(a+)+' repeats a repetition,"
    " which may never end: leave the inner one out",
    (
        'as = "number"',
        'many = "every"',
    ): "layers.detail.rows[0].fields.price.many: no 'every'; it must be one"
    " of first, all, join, rows",
    (
        'as = "number"',
        'format = "x"',
    ): 'layers.detail.rows[0].fields.price.format: must be "." or "," of a'
    ' number, or like "%d.%m.%Y" of a date',
    (
        'as = "number"',
        "plus = 1",
    ): "layers.detail.rows[0].fields.price.plus: must be text, unless as ="
    ' "number" stands beside it',
    (
        'as = "number"',
        'xpath = "//p"',
    ): "layers.detail.rows[0].fields.price: has css and xpath: one of them is enough",
    (
        'as = "number"',
        "requierd = true",
    ): "layers.detail.rows[0].fields.price.requierd: no such key; did you mean 'required'?",
    (
        "required = true",
        'required = "yes"',
    ): "layers.detail.rows[0].fields.sku.required: must be true or false, not 'yes'",
    (
        "price = { css",
        "prise = { css",
    ): "tables.product has no column 'prise' (layers.detail.rows[0]); did you mean 'price'?",
    ("sku = { css", "name = { css"): "tables.product has the key 'sku', and no field gives it"
    " (layers.detail.rows[0])",
    (
        'table = "product"',
        'table = "prodcut"',
    ): "layers.detail.rows[0].table: no table 'prodcut'; did you mean 'product'?",
    ('stock = "INTEGER"', 'stock = "INTEGR"'): None,
    (
        'key = ["sku"]',
        'key = ["sku"]\nat_least = { stock = 0.5 }',
    ): "tables.product.at_least.stock: no row has such a field",
    (
        "[layers.api]",
        "[layers.api]\nkepp = true",
    ): "layers.api.kepp: no such key; did you mean 'keep'?",
    ("[layers.api]", "[layers.api]\ndeep = -1"): "layers.api.deep: must be from 0 to 1,000,000",
    (
        "[layers.api]",
        "[layers.api]\nstatus = ['ok']",
    ): "layers.api.status: must be codes of HTTP, such as [200, 404]",
    (
        "[layers.api]",
        "[layers.api]\nage = 'old'",
    ): 'layers.api.age: must be like "30 min", "24 h" or 90 (seconds), not \'old\'',
    (
        "[layers.api]",
        "[layers.api]\nidentity = ['refere']",
    ): "layers.api.identity: no part of a request 'refere'; did you mean 'referer'?",
    ('format = "json"', 'format = "jsno"'): None,
    (
        'url = "next"',
        'url = { css = "a" }',
    ): 'layers.api.next[0].url.css: a layer of format = "json" has no css; it has json',
    (', url = "next"', ""): "layers.api.next[0]: has no url",
    (
        'url = "next"',
        'url = { text = "/{next!r}" }',
    ): "layers.api.next[0].url.text: '/{next!r}' must have plain"
    " names in its braces, such as {page}",
    (
        'url = "next"',
        'url = { request = "ulr" }',
    ): "layers.api.next[0].url.request: a request has no 'ulr'; did you mean 'url'?",
    (
        'url = "next"',
        'form_of = "form["',
    ): "layers.api.next[0].form_of: 'form[' is no selector (Expected ident or '*', got <EOF at 5>)",
    (
        'url = "next"',
        'url = "next", form = {}, json = {}',
    ): "layers.api.next[0]: has form and json: one of them is enough",
    (
        'url = "next"',
        'url = "next", method = "PUT"',
    ): "layers.api.next[0].method: no 'PUT'; did you mean 'POST'?",
    (
        'url = "next"',
        'url = "next", method = "JSON"',
    ): "layers.api.next[0].method: JSON needs json = {...}, what is sent",
    (
        'url = "next"',
        "url = []",
    ): "layers.api.next[0].url: must be a selector or a table such as {css = ...}, not []",
    (
        'url = "next"',
        "url = {}",
    ): "layers.api.next[0].url: says not where it is found: give one of css, xpath,"
    " json, text, carried, constant, header, request",
    ("[layers.api]", "[layers.api]\nrows = 7"): "layers.api.rows: must be a list of tables, not 7",
    ("[layers.api]", "[layers.api]\nrows = [7]"): None,
    ("[layers.api]", '[layers."a b"]'): None,
    ('start = ["/"]', 'start = ["/"]\nwork = 3'): "work: no such key; did you mean 'workers'?",
    ('start = ["/"]', "start = 3"): "start: must be a list of addresses, not 3",
    (
        'start = ["/"]',
        'start = ["mailto:x@h.example"]',
    ): "start[0].url: 'mailto:x@h.example' is not an address of the web",
    (
        'start = ["/"]',
        'start = [{ layer = "hom", url = "/" }]',
    ): "start[0].layer: no layer 'hom'; did you mean 'home'?",
    ('start = ["/"]', 'start = [{ layer = "home" }]'): "start[0]: has no url",
    ('start = ["/"]', "start = []"): "start: nothing is asked first: give start or start_from",
    ('start = ["/"]', 'start = ["/"]\nworkers = "8"'): "workers: must be a whole number, not '8'",
    ('start = ["/"]', 'start = ["/"]\nworkers = true'): "workers: must be a whole number, not True",
    (
        'start = ["/"]',
        'start = ["/"]\nonly = ["detial"]',
    ): "only: no layer 'detial'; did you mean 'detail'?",
    ('start = ["/"]', 'start = ["/"]\nextends = "shpo"'): "extends: no declared task 'shpo'",
    ('start = ["/"]', 'start = ["/"]\nextends = 7'): "extends: must be text, not 7",
    ('start = ["/"]', 'start = ["/"]\ncookies = "all"'): None,
    (
        'start = ["/"]',
        'start = ["/"]\n[activity]\nagain = ["hme"]',
    ): "activity.again: no layer 'hme'; did you mean 'home'?",
    (
        'start = ["/"]',
        'start = ["/"]\n[activity]\nat = "6 am"',
    ): "activity.at: '6 am' is not five fields of cron, such as \"0 6 * * *\"",
    (
        'start = ["/"]',
        'start = ["/"]\n[activity]\nafter = ["retyr"]',
    ): "activity.after: no step 'retyr'; did you mean 'retry'?",
    ('start = ["/"]', 'start = ["/"]\n[[refill]]\nlayer = "home"'): "refill[0]: has no query",
    ('base = "http://h.example/"', 'base = "h.example"'): None,
    (
        'base = "http://h.example/"',
        "",
    ): "start[0].url: '/' is not an address of the web (the task has no base)",
}


def test_the_shop_itself_is_right() -> None:
    assert mistakes_of(SHOP) == []


@pytest.mark.parametrize("change", WRONG, ids=lambda change: change[1])
def test_a_mistake_has_its_place(change: tuple[str, str]) -> None:
    right, wrong = change
    assert right in SHOP

    said = mistakes_of(SHOP.replace(right, wrong, 1))

    assert said, "nothing was said"
    assert all(line.startswith("shop.toml: ") for line in said)
    if WRONG[change] is not None:
        assert said == [f"shop.toml: {WRONG[change]}"]


def test_all_mistakes_are_told_at_once() -> None:
    spoilt = SHOP.replace('"home"', '"hoem"').replace(".price::text", "p..").replace("workers", "w")

    assert len(mistakes_of(spoilt.replace('base = "http', 'abuot = 1\nbase = "ftp'))) == 5


def test_what_is_no_toml_is_told_with_its_line() -> None:
    (said,) = mistakes_of("base = 1\nstart = ]")

    assert said.startswith("shop.toml: ") and "line 2" in said


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_bytes(b'about = "\xe4"')

    assert "save it as UTF-8" in load_tasks(tmp_path)["shop"].reason  # type: ignore[union-attr]


def test_tasks_that_extend_each_other() -> None:
    said = mistakes_of('extends = "b"', "a", b='extends = "a"')

    assert "a.toml: extends: 'a' extends 'b' extends 'a': it never ends" in said


def test_the_nearest_task_to_extend() -> None:
    said = mistakes_of('extends = "shpo"\nonly = ["home"]', "part", shop=SHOP)

    assert "part.toml: extends: no declared task 'shpo'; did you mean 'shop'?" in said


def test_a_task_without_layers() -> None:
    assert mistakes_of('base = "http://h.example/"') == [
        "shop.toml: layers: a task needs at least one: [layers.NAME]"
    ]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no folder .* for tasks"):
        load_tasks(tmp_path / "none")


@pytest.mark.parametrize(
    ("was", "becomes", "told"),
    [
        ('base = "http', f'workers = {"9" * 5000}\nbase = "http', "shop.toml: Exceeds the limit"),
        (".price::text", "p " * 50_000, "layers.detail.rows[0].fields.price.css: 'p p p"),
        ('url = "next"', f'url = "{"(" * 5000}"', "layers.api.next[0].url: '((("),
        ("[layers.api]", '[layers."../api"]', "layers.../api: a layer's name must be without"),
        (
            'as = "number"',
            'as = "date", format = "%Q"',
            "price.format: '%Q' is no format of a date",
        ),
        (
            'as = "number"',
            'as = "date", format = "%d%"',
            "price.format: '%d%' is no format of a da",
        ),
        ("[tables.product]", "[limits]\ndelay = 5\n[tables.product]", "limits.delay: no such key"),
        ('["/"]', '[{ url = "/", json = { d = 2026-11-17 } }]', "start[0].json: "),
    ],
    ids=["digits", "css", "jmespath", "layer", "directive", "stray", "limits", "date"],
)
def test_what_would_break_whoever_reads_it_is_a_mistake_too(
    was: str, becomes: str, told: str
) -> None:
    assert was in SHOP
    said, *_ = mistakes_of(SHOP.replace(was, becomes))
    assert told in said
    assert len(said) < 400


def test_no_mistake_steers_a_terminal_and_they_do_not_go_on_forever() -> None:
    keys = "".join(f'"\\u001b[31m{number}" = 1\n' for number in range(5000))
    said = mistakes_of(keys + SHOP)
    assert all(line.isprintable() for line in said)
    assert len(said) < 60
    assert "more" in said[-1]

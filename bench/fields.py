"""How fast declared fields read listings, beside the XPaths alone that lxml evaluates for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lxml import etree
from parsel import Selector
from parsel.csstranslator import HTMLTranslator

from bench.report import RUNS, Bar, Row, Say, shown
from tools.layers.catalogue import load_task
from tools.layers.page import Page
from tools.layers.request import Request

ROWS = 50
LISTINGS = 1500
BAR = Bar(">=", 700)
EACH = "li.product"
FIELDS = {
    "sku": "::attr(data-sku)",
    "name": "a.title::text",
    "link": "a.title::attr(href)",
    "price": "span.price::text",
    "stock": "span.stock::text",
    "brand": ".brand::text",
}
ENTRY = """<li class="product item" data-sku="TEA-{n:03}">
<a class="title" href="/p/{n}">Tea no. {n}</a>
<p class="about">What people say of it is <b>good</b>, most of all in the evening.</p>
<span class="price">&pound; {n}.50</span> <span class="stock">In stock: {left}</span>
<img src="/pictures/{n}.png" alt="a cup of tea"> <em class="brand">Oak</em></li>
"""
TASK = """base = "http://127.0.0.1/"
start = ["/"]
[tables.product]
key = ["sku"]
[tables.product.columns]
sku = "VARCHAR(20)"
name = "TEXT"
link = "TEXT"
price = "DECIMAL(10,2)"
stock = "INTEGER"
brand = "TEXT"
[[layers.list.rows]]
table = "product"
each = "li.product"
[layers.list.rows.fields]
sku = { css = "::attr(data-sku)", required = true }
name = "a.title::text"
link = { css = "a.title::attr(href)", as = "url" }
price = { css = "span.price::text", as = "number" }
stock = { css = "span.stock::text", re = '\\d+', as = "number" }
brand = ".brand::text"
"""


def listing() -> str:
    entries = "".join(ENTRY.format(n=n, left=n % 7) for n in range(ROWS))
    return f"<!doctype html><html><head><title>Tea</title></head><body><ul>{entries}</ul></body>"


def measure(scale: float, say: Say) -> Iterator[Row]:
    text, count = listing(), max(10, int(LISTINGS * scale))
    with TemporaryDirectory() as folder:
        (Path(folder) / "tea.toml").write_text(TASK, encoding="utf-8")
        task = load_task(Path(folder), "tea")
    request = Request("list", url="http://127.0.0.1/")
    rows = list(task.work(request, Page(request.url, text=text)))
    assert len(rows) == ROWS, rows[:3]

    def declared() -> None:
        for _ in task.work(request, Page(request.url, text=text)):
            pass

    sides: dict[str, Callable[[], None]] = {
        "declared": declared,
        "plain": _plain(text),
        "raw": _raw(text),
        "parsel": _parsel(text),
    }
    paces: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(RUNS):
        for name, side in sides.items():
            paces[name].append(_pace(side, count))
    what = f"listings of {ROWS} rows x {len(FIELDS)} fields, a CPU second"
    raw = shown(paces["raw"])
    yield Row(
        f"{what}, three fields converted",
        paces["declared"],
        "",
        0,
        BAR,
        peer=f"{raw} lxml's XPath alone",
    )
    yield Row(
        f"{what}, fields as they are", paces["plain"], "", 0, None, peer=f"{raw} lxml's XPath alone"
    )
    yield Row(f"{what}, by parsel's own calls", paces["parsel"], "", 0)


def _pace(side: Callable[[], None], count: int) -> float:
    """The best of some stretches: what else the machine does costs the processor's caches."""
    paces = []
    for _ in range(5):
        begun = time.process_time()
        for _ in range(count // 5):
            side()
        paces.append(count // 5 / (time.process_time() - begun))
    return max(paces)


def _plain(text: str) -> Callable[[], None]:
    """The same task with nothing converted."""
    from tools.layers.convert import converter
    from tools.layers.field import At, Field, OfNode
    from tools.layers.rules import Each, Rows
    from tools.layers.selector import css_finder

    each = Each("each", OfNode(css_finder(EACH)))
    fields = {
        name: Field(name, OfNode(css_finder(css)), converter(None)) for name, css in FIELDS.items()
    }
    rule, request = Rows("product", each, fields), Request("list", url="http://127.0.0.1/")

    def read() -> None:
        for _ in rule.found(At(request, Page(request.url, text=text))):
            pass

    return read


def _raw(text: str) -> Callable[[], None]:
    """Each field as lxml finds it: lists of texts, and nothing made of them."""
    translate, body = HTMLTranslator().css_to_xpath, text.encode()
    each = etree.XPath(translate(EACH), smart_strings=False)
    fields = [etree.XPath(translate(css), smart_strings=False) for css in FIELDS.values()]

    def read() -> None:
        root = etree.fromstring(body, etree.HTMLParser(encoding="utf-8"))
        for node in each(root):
            for field in fields:
                field(node)

    return read


def _parsel(text: str) -> Callable[[], None]:
    def read() -> None:
        for node in Selector(text).css(EACH):
            _: dict[str, Any] = {name: node.css(css).get() for name, css in FIELDS.items()}

    return read

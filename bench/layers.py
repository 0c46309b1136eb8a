"""A site into a table: what a page costs the processor, beside Scrapy with a pipeline into SQLite.

Ours is `python main.py layers` as its user starts it, with every move and every row on disk; the
peer keeps its queue in memory and commits once at its end. Both are processes of their own, run in
turn on the same pages, timed from start to end.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.manuals import Site, served_folder
from bench.pages_peers import BENCH, VENV, install
from bench.report import RUNS, Bar, Row, Say
from bench.spent import Spent, timed, told

ROOT = Path(__file__).resolve().parent.parent
PAGES, IN_A_LISTING, AT_ONCE = 20_000, 50, 8
TASK = """about = "products of a made-up shop"
start = ["{seed}"]
robots = false
workers = {at_once}
[limits]
delay_s = 0
per_host = {at_once}
[tables.product]
key = ["sku"]
columns = {{ sku = "VARCHAR(20)", name = "TEXT", price = "DECIMAL(10,2)", stock = "INTEGER" }}
[layers.list]
next = [
    {{ to = "list", url = "a.next::attr(href)" }},
    {{ to = "product", each = "li.product", url = "a::attr(href)" }},
]
[[layers.product.rows]]
table = "product"
[layers.product.rows.fields]
sku = {{ css = ".sku::text", required = true }}
name = "h1::text"
price = {{ css = ".price::text", re = '[\\d.]+', as = "number" }}
stock = {{ css = ".stock::text", re = '\\d+', as = "number" }}
"""
PRODUCT = """<!doctype html><html><head><title>{name}</title></head><body><h1>{name}</h1>
<p class="about">Grown on a hill, picked by hand, dried in the shade and packed on the same day.</p>
<p class="price">&pound; {price}</p><p class="stock">In stock: {stock}</p>
<p>Its number is <b class="sku">{sku}</b>. <a href="/index.html">Back to the shelf</a></p></body>
"""


def measure(scale: float, say: Say) -> Iterator[Row]:
    install(say)
    count = round(PAGES * scale)
    with TemporaryDirectory(prefix="bench-") as name:
        root = Path(name) / "site"
        pages = make_site(root, count)
        with served_folder(root, "/index.html", Path(name) / "nginx") as site:
            runs = [one_run(site, number, count, pages, say) for number in range(1, RUNS + 1)]
    ours, theirs = [each[0] for each in runs], [each[1] for each in runs]
    ratios = [mine.cpu / other.cpu for mine, other in runs]
    what = f"{count:,} pages with a row each: CPU of ours / Scrapy with a pipeline into SQLite"
    yield Row(what, ratios, "", 3, Bar("<", 0.6), told(ours), told(theirs))


def make_site(root: Path, count: int) -> int:
    """Listings that lead to each other, and a page for each product; how many pages in all."""
    (root / "p").mkdir(parents=True)
    listings = -(-count // IN_A_LISTING)
    for number in range(count):
        product = PRODUCT.format(
            name=f"Tea no. {number}",
            price=f"{number % 5000 / 100:.2f}",
            stock=number % 400,
            sku=f"TEA-{number:05}",
        )
        (root / "p" / f"{number}.html").write_text(product)
    for number in range(listings):
        shown_here = range(number * IN_A_LISTING, min(count, (number + 1) * IN_A_LISTING))
        items = "".join(
            f'<li class="product"><a href="/p/{n}.html">{n}</a></li>' for n in shown_here
        )
        more = f'<a class="next" href="/list-{number + 1}.html">next</a>'
        body = f"<ul>{items}</ul>{more if number + 1 < listings else ''}"
        name = f"list-{number}.html" if number else "index.html"
        (root / name).write_text(f"<!doctype html><title>Teas</title><body>{body}</body>")
    return count + listings


def one_run(site: Site, number: int, count: int, pages: int, say: Say) -> tuple[Spent, Spent]:
    say(f"layers, run {number}: Scrapy")
    with TemporaryDirectory(prefix="bench-") as folder:
        peer = [str(VENV / "bin" / "python"), str(BENCH / "layers_scrapy.py")]
        theirs = timed([*peer, site.seed, str(AT_ONCE), "."], Path(folder), site.asked)
        require_all(Path(folder) / "items.db", count, theirs, pages)
    say(f"layers, run {number}: ours")
    with TemporaryDirectory(prefix="bench-") as folder:
        tasks = Path(folder) / "tasks"
        tasks.mkdir()
        (tasks / "shop.toml").write_text(TASK.format(seed=site.seed, at_once=AT_ONCE))
        command = [sys.executable, str(ROOT / "main.py"), "layers", "shop", "--quiet"]
        ours = timed(command, Path(folder), site.asked)
        require_all(Path(folder) / "state-layers" / "shop" / "items.db", count, ours, pages)
    return ours, theirs


def require_all(database: Path, count: int, spent: Spent, pages: int) -> None:
    """Fast and incomplete does not count."""
    with closing(sqlite3.connect(database)) as db:
        found, prices = db.execute("SELECT count(*), sum(price) FROM product").fetchone()
    expected = sum(number % 5000 / 100 for number in range(count))
    if found != count or abs(float(prices) - expected) > 1 or spent.pages != pages:
        raise RuntimeError(f"{database}: {found:,} rows of {count:,}, {spent.pages:,} pages")

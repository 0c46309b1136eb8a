"""Asking a site for rows: seconds of the processor beside Scrapy with an SQLite pipeline.

Ours is `python main.py layers` as its user starts it, with every move on disk, so that it could go
on after a crash at any moment; Scrapy's requests are in memory, and its rows in transactions of two
hundred. Both are processes of their own, run in turn in empty folders, timed from start to end.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from sqlite3 import connect
from statistics import median
from tempfile import TemporaryDirectory

from bench.pages_peers import BENCH, VENV, install
from bench.report import RUNS, Bar, Row, Say, shown
from bench.spent import Spent, timed

ROOT = BENCH.parent
ITEMS, AT_ONCE = 20_000, 16
OURS, SCRAPY = "ours", "Scrapy with SQLite"
WHERE = {OURS: "state-layers/shop/items.db", SCRAPY: "items.db"}
TASK = f"""
base = "{{base}}"
start = ["/"]
robots = false
workers = {AT_ONCE}
[limits]
delay_s = 0
per_host = {AT_ONCE}
[tables.item]
key = ["sku"]
columns = {{{{ sku = "VARCHAR(20)", name = "TEXT", price = "DECIMAL(10,2)" }}}}
[layers.home]
next = [{{{{ to = "list", each = "a.list", url = "::attr(href)" }}}}]
[layers.list]
next = [{{{{ to = "item", each = "li", url = "a::attr(href)" }}}}]
[layers.item]
[[layers.item.rows]]
table = "item"
[layers.item.rows.fields]
sku = {{{{ xpath = "//td/text()", required = true }}}}
name = "h1::text"
price = {{{{ css = ".price::text", re = '[\\d.]+', as = "number" }}}}
"""


def measure(scale: float, say: Say) -> Iterator[Row]:
    install(say)
    items = int(ITEMS * scale)
    with served(items) as (base, asked):
        runs = [one_run(base, asked, items, number, say) for number in range(1, RUNS + 1)]
    ours, theirs = ([run[name] for run in runs] for name in (OURS, SCRAPY))
    ratios = [mine.cpu / other.cpu for mine, other in zip(ours, theirs, strict=True)]
    what = f"{items:,} pages with a row each: CPU of ours / {SCRAPY}"
    yield Row(what, ratios, "", 3, Bar("<", 0.6), told(ours), told(theirs))
    paces = [1000 * each.cpu / each.pages for each in ours]
    yield Row(f"{items:,} pages: CPU of a page", paces, " ms", 2)


def one_run(
    base: str, asked: Callable[[], int], items: int, number: int, say: Say
) -> Mapping[str, Spent]:
    spent = {}
    for name in (OURS, SCRAPY):
        say(f"layers, run {number}: {name}")
        with TemporaryDirectory(prefix="bench-") as folder:
            spent[name] = timed(command(name, base, Path(folder)), Path(folder), asked)
            with closing(connect(Path(folder) / WHERE[name])) as db:
                ((rows,),) = db.execute("SELECT count(*) FROM item").fetchall()
            if rows != items:
                raise RuntimeError(f"{name} has {rows:,} rows of {items:,}")
    return spent


def command(name: str, base: str, folder: Path) -> list[str]:
    if name == SCRAPY:
        python, script = str(VENV / "bin" / "python"), str(BENCH / "layers_scrapy.py")
        return [python, script, base, str(AT_ONCE), "."]
    (folder / "tasks").mkdir()
    (folder / "tasks" / "shop.toml").write_text(TASK.format(base=base))
    return [sys.executable, str(ROOT / "main.py"), "layers", "shop", "--quiet"]


@contextmanager
def served(items: int) -> Iterator[tuple[str, Callable[[], int]]]:
    words = [sys.executable, str(BENCH / "layers_shop.py"), str(items)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        base = server.stdout.readline().strip()

        def asked() -> int:
            assert server.stdin is not None and server.stdout is not None
            server.stdin.write("\n")
            server.stdin.flush()
            return int(server.stdout.readline())

        try:
            yield base, asked
        finally:
            server.terminate()


def told(spent: Sequence[Spent]) -> str:
    cpu, wall = shown([each.cpu for each in spent], 1, " s"), median(each.wall for each in spent)
    return f"{cpu}, {wall:.1f} s in all, {median(each.mb for each in spent):.0f} MB"

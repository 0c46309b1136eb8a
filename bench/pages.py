"""Crawling: pages per second of the processor, beside Scrapy and others, on real manuals.

Ours is `python main.py pages` as its user starts it, with archive, table, words and every move on
disk; of the peers only Scrapy with its pipeline and wget keep anything, and none could go on after
a crash. All are processes of their own, run in turn in empty folders, timed from start to end.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench import pages_load
from bench.manuals import CPPREFERENCE, POSTGRES, Manual, Site, fetch, served
from bench.pages_peers import SCRAPY, commands, install
from bench.report import RUNS, Bar, Row, Say
from bench.spent import Spent, timed, told

ROOT = Path(__file__).resolve().parent.parent
AT_ONCE = 8
OURS = "ours"
MOST_MB = 150


class Bars(NamedTuple):
    """The most of Scrapy's time; and pages per second of the processor, on a machine where Scrapy
    does so many."""

    ratio: float
    pages: float
    scrapy: float


def measure(scale: float, say: Say) -> Iterator[Row]:
    """The smaller manual alone where all is a tenth."""
    install(say)
    manuals = {POSTGRES: Bars(0.37, 450, 168)}
    if scale == 1.0:
        manuals[CPPREFERENCE] = Bars(0.22, 300, 65)
    with TemporaryDirectory(prefix="bench-") as name:
        for number, (manual, bars) in enumerate(manuals.items()):
            fetch(manual, say)
            with served(manual, Path(name) / f"nginx-{number}") as site:
                runs = [one_run(manual, site, number, say) for number in range(1, RUNS + 1)]
            yield from compared(manual, bars, runs)
    yield from pages_load.measure(scale, say)


def one_run(manual: Manual, site: Site, number: int, say: Say) -> Mapping[str, Spent]:
    spent = {}
    for name, command in {OURS: crawl(site.seed), **commands(site.seed, AT_ONCE)}.items():
        say(f"pages {manual.name}, run {number}: {name}")
        with TemporaryDirectory(prefix="bench-") as folder:
            spent[name] = timed(command, Path(folder), site.asked)
    require_whole(spent)
    return spent


def crawl(seed: str) -> list[str]:
    how = ["--depth=1000000", "--delay=0", f"--per-host={AT_ONCE}", "--no-robots", "--quiet"]
    return [sys.executable, str(ROOT / "main.py"), "pages", f"--seed={seed}", *how]


def require_whole(spent: Mapping[str, Spent]) -> None:
    """Fast and incomplete does not count; peers may ask for pictures, and for a page twice."""
    pages = spent[OURS].pages
    for name, each in spent.items():
        if each.pages < pages * 0.99:
            raise RuntimeError(f"{name} asked for {each.pages} pages, ours for {pages}")


def compared(manual: Manual, bars: Bars, runs: Sequence[Mapping[str, Spent]]) -> Iterator[Row]:
    ours = [run[OURS] for run in runs]
    for peer in runs[0]:
        if peer == OURS:
            continue
        theirs = [run[peer] for run in runs]
        ratios = [mine.cpu / other.cpu for mine, other in zip(ours, theirs, strict=True)]
        bar = Bar("<", bars.ratio) if peer == SCRAPY else None
        what = f"{manual.name}: CPU of ours / {peer}"
        yield Row(what, ratios, "", 3, bar, told(ours), told(theirs))
    paces = [run[OURS].pace / run[SCRAPY].pace * bars.scrapy for run in runs]
    what = f"{manual.name}: pages per CPU second where Scrapy with WARC does {bars.scrapy:g}"
    yield Row(what, paces, "", 0, Bar(">=", bars.pages))
    memory = [each.mb for each in ours]
    yield Row(f"{manual.name}: memory", memory, " MB", 0, Bar("<", MOST_MB, " MB"))

"""`python main.py pages compare`: what few and what many workers crawl in the same time.

Promise: each crawl begins with nothing, in a folder that is gone afterwards; yours is not touched.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from ..base.values import finite, whole, words
from ..errors import UsageError
from . import flags

EXAMPLES = (
    "python main.py pages compare --sample --workers 1,25 --seconds 10",
    "python main.py pages compare --seeds seeds.txt --workers 1,5 --plot x.png",
)
WORKERS, SECONDS, LATENCY_S = ("1", "25"), 60.0, 0.2
NO_LIMIT = 1_000_000
ALL_WORDS = 10**12
HEAD = ("workers", "crawled", "queued", "words", "pages a second")


class Options(flags.Options):
    workers: tuple[str, ...]
    seconds: float
    sample: bool
    latency: float | None
    seed: list[str] | None
    seeds: Path | None
    depth: int | None
    scope: str | None
    per_host: int | None
    delay: float | None
    plot: Path | None
    config: Path | None


class Outcome(NamedTuple):
    """What one crawl had done when its time was over."""

    workers: int
    crawled: int
    queued: int
    words: int
    seconds: float

    @property
    def pace(self) -> float:
        return self.crawled / self.seconds if self.seconds else 0.0


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    many = "how many, a crawl for each number (1,25)"
    add("--workers", type=words, default=WORKERS, metavar="N,N", help=many)
    add("--seconds", type=finite, default=SECONDS, metavar="S", help="how long each crawls (60)")
    add("--sample", action="store_true", help="the built-in site, offline")
    late = f"of the built-in site: each answer takes S seconds ({LATENCY_S:g})"
    add("--latency", type=finite, metavar="S", help=late)
    add("--seeds", type=Path, metavar="FILE", help="where to begin: an address on each line")
    add("--seed", action="append", metavar="URL", help="where to begin (repeatable)")
    add("--depth", type=whole, metavar="N", help="at most N links away from a seed (no limit)")
    add("--scope", metavar="KIND", help="host (default), domain, prefix, list or any")
    add("--per-host", type=whole, metavar="N", help="requests to one host at a time (1)")
    add("--delay", type=finite, metavar="S", help="seconds between two of a host (1)")
    add("--plot", type=Path, metavar="FILE", help="draw it as FILE.svg or FILE.png")
    flags.add_places(parser, "config")


def run(options: Options) -> int:
    numbers = numbers_of(options.workers)
    if options.sample == bool(options.seed or options.seeds):
        raise UsageError("pages compare needs --sample, or --seed URL or --seeds FILE")
    with ExitStack() as stack:
        where, environment = begun(options, stack)
        flags = [f"--seconds={options.seconds}", *where, *how(options)]
        outcomes = [crawled(number, flags, environment) for number in numbers]
    print("\n".join(told(outcomes)))
    if options.plot is not None:
        from ..reports.bar_chart import draw_bars

        rows = [(f"{each.workers} at once", each.crawled) for each in outcomes]
        draw_bars(rows, options.plot, f"Pages crawled in {options.seconds:g} seconds")
        print(options.plot)
    return 0


def numbers_of(texts: Sequence[str]) -> list[int]:
    if not all(text.isdecimal() and 0 < int(text) <= 1000 for text in texts):
        raise UsageError("--workers must be numbers from 1 to 1,000, such as 1,25")
    return [int(text) for text in texts]


def begun(options: Options, stack: ExitStack) -> tuple[list[str], dict[str, str]]:
    """Flags that say where a crawl begins, and its environment; the built-in site is served here,
    so that it costs the crawl nothing, and nobody has to be polite to it."""
    if not options.sample:
        seeds = [f"--seed={each}" for each in options.seed or ()]
        return [*seeds, *([f"--seeds={options.seeds}"] if options.seeds else [])], {}
    from ..network.settings import PROXIES_VARIABLE
    from ..sample import garden
    from ..sample.garden_site import GardenSite

    latency = LATENCY_S if options.latency is None else options.latency
    site = stack.enter_context(GardenSite(latency))
    words = [f"--seed={garden.BASE}{garden.FIELD}1", "--per-host=100", "--delay=0", "--no-robots"]
    return words, {PROXIES_VARIABLE: site.url, "SHEAF_PAGES_DELAY_FACTOR": "0"}


def how(options: Options) -> Iterator[str]:
    yield f"--depth={NO_LIMIT if options.depth is None else options.depth}"
    for name in ("scope", "per_host", "delay", "config"):
        if (value := getattr(options, name)) is not None:
            yield f"--{name.replace('_', '-')}={value}"


def crawled(workers: int, words: Sequence[str], environment: dict[str, str]) -> Outcome:
    from .child import run_to_end

    with tempfile.TemporaryDirectory(prefix="sheaf-compare-") as folder:
        state = Path(folder) / "state"
        places = [f"--state={state}", f"--archive={folder}/archive", "--database=sqlite:pages.db"]
        run_to_end(
            ["pages", *places, f"--download-workers={workers}", "--quiet", *words], **environment
        )
        return outcome_in(state, workers)


def outcome_in(state: Path, workers: int) -> Outcome:
    from ..pages.table_sqlite import SqlitePages

    with closing(SqlitePages(state / "pages.db", writable=False)) as table:
        states = table.counts().states
        counted = sum(each.count for each in table.words(ALL_WORDS))
        moments = [
            datetime.fromisoformat(text)
            for page in table.pages()
            for text in (page.created_at, page.fetched_at)
            if text is not None
        ]
    took = (max(moments) - min(moments)).total_seconds()
    return Outcome(workers, states.get(1, 0), states.get(0, 0), counted, took)


def told(outcomes: Sequence[Outcome]) -> list[str]:
    from ..reports.tables import table

    rows = [(*(f"{number:,}" for number in each[:4]), f"{each.pace:.1f}") for each in outcomes]
    return table([HEAD, *rows], left=())

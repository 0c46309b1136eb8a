"""The whole harvest beside a plain walk, on the same pages in the same minute.

Ours is `python main.py` as its user starts it, with pools and the embedded graph on disk; the peer
(`bench/peer.py`) keeps everything in memory, Scrapy (`bench/fetch_scrapy.py`) its queue on disk.
All are processes of their own, timed from start to end with nothing subtracted; what the server saw
from the first request to the last is shown beside.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import orjson
import requests

from bench.pages_peers import BENCH, VENV, install
from bench.report import RUNS, Bar, Row, Say, shown
from bench.server import SEED, WINDOW, serving
from tools.graphs.sqlite import look as look_at_graph
from tools.journal.reader import look

ROOT = Path(__file__).resolve().parent.parent
LONGEST_RUN_S = 1800
RELATIONS_PER_PAGE = 5
SCRAPY = "Scrapy's"
MOST_CPU = {"plain": Bar("<", 0.7), SCRAPY: Bar("<", 0.35)}  # of theirs, where nobody waits


class Pace(NamedTuple):
    """Pages per second: of the whole process, and between its first and last request. `cpu` are
    microseconds of the processor for a page, start-up included."""

    whole: float
    inner: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    concepts: int
    latency_ms: float
    workers: int
    bar: Bar
    peers: Sequence[str] = ("plain",)  # kinds of bench/peer.py, or Scrapy

    @property
    def title(self) -> str:
        size = f"{self.concepts:,} pages, {self.latency_ms:g} ms, {self.workers} workers"
        return f"{self.name}) {size}"

    @property
    def ideal(self) -> float:
        return self.workers / self.latency_ms * 1000


def settings(scale: float) -> list[Setting]:
    return [
        Setting("a", round(20_000 * scale), 0, 8, Bar(">=", 1.0), ("plain", "lean", SCRAPY)),
        Setting("b", round(20_000 * scale), 50, 8, Bar(">=", 0.95), ()),
        Setting("c", round(20_000 * scale), 50, 64, Bar(">=", 0.85)),
    ]


def measure(scale: float, say: Say) -> Iterator[Row]:
    install(say)
    for setting in settings(scale):
        yield from compare(setting, say)


def compare(setting: Setting, say: Say) -> list[Row]:
    """Peer and ours in turn, so that whatever else the machine does hits both."""
    ours: list[Pace] = []
    peers: dict[str, list[Pace]] = {peer: [] for peer in setting.peers}
    with server(setting) as url:
        for number in range(1, RUNS + 1):
            for peer, paces in peers.items():
                say(f"fetch {setting.title}, run {number}: {peer} walk")
                paces.append(timed(url, setting.concepts, peer_command(url, setting, peer)))
            say(f"fetch {setting.title}, run {number}: ours")
            ours.append(harvest(url, setting))
    if not peers:
        return [against_ideal(setting, ours)]
    return [
        row(setting, ours, peer, paces)
        for row in (against_peer, cpu_against_peer)
        for peer, paces in peers.items()
    ]


def against_ideal(setting: Setting, ours: Sequence[Pace]) -> Row:
    ratios = [pace.whole / setting.ideal for pace in ours]
    what = f"{setting.title}: of the ideal"
    return Row(what, ratios, "", 3, setting.bar, pages(ours), f"{setting.ideal:,.0f}/s ideal")


def against_peer(setting: Setting, ours: Sequence[Pace], peer: str, theirs: Sequence[Pace]) -> Row:
    """The bar is for the plain walk; the lean one is shown without."""
    ratios = [mine.whole / other.whole for mine, other in zip(ours, theirs, strict=True)]
    bar = setting.bar if peer == "plain" else None
    what = f"{setting.title}: ours / {peer} walk"
    return Row(what, ratios, "", 3, bar, pages(ours), pages(theirs))


def cpu_against_peer(
    setting: Setting, ours: Sequence[Pace], peer: str, theirs: Sequence[Pace]
) -> Row:
    ratios = [mine.cpu / other.cpu for mine, other in zip(ours, theirs, strict=True)]
    bar = MOST_CPU.get(peer) if not setting.latency_ms else None
    what = f"{setting.title}: CPU of ours / {peer} walk"
    mine, other = (shown([pace.cpu for pace in each], 0, " µs a page") for each in (ours, theirs))
    return Row(what, ratios, "", 3, bar, mine, other)


def pages(paces: Sequence[Pace]) -> str:
    whole, inner = [pace.whole for pace in paces], [pace.inner for pace in paces]
    return f"{shown(whole)}/s, first to last {median(inner):,.0f}/s"


def peer_command(url: str, setting: Setting, peer: str) -> list[str]:
    if peer == SCRAPY:
        script = str(BENCH / "fetch_scrapy.py")
        return [str(VENV / "bin" / "python"), script, url, SEED, str(setting.workers), "queue"]
    script = str(BENCH / "peer.py")
    return [sys.executable, script, url, SEED, str(setting.workers), peer]


def harvest(url: str, setting: Setting) -> Pace:
    with TemporaryDirectory(prefix="bench-") as folder:
        flags = ["--source", url, "--seed", SEED, "--no-media", "--state", folder, "-q"]
        workers = ["--fetch-workers", str(setting.workers)]
        command = [sys.executable, str(ROOT / "main.py"), *flags, *workers]
        pace = timed(url, setting.concepts, command)
        check(Path(folder), setting.concepts)
    return pace


def check(state: Path, concepts: int) -> None:
    """Fast and wrong does not count."""
    pools, graph = look(state / "pools.db").pools, look_at_graph(state / "graph.db")
    if pools["finished"] != concepts or sum(pools.values()) != concepts:
        raise RuntimeError(f"not everything was harvested: {pools}")
    if graph.entities != concepts or graph.relations < concepts * (RELATIONS_PER_PAGE - 1):
        raise RuntimeError(f"not everything is in the graph: {graph}")


def timed(url: str, concepts: int, command: Sequence[str]) -> Pace:
    served_since_last_asked(url)
    begun, spent = time.perf_counter(), cpu_of_children()
    with TemporaryDirectory(prefix="bench-") as folder:  # no sheaf.toml of the user's
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=LONGEST_RUN_S,
        )
        seconds = time.perf_counter() - begun
    if done.returncode:
        raise RuntimeError(f"{command[1]} ended with {done.returncode}: {done.stderr[-2000:]}")
    served, inner = served_since_last_asked(url)
    if served < concepts:
        raise RuntimeError(f"{command[1]} asked for {served} of {concepts} pages")
    cpu = (cpu_of_children() - spent) / concepts * 1e6
    return Pace(concepts / seconds, concepts / inner, cpu)


def cpu_of_children() -> float:
    """Seconds, of those that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def environment() -> dict[str, str]:
    """The same for both, without proxies: nothing here leaves the machine. A module is compiled
    once, as it is where nobody forbids it."""
    left_out = ("PROX", "PYTHONDONTWRITEBYTECODE")
    return {
        key: value
        for key, value in os.environ.items()
        if not any(each in key.upper() for each in left_out)
    }


def served_since_last_asked(url: str) -> tuple[int, float]:
    with requests.Session() as session:
        session.trust_env = False
        window = orjson.loads(session.get(url + WINDOW, timeout=10).content)
    return window["pages"], window["seconds"]


def server(setting: Setting) -> AbstractContextManager[str]:
    size = ("--concepts", str(setting.concepts), "--latency", str(setting.latency_ms))
    return serving("bench.server", *size)

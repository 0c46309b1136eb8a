"""What a crawl does beside being quick: many workers, many hosts, many known pages, three stages.

python -m bench.pages_load serve LATENCY_MS    (a site without end, on every loopback address)
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from bench.report import RUNS, Bar, Row, Say
from bench.server import serving
from bench.spent import timed
from tools.engine.pools import Pools
from tools.engine.stage import Done, Found, Stage
from tools.pages.table_sqlite import SqlitePages

ROOT = Path(__file__).resolve().parent.parent
FEW, MANY, LATENCY_MS = 1, 25, 200
HOSTS, HOST_MS = 250, 50
KNOWN, FOR_EACH = 1_000_000, 40_000
MOVED, AT_ONCE = 20_000, 16
GIB_MB = 1024


def measure(scale: float, say: Say) -> Iterator[Row]:
    seconds = max(10, round(60 * scale))
    yield many_workers(seconds, say)
    yield many_hosts(HOSTS, seconds, say)
    yield many_known(round(KNOWN * scale), say)
    yield three_stages(round(MOVED * scale), say)


# --- many workers, many hosts ----------------------------------------------------------------


def many_workers(seconds: int, say: Say) -> Row:
    """By how many pages each has fetched in the same time."""
    with serving("bench.pages_load", "serve", str(LATENCY_MS)) as url:
        ratios = []
        for number in range(1, RUNS + 1):
            say(f"pages, run {number}: {FEW} worker and {MANY}, {LATENCY_MS} ms")
            few, many = (
                crawled([f"{url}/p/1"], each, seconds, ["--delay=0", f"--per-host={each}"])
                for each in (FEW, MANY)
            )
            ratios.append(many / few)
    what = f"{MANY} workers / {FEW} worker, {LATENCY_MS} ms, {seconds} s"
    return Row(what, ratios, "", 1, Bar(">=", 20))


def many_hosts(hosts: int, seconds: int, say: Say) -> Row:
    """Each may be asked every second: of that, how much."""
    with serving("bench.pages_load", "serve", str(HOST_MS)) as url:
        port = urlsplit(url).port
        seeds = [f"http://127.0.{1 + n // 200}.{1 + n % 200}:{port}/p/1" for n in range(hosts)]
        shares = []
        for number in range(1, RUNS + 1):
            say(f"pages, run {number}: {hosts} hosts, a page a second each")
            pages = crawled(seeds, 64, seconds, ["--delay=1", "--per-host=1"])
            shares.append(pages / (hosts * seconds))
    what = f"{hosts} hosts at a page a second each, {seconds} s: of the ideal"
    return Row(what, shares, "", 3, Bar(">=", 0.95))


def crawled(seeds: Sequence[str], workers: int, seconds: int, how: Sequence[str]) -> int:
    """Pages that were fetched within that time, counted from the first."""
    with TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        (folder / "seeds.txt").write_text("\n".join(seeds), encoding="utf-8")
        words = ["--seeds=seeds.txt", f"--download-workers={workers}", f"--seconds={seconds + 15}"]
        timed([*base(), *words, *how], folder, lambda: 0)
        with closing(SqlitePages(folder / "state-pages" / "pages.db", writable=False)) as table:
            moments = sorted(page.fetched_at for page in table.pages() if page.fetched_at)
    return sum(_seconds(moments[0], each) <= seconds for each in moments)


def base() -> list[str]:
    main = str(ROOT / "main.py")
    return [sys.executable, main, "pages", "--depth=1000000", "--no-robots", "--quiet"]


def _seconds(first: str, last: str) -> float:
    return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()


# --- many known ------------------------------------------------------------------------------


def many_known(known: int, say: Say) -> Row:
    """The most memory of a crawl that finds so many pages and is told to fetch only some."""
    sizes = []
    with serving("bench.pages_load", "serve", "0") as url, TemporaryDirectory() as name:
        say(f"pages: {known:,} known pages")
        lists = max(1, known // FOR_EACH)
        words = [f"--seed={url}/lists/{lists}", f"--limit={lists + 100}", "--delay=0"]
        spent = timed([*base(), *words, "--per-host=8"], Path(name), lambda: 0)
        sizes.append(spent.mb)
        with closing(SqlitePages(Path(name) / "state-pages" / "pages.db", writable=False)) as table:
            found = sum(table.counts().states.values())
    if found < lists * FOR_EACH:
        raise RuntimeError(f"only {found:,} pages are known")
    return Row(f"a crawl with {found:,} known pages: memory", sizes, " MB", 0, Bar("<", GIB_MB))


# --- three stages ----------------------------------------------------------------------------


def three_stages(count: int, say: Say) -> Row:
    """What two more moves of every page cost, in us of the processor."""
    costs = []
    for number in range(1, RUNS + 1):
        say(f"pages, run {number}: three stages and one")
        one, three = moved(count, ("download",)), moved(count, ("download", "analyse", "control"))
        costs.append((three - one) / count * 1e6)
    return Row("three durable stages over one, a page", costs, " us", 0, Bar("<", 60))


def moved(count: int, names: Sequence[str]) -> float:
    stages = [Stage(name, AT_ONCE) for name in names]
    with TemporaryDirectory() as folder, closing(Pools(Path(folder) / "p.db", stages)) as pools:
        pools.discover(Found(names[0], [f"page {number}" for number in range(count)]))
        begun = time.process_time()
        for stage, to in zip(
            stages, [*(f"to_{name}" for name in names[1:]), "finished"], strict=True
        ):
            while tasks := pools.lease(stage, AT_ONCE):
                pools.advance(*((task, Done(to)) for task in tasks))
        return time.process_time() - begun


# --- the site --------------------------------------------------------------------------------


class Endless(asyncio.Protocol):
    """`/p/N` leads to its next pages, `/lists/N` to N lists of pages."""

    def __init__(self, latency: float) -> None:
        self._latency = latency
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *requests, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for request in requests:
            answer = page(request.split(b" ", 2)[1].decode())
            asyncio.get_running_loop().call_later(self._latency, self._transport.write, answer)  # type: ignore[attr-defined]


def page(path: str) -> bytes:
    kind, _, number = path.strip("/").partition("/")
    at = int(number) if number.isdecimal() else 0
    if kind == "lists":
        links = [f"/list/{each}" for each in range(at)]
    elif kind == "list":
        links = [f"/q/{at * FOR_EACH + each}" for each in range(FOR_EACH)]
    else:
        links = [f"/p/{2 * at}", f"/p/{2 * at + 1}"] if kind == "p" else []
    text = "".join(f"<a href={link}>{link}</a>\n" for link in links)
    body = f"<!doctype html><title>{path}</title><p>Page {path}\n{text}".encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def serve(latency: float) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    server = await loop.create_server(lambda: Endless(latency), "0.0.0.0", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    loop.add_reader(sys.stdin, ended.set)
    await ended.wait()
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[2]) / 1000))

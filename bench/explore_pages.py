"""Every page of the live page, asked over HTTP as browsers do: what its server spends on each.

The graph is that of `explore`; the state has two million URIs, a hundred thousand of which failed.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

import requests

from bench.quiet import seconds_of
from bench.report import Bar, Row, Say
from bench.scale_state import Bounds, grow

ROOT = Path(__file__).parents[1]
ANSWER = Bar("<", 0.2, " s")
URIS, FAILURES = 2_000_000, 100_000
LONGEST_S = 600
OFTEN = 10  # answers a figure: a tick of the clock is 10 ms
IDLE_S = 0.5  # longer than an answer about the state is kept: each page pays for its own
REASONS = ("HTTP 404 for https://example.org/", "connection lost to ", "no answer in 30 s from ")


def measured(home: Path, concepts: Sequence[str], scale: float, say: Say) -> Iterator[Row]:
    """`home` is a state folder that has the graph and its search.db already."""
    say("making the state")
    state(home, scale)
    with served(home) as server:
        say("asking over HTTP")
        server.ask("/stats")  # which has the figures counted, aside
        server.settle()
        for what, addresses in pages(concepts).items():
            yield answered(what, server, addresses)


def state(home: Path, scale: float) -> None:
    """A short harvest, then as many URIs as years would bring."""
    words = ["--sample", "--limit", "5", "--no-media", "-q", "--state", str(home)]
    graph = f"sqlite:{home / 'small.db'}"
    subprocess.run(
        [sys.executable, str(ROOT / "main.py"), *words, "--graph", graph], check=True, cwd=home
    )
    file = home / "pools.db"
    grow(file, int(URIS * scale), Bounds(time.monotonic() + LONGEST_S, 1 << 40))
    with closing(sqlite3.connect(file)) as db:
        for at, reason in enumerate(REASONS):
            db.execute(
                "UPDATE uri SET pool = 1, reason = ? || id, failed_in = "
                "(SELECT id FROM pool WHERE name = 'to_fetch') WHERE id % ? = ? AND pool = 0",
                (reason, len(REASONS) * URIS // FAILURES // 2, at),
            )
        (number,) = db.execute("SELECT count(*) FROM uri WHERE pool = 1").fetchone()
        db.execute("UPDATE tally SET counts = json_set(counts, '$.failed', ?)", (number,))
        db.commit()


class Server(NamedTuple):
    pid: int
    ask: Callable[[str], requests.Response]

    def spent(self) -> float:
        return seconds_of([self.pid])

    def settle(self) -> None:
        """What it does by itself after its start, such as looking whether search.db is whole."""
        before = -1.0
        while self.spent() - before > 0.02:
            before = self.spent()
            time.sleep(IDLE_S)


@contextmanager
def served(home: Path) -> Iterator[Server]:
    words = ["serve", "--port", "0", "--state", str(home), "--graph", f"sqlite:{home / 'graph.db'}"]
    command = [sys.executable, str(ROOT / "main.py"), *words]
    with (
        subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, text=True) as process,
        requests.Session() as session,
    ):
        try:
            assert process.stdout is not None
            address = next(line.split()[-1] for line in process.stdout if "token=" in line)
            place, _, token = address.partition("/?token=")
            session.headers["Authorization"] = f"Bearer {token}"
            yield Server(process.pid, partial(_asked, session, place))
        finally:
            process.terminate()


def _asked(session: requests.Session, place: str, address: str) -> requests.Response:
    answer = session.get(place + address, timeout=60)
    assert answer.status_code == 200, f"{address}: {answer.status_code}"
    return answer


def pages(concepts: Sequence[str]) -> dict[str, Sequence[str]]:
    """With the dearest of each kind: a concept of 100,000 relations, filters that few pass."""
    crowd, some = concepts[0], concepts[1:20]
    filters = [{"kind": "audio"}, {"provider": "giphy", "licence": "CC0 1.0"}, {"type": "IsA"}]
    return {
        **{
            name: [f"/{name}"] for name in ("work", "refused", "runs", "log", "settings", "queries")
        },
        "overview": ["/"],
        "failed": ["/failed"],
        "failed for a reason": [f"/failed?{urlencode({'reason': REASONS[1]})}"],
        "search": [f"/search?q={quote(text)}" for text in ("b", "ba", "bado", "crowd", "zzz")],
        "as you type": [f"/search/found?q={quote(text)}" for text in ("b", "ba", "ka ke", "zzz")],
        "concept": some,
        "concept of 100,000 relations": [crowd],
        "picture of a neighbourhood": [f"/graph?concept={quote(each)}" for each in some],
        "two steps of it": [f"/graph?depth=2&concept={quote(each)}" for each in some],
        "that of 100,000 relations": [f"/graph?concept={crowd}"],
        "type of relations": ["/r/IsA", "/r/RelatedTo"],
        "paths": [f"/path?from={quote(each)}&to={crowd}" for each in some],
        "gallery": ["/media"],
        "gallery, filtered": [f"/media?{urlencode(each)}" for each in filters],
        "figures": ["/stats"],
        "metrics": ["/metrics"],
        "history as JSON": ["/api/history"],
    }


def answered(what: str, server: Server, addresses: Sequence[str]) -> Row:
    """The mean of some answers, the dearest kind of each page included, to one who comes now and
    then."""
    spent = []
    for _ in range(3):
        began = server.spent()
        for at in range(OFTEN):
            server.ask(addresses[at % len(addresses)])
            time.sleep(IDLE_S)
        spent.append((server.spent() - began) / OFTEN)
    return Row(f"page over HTTP, {what}: CPU of one", spent, " s", 3, ANSWER)

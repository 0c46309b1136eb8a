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
from statistics import median
from typing import NamedTuple

import requests

from bench.explore_addresses import ALL_OF_A_CROWD, REASONS, Question, kinds
from bench.quiet import seconds_of
from bench.report import Bar, Row, Say
from bench.scale_state import Bounds, grow

ROOT = Path(__file__).parents[1]
ANSWER = Bar("<", 0.2, " s")
URIS, FAILURES = 2_000_000, 100_000
LONGEST_S = 600
IDLE_S = 0.5  # longer than an answer about the state is kept: each page pays for its own
AFTER_S = 0.05  # until what an answer leaves behind is done
LONGEST_NAME = 60  # of an address in the table


def measured(home: Path, concepts: Sequence[str], scale: float, say: Say) -> Iterator[Row]:
    """`home` is a state folder that has the graph and its search.db already."""
    say("making the state")
    state(home, scale)
    with served(home) as server:
        say("asking over HTTP")
        server.ask("/stats")  # which has the figures counted, aside
        server.settle()
        for what, questions in kinds(home, concepts).items():
            yield dearest(what, server, questions)


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
    ask: Callable[[str], None]

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


def _asked(session: requests.Session, place: str, address: str) -> None:
    """To the end, or to the end of the first event of what never ends."""
    with session.get(place + address, timeout=60, stream=True) as answer:
        assert answer.status_code == 200, f"{address}: {answer.status_code}"
        if not address.startswith("/live/"):
            assert answer.content, address
        else:
            assert any(line.startswith(b"data:") for line in answer.iter_lines()), address


def dearest(what: str, server: Server, questions: Sequence[Question]) -> Row:
    """The question whose median is the highest, to somebody who comes now and then."""
    spent = {question[0]: [_spent_on(server, each) for each in question] for question in questions}
    address = max(spent, key=lambda each: median(spent[each]))
    bar = None if what == ALL_OF_A_CROWD else ANSWER
    which = address[:LONGEST_NAME] if len(spent) > 1 else ""
    title = f"page over HTTP, {what}: CPU of the dearest"
    return Row(title, spent[address], " s", 3, bar, ours=which)


def _spent_on(server: Server, address: str) -> float:
    time.sleep(IDLE_S)
    began = server.spent()
    server.ask(address)
    time.sleep(AFTER_S)
    return server.spent() - began

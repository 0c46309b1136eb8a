"""The mirror beside ConceptNet's own server over the same made-up lines: processor time a page.

Every page is asked for once, by one client that keeps its connection, of a server that has just
been started: nothing is said again from memory. What PostgreSQL spends is the peer's own. A run
counts only if both show the same edges.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, urlsplit

import requests

from bench.dump_lines import write
from bench.mirror_load import Client, Task, concepts, request
from bench.report import RUNS, Bar, Row, Say, shown
from tests.support import postgres_server

ROOT = Path(__file__).resolve().parent.parent
LINES, PAGES, PEER_PAGES = 200_000, 10_000, 1_500
WARM_UP = 100  # pages that are not counted
WITHIN = "/c/en/"
HOME = Path.home() / ".cache" / "sheaf" / "conceptnet-venv"
PACKAGES = (
    *("flask==3.1.3", "gunicorn==27.0.1", "psycopg2-binary==2.9.13", "click==8.5.1"),
    *("ftfy==6.3.1", "langcodes==3.5.1", "marisa-trie==1.4.1", "msgpack==1.2.4", "numpy==2.4.6"),
    *("ordered-set==4.1.0", "pandas==3.1.1", "requests==2.34.2", "scikit-learn==1.9.1"),
    *("scipy==1.17.1", "statsmodels==0.15.0", "tables==3.11.1", "annoy==1.17.3"),
    *("wordfreq==3.1.1", "xmltodict==0.11.0"),
)
PEER = "ConceptNet==5.7.0"  # without what it names: half of that is for its build, and long gone
DATABASE = "conceptnet5"
TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE_S = 60.0
SERVE = (
    "import sys; from pathlib import Path; from tools.conceptnet.index.build import open_index\n"
    "from tools.conceptnet.mirror.mirror import Mirror\n"
    "if __name__ == '__main__':\n"
    "    mirror = Mirror(open_index(Path(sys.argv[1]), None))\n"
    "    print(mirror.url, flush=True)\n"
    "    mirror.serve_forever()\n"
)


def measure(scale: float, say: Say) -> Iterator[Row]:
    install(say)
    lines, number, few = (max(300, round(size * scale)) for size in (LINES, PAGES, PEER_PAGES))
    with TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        file = folder / "lines.csv.gz"
        say(f"mirror: making up {lines:,} lines, and ConceptNet's tables of them")
        write(file, lines)
        paths = concepts(file, WARM_UP + number, WITHIN)
        with tables(file, folder) as (postmaster, settings):
            runs = [one_run(file, paths, few, postmaster, settings) for _ in range(RUNS)]
    yield from told(runs)


def one_run(
    file: Path, paths: Sequence[str], few: int, postmaster: int, settings: dict[str, str]
) -> tuple[float, float, float]:
    """Microseconds of the processor a page, ours and the peer's, and bytes a page."""
    with ours(file) as (url, pid):
        mine = spent_on(url, paths, [pid])
        said = pages(url, paths[:few])
    with peer(settings) as (url, pid):
        theirs = spent_on(url, paths[: WARM_UP + few], [pid, postmaster])
        others = pages(url, paths[:few])
    if different := sum(map(is_another, said, others)):
        raise RuntimeError(f"{different} of {few} pages have other edges")
    return mine, theirs, sum(map(len, said)) / len(said)


def told(runs: Sequence[tuple[float, float, float]]) -> Iterator[Row]:
    mine, theirs, sizes = zip(*runs, strict=True)
    what = f"a {WITHIN} page of {sizes[0] / 1000:.1f} KB that was not asked for before: CPU"
    yield Row(what, mine, " µs", 0, Bar("<", 80, " µs"))
    ratios = [other / own for own, other in zip(mine, theirs, strict=True)]
    ours_shown, theirs_shown = shown(mine, 0, " µs"), shown(theirs, 0, " µs")
    what = f"the same of {PEER} with Flask, gunicorn and PostgreSQL / ours"
    yield Row(what, ratios, "", 1, Bar(">=", 10), ours_shown, theirs_shown)


def spent_on(url: str, paths: Sequence[str], pids: Sequence[int]) -> float:
    """Microseconds that the processes spend on a page, but for the first pages."""
    parts = urlsplit(url)
    task = Task(parts.hostname or "", parts.port or 80, paths, clients=1, seconds=0)
    client = Client(task, (request(task, path) for path in paths))
    before = 0.0
    with client.socket:
        for number in range(len(paths)):
            if number == WARM_UP:
                before = cpu(pids)
            client.ask()
            while client.take() is None:
                pass
            if not client.is_page():
                raise RuntimeError(f"{url}{paths[number]} is no page")
        return (cpu(pids) - before) / (len(paths) - WARM_UP) * 1e6


def pages(url: str, paths: Sequence[str]) -> list[bytes]:
    with requests.Session() as session:
        return [session.get(url + quote(path), timeout=PATIENCE_S).content for path in paths]


def is_another(ours: bytes, theirs: bytes) -> bool:
    """Which of many equally heavy edges stand on the first page, the peer does not promise."""
    mine, others = edges(ours), edges(theirs)
    return len(mine) != len(others) or (len(mine) < 20 and mine != others)


def edges(page: bytes) -> list[tuple[Any, ...]]:
    found = json.loads(page)["edges"]
    return sorted((each["@id"], each["weight"], each["surfaceText"]) for each in found)


def cpu(pids: Sequence[int]) -> float:
    """Seconds of the processor that they and all they started have spent."""
    parents = {int(each.name): stat(each) for each in Path("/proc").glob("[0-9]*")}
    every, found = set(pids), set[int]()
    while every:
        found |= every
        every = {pid for pid, (parent, _) in parents.items() if parent in every} - found
    return sum(parents[pid][1] for pid in found) / TICKS


def stat(process: Path) -> tuple[int, int]:
    """Its parent, and the ticks that it and its children who are gone have had."""
    try:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:  # gone meanwhile
        return 0, 0
    return int(fields[1]), sum(map(int, fields[11:15]))


@contextmanager
def ours(file: Path) -> Iterator[tuple[str, int]]:
    with started([sys.executable, "-c", SERVE, str(file)], ROOT, {}) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process.pid


@contextmanager
def peer(settings: dict[str, str]) -> Iterator[tuple[str, int]]:
    worker = ("--workers", "1", "--worker-class", "gthread", "--threads", "1", "--keep-alive", "75")
    command = [HOME / "bin" / "gunicorn", *worker, "--bind", "127.0.0.1:0", "mirror_conceptnet:app"]
    with started(list(map(str, command)), ROOT / "bench", settings) as process:
        yield listening(process), process.pid


def listening(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"Listening at: (http://\S+)", line):
            return found[1]
    raise RuntimeError("ConceptNet's server did not start")


@contextmanager
def started(
    command: Sequence[str], folder: Path, settings: dict[str, str]
) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


@contextmanager
def tables(file: Path, folder: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The number of PostgreSQL's first process, and what leads to ConceptNet's tables in it."""
    with postgres_server.postgres_server() as server:
        server.query("postgres", f"CREATE DATABASE {DATABASE}")
        user = postgres_server.USER
        settings = {"PGHOST": str(server.home), "PGUSER": user, "CONCEPTNET_DB_NAME": DATABASE}
        rows = folder / "rows"
        rows.mkdir()
        program = str(ROOT / "bench" / "mirror_conceptnet.py")
        command = [str(HOME / "bin" / "python"), program, str(file), str(rows)]
        subprocess.run(command, env=os.environ | settings, check=True)
        first = (server.home / "data" / "postmaster.pid").read_text().split("\n", 1)[0]
        yield int(first), settings


def install(say: Say) -> None:
    """Into an environment of its own, once."""
    if (HOME / "complete").exists():
        return
    say(f"mirror: installing {PEER} into {HOME}")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(HOME)], check=True)
    pip = [str(HOME / "bin" / "pip"), "install", "--quiet"]
    subprocess.run([*pip, *PACKAGES], check=True)
    subprocess.run([*pip, "--no-deps", PEER], check=True)
    (HOME / "complete").touch()

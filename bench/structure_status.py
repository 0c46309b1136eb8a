"""How long `structure status` takes over a million documents, with few and with many failures."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.fetch import environment
from bench.report import RUNS, Bar, Row, Say
from tools.engine.pools import Pools
from tools.engine.stage import Found, Stage
from tools.journal.schema import FAILED, FINISHED
from tools.structure.raw import Raw

ROOT = Path(__file__).resolve().parent.parent
JOB = 'source = "folder:raw"\n[[parsers]]\nparser = "json"\n'
STAGES = (
    Stage("dispatch", 1),
    Stage("parse", 2, "priority", kind="computes"),
    Stage("export", 1, "priority", kind="computes"),
)
BATCH, FEW, REASONS = 50_000, 50, 20
LONGEST_S = 600


def measure_status(count: int, many: int, say: Say) -> Iterator[Row]:
    with TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        (folder / "structures" / "raw").mkdir(parents=True)
        (folder / "structures" / "raw" / "first.json").write_text("{}")
        (folder / "structures" / "farms.toml").write_text(JOB)
        run(folder, "structure", "dispatch", "farms", "-q")
        say(f"structure: building a state of {count:,} documents")
        pools = folder / "state-structure" / "farms" / "pools.db"
        build(pools, count)
        few = [timed_status(folder) for _ in range(RUNS)]
        fail(pools, many)
        much = [timed_status(folder) for _ in range(RUNS)]
    name = f"`structure status` of {count:,} documents, {many:,} of them failed: seconds in all"
    yield Row(name, much, " s", 2, Bar("<", 1, " s"))
    ratios = [a / b for a, b in zip(much, few, strict=True)]
    yield Row(f"the same beside {FEW} failed", ratios, "", 2, Bar("<", 1.3))


def build(file: Path, count: int) -> None:
    """Found, and all but a few at their end; the next start counts anew."""
    with closing(Pools(file, STAGES)) as pools:
        for at in range(0, count, BATCH):
            numbers = range(at, min(at + BATCH, count))
            uris = [f"farms {sha256(b'%d' % number).hexdigest()}" for number in numbers]
            notes = [note_of(number) for number in numbers]
            pools.discover(Found("parse", uris, 2, 0, notes))
    with closing(sqlite3.connect(file)) as db:
        db.execute("UPDATE uri SET pool = ? WHERE note IS NOT NULL AND id % 10 < 9", (FINISHED,))
        db.commit()
    fail(file, FEW)


def note_of(number: int) -> str:
    return Raw(f"{number}.json", "folder:raw", f"{number}.json", None, 700, "json").as_note()


def fail(file: Path, count: int) -> None:
    """So many in all."""
    with closing(sqlite3.connect(file)) as db:
        db.execute(
            "UPDATE uri SET pool = ?, reason = 'KeyError: field ' || (id % ?), attempts = 1, "
            "failed_in = (SELECT id FROM pool WHERE name = 'to_parse') WHERE id IN "
            "(SELECT id FROM uri WHERE note IS NOT NULL ORDER BY id LIMIT ?)",
            (FAILED, REASONS, count),
        )
        db.commit()
    Pools(file, STAGES).close()


def timed_status(folder: Path) -> float:
    begun = time.perf_counter()
    said = run(folder, "structure", "status", "farms", "--json")
    seconds = time.perf_counter() - begun
    json.loads(said)
    return seconds


def run(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, str(ROOT / "main.py"), *words],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
    )
    if done.returncode:
        raise RuntimeError(f"{words} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout

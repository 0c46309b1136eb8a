"""A made-up dump: streamed into the graph, indexed, walked and served, beside the tools others use.

Every figure of ours is of the real command in a process of its own, from its start to its end, with
the processor time of all its processes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.dump_lines import write
from bench.mirror_load import concepts, load
from bench.report import RUNS, Bar, Row, Say, shown

ROOT = Path(__file__).resolve().parent.parent
MAIN = (sys.executable, str(ROOT / "main.py"))
REAL_LINES = 34_074_917
LINES, PEER_LINES = 2_000_000, 200_000
SEED = "/c/en/dog"
PEER = "conceptnet-lite==0.2.0"
PEER_HOME = Path.home() / ".cache" / "sheaf" / "conceptnet-lite-venv"
PEER_PROGRAM = """
import sys
from pathlib import Path
from conceptnet_lite import db
packed, edges = Path(sys.argv[1]), int(sys.argv[2])
db.extract_compressed_dump(compressed_dump_path=packed, delete_compressed_dump=False)
db.load_dump_to_db(packed.with_suffix(""), packed.with_name("peer.db"), edges, False)
"""
CLIENTS = (1, 16)
SECONDS = 4.0


class Spent(NamedTuple):
    seconds: float
    cpu: float
    mib: float  # of its largest process
    said: str


class Figures(NamedTuple):
    """Of one run; each is measured right after the others."""

    counted: Spent  # zcat | wc -l
    stream: Spent
    filtered: Spent  # the index of what the default filter keeps
    whole: Spent  # the index of everything
    walk: Spent
    again: Spent  # the same walk when nothing is left to do
    peer: Spent


def measure(scale: float, say: Say) -> Iterator[Row]:
    lines, peer_lines = round(LINES * scale), round(PEER_LINES * scale)
    install_peer(say)
    with TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        file, small, half = (folder / each for each in ("all.csv.gz", "few.csv.gz", "half.csv.gz"))
        say(f"dump: making up {lines:,} lines")
        for path, count in ((file, lines), (small, peer_lines), (half, lines // 2)):
            write(path, count)
        runs = []
        for number in range(1, RUNS + 1):
            say(f"dump {lines:,} lines, run {number}")
            runs.append(one_run(file, small, peer_lines, folder / "run"))
        yield from streamed(lines, peer_lines, runs, stream(half, folder / "run"))
        yield from indexed(lines, runs)
        yield from served(file, folder / "run")


def one_run(file: Path, small: Path, peer_lines: int, folder: Path) -> Figures:
    index = file.with_name(f"{file.name}.sheaf-index")
    counted = spent(["sh", "-c", 'zcat "$1" | wc -l', "sh", str(file)])
    streamed = stream(file, folder)
    shutil.rmtree(index, ignore_errors=True)
    made = walk(file, folder, "--limit", "1")
    with fresh(folder) as state:
        walked, again = walk(file, state), walk(file, state)
    whole = spent([sys.executable, "-c", WHOLE, str(file)])
    with fresh(folder) as place:
        packed = shutil.copy(small, place / "peer.csv.gz")
        python = str(PEER_HOME / "bin" / "python")
        peer = spent([python, "-c", PEER_PROGRAM, str(packed), str(peer_lines)])
    return Figures(counted, streamed, made, whole, walked, again, peer)


WHOLE = (
    "import sys; from pathlib import Path; from tools.conceptnet.index.build import open_index\n"
    "if __name__ == '__main__': open_index(Path(sys.argv[1]), None, 1000)"
)


def stream(file: Path, folder: Path) -> Spent:
    with fresh(folder) as state:
        return ours("--source", str(file), "--all", "--no-media", "--state", str(state / "state"))


def walk(file: Path, folder: Path, *flags: str) -> Spent:
    places = ("--no-media", "--state", str(folder / "state"))
    if flags:
        shutil.rmtree(folder, ignore_errors=True)
    return ours("--source", str(file), "--seed", SEED, *places, *flags)


def streamed(lines: int, peer_lines: int, runs: Sequence[Figures], half: Spent) -> Iterator[Row]:
    ratios = [run.stream.seconds / run.counted.seconds for run in runs]
    took, count = (shown([each(run) for run in runs], 2, " s") for each in (_stream_s, _count_s))
    what = f"{lines:,} lines through the default filter into the embedded graph"
    yield Row(f"{what} / zcat | wc -l", ratios, "", 2, Bar("<", 2.5), took, count)
    rates = [lines / run.stream.cpu for run in runs]
    theirs = [peer_lines / run.peer.cpu for run in runs]
    yield Row(
        f"the same, lines per CPU second / {PEER}",
        [mine / other for mine, other in zip(rates, theirs, strict=True)],
        "",
        1,
        Bar(">=", 40),
        shown(rates),
        shown(theirs),
    )
    memory = [run.stream.mib for run in runs]
    yield Row("the same, peak memory", memory, " MiB", 0, Bar("<", 500, " MiB"))
    yield Row("the same, peak memory / with half of the lines", [memory[0] / half.mib])
    whole = [REAL_LINES / lines * run.stream.seconds for run in runs]
    yield Row("what that means for the whole dump", whole, " s", 0, Bar("<", 120, " s"))


def indexed(lines: int, runs: Sequence[Figures]) -> Iterator[Row]:
    count = shown([_count_s(run) for run in runs], 2, " s")
    for what, made, bar in (
        ("index of what the default filter keeps", [run.filtered for run in runs], Bar("<", 4)),
        ("index of everything, for the mirror", [run.whole for run in runs], None),
    ):
        ratios = [each.seconds / run.counted.seconds for each, run in zip(made, runs, strict=True)]
        took = shown([each.seconds for each in made], 2, " s")
        yield Row(f"{lines:,} lines: {what} / zcat | wc -l", ratios, "", 2, bar, took, count)
        yield Row(f"{what}, peak memory of a process", [each.mib for each in made], " MiB", 0)
    walked = [_concepts(run.walk.said) for run in runs]
    paces = [
        count / (run.walk.seconds - run.again.seconds)
        for count, run in zip(walked, runs, strict=True)
    ]
    text = f"walk over the index, {walked[0]:,} concepts, without its start"
    yield Row(text, paces, " per second", 0, Bar(">=", 5000, " per second"))


def served(file: Path, folder: Path) -> Iterator[Row]:
    paths = concepts(file, 10_000)
    with mirror(file) as url:
        for clients in CLIENTS:
            paces = [load(url, paths, clients, SECONDS).rate for _ in range(RUNS)]
            yield Row(f"mirror, {clients} clients", paces, " pages per second", 0)


@contextmanager
def mirror(file: Path) -> Iterator[str]:
    command = [*MAIN, "mirror", "--source", str(file), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split(" at ")[1].split()[0]
        finally:
            process.terminate()


@contextmanager
def fresh(folder: Path) -> Iterator[Path]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def ours(*flags: str) -> Spent:
    return spent([*MAIN, *flags])


def spent(command: Sequence[str]) -> Spent:
    """What a command and all it starts cost; raises if it fails."""
    begun, before = time.perf_counter(), os.times()
    done = subprocess.run(
        ["/usr/bin/env", "time", "-f", "PEAK %M", *command],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    seconds, after = time.perf_counter() - begun, os.times()
    if done.returncode:
        raise RuntimeError(f"{command[:4]} failed: {done.stderr[-500:]}")
    peak = re.findall(r"^PEAK (\d+)$", done.stderr, re.MULTILINE)
    cpu = sum(after[2:4]) - sum(before[2:4])
    return Spent(seconds, cpu, int(peak[-1]) / 1024, done.stdout)


def install_peer(say: Say) -> None:
    """Into an environment of its own, once."""
    if (PEER_HOME / "bin" / "pwiz").exists():
        return
    say(f"dump: installing {PEER} into {PEER_HOME}")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(PEER_HOME)], check=True)
    subprocess.run([PEER_HOME / "bin" / "pip", "install", "--quiet", PEER], check=True)


def _concepts(said: str) -> int:
    found = re.search(r"^  concepts +([\d,]+)", said, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"no concepts: {said[-500:]}")
    return int(found[1].replace(",", ""))


def _stream_s(run: Figures) -> float:
    return run.stream.seconds


def _count_s(run: Figures) -> float:
    return run.counted.seconds

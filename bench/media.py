"""Media: files per second of the extend stage, beside img2dataset and beside a bare pool of
requests sessions, on the same images from the same server in the same minutes.

Ours is the job of a harvest, with everything it does for a file: fetched, hashed, decoded, compared
with its neighbours, flushed to the disk, renamed, in the graph and in the books. Only the search is
left out: a provider that knows its answers stands in place of those on the web.

A rate means something only if nobody else uses the machine. What others use is measured with each
run; one that was disturbed is made again, and only rounds without such runs count. Where there are
too few of them the rates have no bars, and the processor's time alone decides.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory, mkdtemp
from typing import NamedTuple

from bench.media_images import FOR_EACH, make_images
from bench.media_peers import (
    KEPT,
    PEER,
    PEER_KINDS,
    PEER_PROCESSES,
    ROOT,
    Pace,
    Place,
    check_files,
    drained,
    finished,
    img2dataset,
    img2dataset_start,
    install_peer,
)
from bench.quiet import QUIET, Others
from bench.report import RUNS, Bar, Row, Say, shown
from bench.server import serving
from tools.graphs.sqlite import look as look_at_graph
from tools.journal.reader import look
from tools.media.ledger_lines import FILES as BOOK

COUNT = 2_000
PROCESSES = 2
WORKERS = (4, 8, 16, 32)
OF_THREADS = 4  # workers, where nobody is in a process of its own
PEER_THREADS = (4, 16, 64, 256)  # the last is what it does if it is not told
USUAL_THREADS = 16
MOST_ROUNDS = 5
MOST_TRIES = 2  # of a run that was disturbed

Timed = Callable[[Place, Path], Pace]


class Figures(NamedTuple):
    """One round; by workers or threads where those were varied."""

    ours: Mapping[int, Pace]
    threads: Pace
    sniffed: Pace
    bare: Mapping[int, Pace]
    peer: Mapping[int, Pace]
    peer_kinds: Mapping[str, Pace]
    server: Pace
    foreign: float  # cores that others used during the worst run that has a bar

    @property
    def is_quiet(self) -> bool:
        return self.foreign <= QUIET

    @property
    def evenness(self) -> float:
        """The slowest number of workers beside the fastest."""
        return min(pace.rate for pace in self.ours.values()) / best(self.ours)


def measure(scale: float, say: Say) -> Iterator[Row]:
    count = round(COUNT * scale)
    with TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        say(f"media: making {count:,} images")
        size = make_images(folder / "images", count)
        install_peer(say)
        with serving("bench.media_images", str(folder / "images")) as url:
            rounds = list(measured(Place(url, count, size), folder, say))
    quiet = [each for each in rounds if each.is_quiet]
    say(f"media: {len(quiet)} of {len(rounds)} rounds were quiet")
    is_quiet = len(quiet) >= RUNS
    yield from compared(f"{count:,} images", quiet if is_quiet else rounds, is_quiet)


def measured(place: Place, folder: Path, say: Say) -> Iterator[Figures]:
    """Until enough of them were quiet."""
    quiet = 0
    for number in range(1, MOST_ROUNDS + 1):
        yield (figures := Round(place, folder, number, say).figures())
        quiet += figures.is_quiet
        if quiet == RUNS or quiet + MOST_ROUNDS - number < RUNS <= number:
            return


def compared(size: str, rounds: Sequence[Figures], is_quiet: bool) -> Iterator[Row]:
    def bar(least: float) -> Bar | None:
        return Bar(">=", least) if is_quiet else None

    ours, bare = [best(each.ours) for each in rounds], [best(each.bare) for each in rounds]
    peer = [best(each.peer) for each in rounds]
    told = "quiet rounds" if is_quiet else "DISTURBED: rates mean nothing"
    yield Row(f"others meanwhile ({told})", [each.foreign for each in rounds], " cores")
    yield ratio(f"{size}: ours / {PEER}", ours, peer, bar(1.2))
    workers = ", ".join(map(str, WORKERS))
    evenness = [each.evenness for each in rounds]
    yield Row(f"ours, slowest / fastest of {workers} workers", evenness, "", 2, bar(0.9))
    yield from processor(rounds)
    yield ratio(f"{size}: ours / bare requests pool", ours, bare, bar(0.6))
    for kind in PEER_KINDS:
        theirs = [each.peer_kinds[kind].rate for each in rounds]
        yield ratio(f"{size}: ours / img2dataset that {kind}", ours, theirs)
    yield from rates(rounds)


def processor(rounds: Sequence[Figures]) -> Iterator[Row]:
    """Beyond what it takes to start. Of ours the middle of all numbers of workers, of the peer the
    least of all numbers of threads."""
    ours = [median(pace.cpu_ms for pace in each.ours.values()) for each in rounds]
    peer = [min(pace.cpu_ms for pace in each.peer.values()) for each in rounds]
    ratios = [mine / other for mine, other in zip(ours, peer, strict=True)]
    mine, other = f"{shown(ours, 2)} ms", f"{shown(peer, 2)} ms"
    yield Row("CPU of a file: ours / img2dataset", ratios, "", 2, Bar("<", 0.67), mine, other)
    most = [max(pace.cpu_ms for pace in each.ours.values()) for each in rounds]
    yield Row("CPU of a file, any number of workers", most, " ms", 2, Bar("<", 1.8, " ms"))
    here = [max(pace.coordinator_ms for pace in each.ours.values()) for each in rounds]
    yield Row("of it in the coordinator", here, " ms", 2, Bar("<", 0.5, " ms"))


def rates(rounds: Sequence[Figures]) -> Iterator[Row]:
    for workers in WORKERS:
        what = f"ours, {PROCESSES} processes, {workers} workers"
        yield rate(what, [each.ours[workers] for each in rounds])
    yield rate(f"ours, threads, {OF_THREADS} workers", [each.threads for each in rounds])
    what = f"ours, threads, {OF_THREADS} workers, nothing decoded"
    yield rate(what, [each.sniffed for each in rounds])
    for threads in rounds[0].bare:
        yield rate(f"bare pool, {threads} threads", [each.bare[threads] for each in rounds])
    for threads in PEER_THREADS:
        what = f"img2dataset, {PEER_PROCESSES} x {threads} threads"
        yield rate(what, [each.peer[threads] for each in rounds])
    yield rate("what the server gives a single connection", [each.server for each in rounds])


def best(paces: Mapping[int, Pace]) -> float:
    return max(pace.rate for pace in paces.values())


def ratio(what: str, ours: Sequence[float], theirs: Sequence[float], bar: Bar | None = None) -> Row:
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    return Row(what, ratios, "", 2, bar, f"{shown(ours)}/s", f"{shown(theirs)}/s")


def rate(what: str, paces: Sequence[Pace]) -> Row:
    """The processor's time stands in the column of its owner."""
    cpu = f"{shown([pace.cpu_ms for pace in paces], 2)} ms of CPU for a file"
    mine, other = (cpu, "") if what.startswith("ours") else ("", cpu)
    return Row(what, [pace.rate for pace in paces], " files per second", 0, None, mine, other)


# --- one round -------------------------------------------------------------------------------


class Round:
    """Everybody in turn, each into a folder of its own. They are kept until the end: there are file
    systems that look at each file that was just removed before they make another."""

    def __init__(self, place: Place, folder: Path, number: int, say: Say) -> None:
        self._place = place
        self._folder = folder
        self._number = number
        self._say = say
        self._foreign = 0.0

    def figures(self) -> Figures:
        ours, bare, peer = {}, {}, {}
        for workers in WORKERS:
            ours[workers] = self._counted(f"ours, {workers} workers", extended(workers, PROCESSES))
        begin = partial(img2dataset_start, threads=USUAL_THREADS)
        start = self._counted("img2dataset, an image a shard", begin).cpu_ms / 1000
        for threads in PEER_THREADS:
            timed = partial(img2dataset, threads=threads, options=KEPT, start=start)
            peer[threads] = self._counted(f"img2dataset, {threads} threads", timed)
        for threads in WORKERS[:-1]:
            bare[threads] = self._run(f"bare pool, {threads} threads", bare_pool(threads))[0]
        in_threads = self._run("ours, threads", extended(OF_THREADS, 0))[0]
        sniffed = self._run("ours, not decoded", extended(OF_THREADS, 0, "sniffed"))[0]
        kinds = {}
        for kind, options in PEER_KINDS.items():
            timed = partial(img2dataset, threads=USUAL_THREADS, options=options, start=start)
            kinds[kind] = self._run(f"img2dataset that {kind}", timed)[0]
        server = self._run("the server alone", drained)[0]
        return Figures(ours, in_threads, sniffed, bare, peer, kinds, server, self._foreign)

    def _counted(self, what: str, timed: Timed) -> Pace:
        """The first that was quiet, or the least disturbed of all tries."""
        runs: list[tuple[float, Pace]] = []
        while len(runs) < MOST_TRIES and (not runs or runs[-1][0] > QUIET):
            pace, foreign = self._run(what, timed)
            runs.append((foreign, pace))
        foreign, pace = min(runs)
        self._foreign = max(self._foreign, foreign)
        return pace

    def _run(self, what: str, timed: Timed) -> tuple[Pace, float]:
        os.sync()  # what others wrote is not this one's burden
        others = Others()
        pace = timed(self._place, Path(mkdtemp(prefix="run-", dir=self._folder)))
        foreign = others.cores()
        cpu = f", {pace.cpu_ms:.2f} ms of CPU for a file" if pace.cpu_ms else ""
        text = f"{what}: {pace.rate:,.0f} files per second{cpu}; others {foreign:.2f} cores"
        self._say(f"media, round {self._number}: {text}")
        return pace, foreign


def extended(workers: int, processes: int, *more: str) -> Timed:
    """Ours; it tells its own time, without the start of an interpreter."""

    def timed(place: Place, folder: Path) -> Pace:
        told = told_by("bench.media_extend", place, folder, workers, str(processes), *more)
        check_records(folder, place.images)
        per_file = 1000 / place.images
        rate_, cpu = place.images / told["seconds"], told["cpu"] * per_file
        return Pace(rate_, cpu, told["coordinator"] * per_file)

    return timed


def bare_pool(threads: int) -> Timed:
    def timed(place: Place, folder: Path) -> Pace:
        told = told_by("bench.media_peers", place, folder, threads)
        return Pace(place.images / told["seconds"], told["cpu"] / place.images * 1000)

    return timed


def told_by(
    module: str, place: Place, folder: Path, workers: int, *more: str
) -> Mapping[str, float]:
    what = [place.url, str(place.images), str(folder), str(workers), *more]
    told: Mapping[str, float] = json.loads(
        finished([sys.executable, "-m", module, *what], ROOT).splitlines()[-1]
    )
    check_files(folder, place)
    return told


def check_records(folder: Path, count: int) -> None:
    pools, graph = look(folder / "pools.db").pools, look_at_graph(folder / "graph.db")
    lines = (folder / "m" / BOOK).read_bytes().count(b"\n")
    if pools["finished"] != count // FOR_EACH or graph.media != count or lines != count:
        raise RuntimeError(f"not everything was kept: {pools}, {graph}, {lines:,} in the books")

"""Media: files per second of the extend stage, beside img2dataset and beside a bare pool of
requests sessions, on the same images from the same server in the same minutes.

Ours is the job of a harvest, with everything it does for a file: fetched, hashed, decoded, compared
with its neighbours, flushed to the disk, renamed, in the graph and in the books. Only the search is
left out: a provider that knows its answers stands in place of those on the web.

    python -m bench.media serve FOLDER
    python -m bench.media ours URL FILES FOLDER WORKERS [sniffed]
    python -m bench.media away URL FILES FOLDER WORKERS
    python -m bench.media bare URL FILES FOLDER WORKERS
"""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from threading import Event, local
from typing import Any, BinaryIO, NamedTuple
from unittest.mock import patch
from urllib.parse import urlsplit

import requests
from PIL import Image

from bench.fetch import environment
from bench.report import RUNS, Bar, Row, Say, shown
from bench.server import WINDOW, Connection, Served, answer, concept, serving
from tools import download_images
from tools.add import Entity
from tools.base.resident import descendants
from tools.cluster.executor import ProcessExecutor
from tools.cluster.node import serve as serve_harvest
from tools.conceptnet.rules import search_text
from tools.engine.harvest import Harvest
from tools.engine.stage import Done, Found, Task, Worker
from tools.graphs.sqlite import SqliteGraph
from tools.graphs.sqlite import look as look_at_graph
from tools.jobs.conceptnet import ConceptnetJob
from tools.jobs.conceptnet_processes import executor_of, hire
from tools.journal.reader import look
from tools.media.formats import Facts, Format
from tools.media.ledger_lines import FILES as BOOK
from tools.media.offer import Candidate
from tools.providers import catalogue
from tools.providers.catalogue import Known
from tools.providers.settings import ExtendSettings
from tools.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
PEER = "img2dataset==1.47.0"
PEER_HOME = Path.home() / ".cache" / "sheaf" / "img2dataset-venv"
COUNT = 2_000
FOR_EACH = 5  # images of a concept
SIZE = (512, 384)
GRID = (9, 8)  # places whose colours make two images look different
WORKERS = (4, 8, 16)
PEER_PROCESSES = 2
PEER_THREADS = (4, 16, 64, 256)  # the last is what it does if it is not told
PEER_SHARDS = 4
USUAL_THREADS = 16
CHUNK = 65536
LONGEST_RUN_S = 1800

AS_THEY_ARE = ("--skip_reencode=True", "--disable_all_reencoding=True")
KEPT = ("--resize_mode=no", "--skip_reencode=True", "--extract_exif=False")
PEER_KINDS: Mapping[str, Sequence[str]] = {
    "does not decode": ("--disable_all_reencoding=True", "--extract_exif=False"),
    "encodes again": ("--resize_mode=no",),
    "resizes to 256 x 256": (),
}
"""What img2dataset may be asked for besides what is closest to ours, which is KEPT."""


class Place(NamedTuple):
    """A server that runs, and what it has."""

    url: str
    images: int
    bytes: int


class Pace(NamedTuple):
    """Files per second, and milliseconds of the processor for a file."""

    rate: float
    cpu_ms: float = 0.0


class Figures(NamedTuple):
    """One run; by workers or threads where those were varied."""

    ours: Mapping[int, Pace]
    sniffed: Pace
    bare: Mapping[int, Pace]
    peer: Mapping[int, Pace]
    peer_kinds: Mapping[str, Pace]
    server: Pace


def measure(scale: float, say: Say) -> Iterator[Row]:
    count = round(COUNT * scale)
    with TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        say(f"media: making {count:,} images")
        size = make_images(folder / "images", count)
        install_peer(say)
        with serving("bench.media", "serve", str(folder / "images")) as url:
            place = Place(url, count, size)
            runs = [one_run(place, folder, number, say) for number in range(1, RUNS + 1)]
    yield from compared(f"{count:,} images", runs)


def compared(size: str, runs: Sequence[Figures]) -> Iterator[Row]:
    ours, bare = [best(run.ours) for run in runs], [best(run.bare) for run in runs]
    peer = [best(run.peer) for run in runs]
    yield ratio(f"{size}: ours / {PEER}", ours, peer, Bar(">=", 2.0))
    yield ratio(f"{size}: ours / bare requests pool", ours, bare, Bar(">=", 0.6))
    for kind in PEER_KINDS:
        theirs = [run.peer_kinds[kind].rate for run in runs]
        yield ratio(f"{size}: ours / img2dataset that {kind}", ours, theirs)
    for workers in WORKERS:
        yield rate(f"ours, {workers} workers", [run.ours[workers] for run in runs])
    for workers in WORKERS:
        yield rate(f"bare pool, {workers} threads", [run.bare[workers] for run in runs])
    what = f"ours, {WORKERS[0]} workers, nothing decoded"
    yield rate(what, [run.sniffed for run in runs])
    for threads in PEER_THREADS:
        what = f"img2dataset, {PEER_PROCESSES} x {threads} threads"
        yield rate(what, [run.peer[threads] for run in runs])
    yield rate("what the server gives a single connection", [run.server for run in runs])


def best(paces: Mapping[int, Pace]) -> float:
    return max(pace.rate for pace in paces.values())


def ratio(what: str, ours: Sequence[float], theirs: Sequence[float], bar: Bar | None = None) -> Row:
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    return Row(what, ratios, "", 2, bar, f"{shown(ours)}/s", f"{shown(theirs)}/s")


def rate(what: str, paces: Sequence[Pace]) -> Row:
    """The processor's time stands in the column of its owner."""
    times = [pace.cpu_ms for pace in paces]
    cpu = f"{shown(times, 2)} ms of CPU for a file" if all(times) else ""
    mine, other = (cpu, "") if what.startswith("ours") else ("", cpu)
    return Row(what, [pace.rate for pace in paces], " files per second", 0, None, mine, other)


# --- one run ---------------------------------------------------------------------------------


def one_run(place: Place, folder: Path, number: int, say: Say) -> Figures:
    """Everybody in turn, each into a folder of its own. They are kept until the end: there are file
    systems that look at each file that was just removed before they make another."""

    def run(what: str, timed: Callable[[Place, Path], Pace]) -> Pace:
        os.sync()  # what others wrote is not this one's burden
        pace = timed(place, Path(mkdtemp(prefix="run-", dir=folder)))
        cpu = f", {pace.cpu_ms:.2f} ms of CPU for a file" if pace.cpu_ms else ""
        say(f"media, run {number}: {what}: {pace.rate:,.0f} files per second{cpu}")
        return pace

    ours, bare, peer = {}, {}, {}
    for workers in WORKERS:
        ours[workers] = run(f"ours, {workers} workers", process("ours", workers))
        bare[workers] = run(f"bare pool, {workers} threads", process("bare", workers))
    sniffed = run("ours, not decoded", process("ours", WORKERS[0], "sniffed"))
    for threads in PEER_THREADS:
        peer[threads] = run(f"img2dataset, {threads} threads", img2dataset(threads, KEPT))
    kinds = {
        kind: run(f"img2dataset that {kind}", img2dataset(USUAL_THREADS, options))
        for kind, options in PEER_KINDS.items()
    }
    return Figures(ours, sniffed, bare, peer, kinds, run("the server alone", drained))


def process(kind: str, workers: int, *more: str) -> Callable[[Place, Path], Pace]:
    """Ours or the bare pool; each tells its own time, without the start of an interpreter."""

    def timed(place: Place, folder: Path) -> Pace:
        what = [kind, place.url, str(place.images), str(folder), str(workers), *more]
        said = finished([sys.executable, "-m", "bench.media", *what], ROOT)
        told = json.loads(said.splitlines()[-1])
        check_files(folder, place)
        if kind == "ours":
            check_records(folder, place.images)
        return Pace(place.images / told["seconds"], told["cpu"] / place.images * 1000)

    return timed


def check_files(folder: Path, place: Place, is_same: bool = True) -> None:
    """Fast and wrong does not count."""
    sizes = [path.stat().st_size for path in folder.rglob("*.jpg")]
    if len(sizes) != place.images or (is_same and sum(sizes) != place.bytes):
        raise RuntimeError(f"{len(sizes):,} files of {sum(sizes):,} bytes instead of {place}")


def check_records(folder: Path, count: int) -> None:
    pools, graph = look(folder / "pools.db").pools, look_at_graph(folder / "graph.db")
    lines = (folder / "m" / BOOK).read_bytes().count(b"\n")
    if pools["finished"] != count // FOR_EACH or graph.media != count or lines != count:
        raise RuntimeError(f"not everything was kept: {pools}, {graph}, {lines:,} in the books")


def finished(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment() | {"NO_ALBUMENTATIONS_UPDATE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST_RUN_S,
    )
    if done.returncode:
        said = (done.stdout + done.stderr)[-2000:]
        raise RuntimeError(f"{' '.join(command[:4])} ended with {done.returncode}: {said}")
    return done.stdout


# --- ours ------------------------------------------------------------------------------------


class Shelf:
    """A provider that has its answers at hand."""

    name = "shelf"
    kinds = frozenset({"image"})
    is_for_relations = True
    is_link_only = False

    def __init__(self, url: str, concepts: Sequence[str]) -> None:
        self._found = {
            search_text(each): [candidate(url, n * FOR_EACH + k) for k in range(FOR_EACH)]
            for n, each in enumerate(concepts)
        }

    def search(self, text: str, kind: str) -> list[Candidate]:
        return self._found[text]


def candidate(url: str, number: int) -> Candidate:
    page = f"{url}/page/{number}"
    return Candidate(image_url(url, number), page, "cc0-1.0", None, "Ada", f"Image {number}")


class Clock:
    """Runs from the first task that is handed out."""

    def __init__(self, work: Worker) -> None:
        self._work = work
        self._begun: tuple[float, float] | None = None

    def __call__(self, task: Task) -> Done:
        self._begun = self._begun or now()
        return self._work(task)

    def stop(self) -> dict[str, float]:
        assert self._begun is not None
        return since(self._begun)


def extend_all(url: str, count: int, state: Path, workers: int) -> dict[str, float]:
    """A harvest whose concepts are known and only lack their media."""
    concepts = [concept(number) for number in range(count // FOR_EACH)]
    extend = ExtendSettings(images=FOR_EACH, sounds=0, gifs=0, providers=(Shelf.name,))
    settings = Settings(
        source=url, state=state, media=state / "m", extend_workers=workers, extend=extend
    )
    settings.media.mkdir()
    shelf, stop = Shelf(url, concepts), Event()
    with closing(SqliteGraph(state / "graph.db")) as graph:
        graph.write(map(Entity.of, concepts), ())
        with patch.dict(catalogue.KNOWN, shelf=Known(lambda *_, **__: shelf, url, {})):
            job = ConceptnetJob(settings, graph, stop, "bench")
        clock = Clock(job.workers["extend"])
        job.seeds, job.workers = (Found("extend", concepts),), {**job.workers, "extend": clock}
        with closing(job), closing(Harvest(job, settings.pools_file, stop, 1, 1.0)) as harvest:
            harvest.run(lambda: None)
            return clock.stop()


def cpu_of_children() -> float:
    """Of all that are alive."""
    stats = [Path(f"/proc/{pid}/stat").read_text() for pid in descendants(os.getpid())]
    ticks = [sum(map(int, stat.rpartition(")")[2].split()[11:13])) for stat in stats]
    return sum(ticks) / os.sysconf("SC_CLK_TCK")


def extend_away(url: str, count: int, state: Path, workers: int) -> dict[str, float]:
    """The same in processes, which are started before the clock is."""
    concepts = [concept(number) for number in range(count // FOR_EACH)]
    extend = ExtendSettings(images=FOR_EACH, sounds=0, gifs=0, providers=(Shelf.name,))
    settings = Settings(
        source=url, state=state, media=state / "m", extend_workers=workers, extend=extend
    )
    settings.media.mkdir()
    shelf, stop = Shelf(url, concepts), Event()
    with closing(SqliteGraph(state / "graph.db")) as graph:
        graph.write(map(Entity.of, concepts), ())
        with patch.dict(catalogue.KNOWN, shelf=Known(lambda *_, **__: shelf, url, {})):
            job = ConceptnetJob(settings, graph, stop, "bench")
        job.seeds = (Found("extend", concepts),)
        command = [sys.executable, "-m", "bench.media", "node", url, str(count)]
        executor = executor_of(job, settings, job._drafts, stop, command)
        ways = settings.pools_file, stop, 1, 1.0, executor
        with closing(job), closing(Harvest(job, *ways)) as harvest:
            wait_for(executor)
            begun, theirs = now(), cpu_of_children()
            harvest.run(lambda: None)
            told = since(begun)
            told["coordinator"] = told["cpu"]
            told["cpu"] += cpu_of_children() - theirs
            return told


def wait_for(executor: ProcessExecutor) -> None:
    """Until all its processes are ready for tasks."""
    executor._crew.start()
    while not all(executor._crew.ready()):
        time.sleep(0.01)


def be_node(url: str, count: int, end: int, parent: int) -> None:
    shelf = Shelf(url, [concept(number) for number in range(count // FOR_EACH)])
    with patch.dict(catalogue.KNOWN, shelf=Known(lambda *_, **__: shelf, url, {})):
        serve_harvest(end, parent, hire)


def only_sniffed(_file: BinaryIO, _form: Format, _settings: ExtendSettings) -> Facts:
    """In place of a decoder."""
    return Facts(*SIZE)


def now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def since(begun: tuple[float, float]) -> dict[str, float]:
    seconds, cpu = now()
    return {"seconds": seconds - begun[0], "cpu": cpu - begun[1]}


# --- the peers -------------------------------------------------------------------------------


def fetch_bare(url: str, count: int, folder: Path, threads: int) -> dict[str, float]:
    """What one writes in ten minutes: nothing is looked at, flushed or written down."""
    own = local()

    def fetch(number: int) -> None:
        session = getattr(own, "session", None)
        if session is None:
            session = own.session = requests.Session()
        with session.get(image_url(url, number), stream=True, timeout=60) as response:
            response.raise_for_status()
            with (folder / f"{number}.jpg").open("wb") as file:
                for chunk in response.iter_content(CHUNK):
                    file.write(chunk)

    begun = now()
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(fetch, range(count)):
            pass
    return since(begun)


def img2dataset(threads: int, options: Sequence[str]) -> Callable[[Place, Path], Pace]:
    """Its time is what its own statistics tell, from its first shard to the end of its last:
    without its start, and without its waiting for its own log."""

    def timed(place: Place, folder: Path) -> Pace:
        urls, to = folder / "urls.txt", folder / "out"
        urls.write_text("".join(f"{image_url(place.url, n)}\n" for n in range(place.images)))
        finished([str(PEER_HOME / "bin" / "img2dataset"), *flags(urls, to, place.images)], folder)
        told = [json.loads(path.read_bytes()) for path in to.glob("*_stats.json")]
        if sum(each["successes"] for each in told) != place.images:
            raise RuntimeError(f"img2dataset did not get everything: {told}")
        check_files(to, place, is_same=any(each in AS_THEY_ARE for each in options))
        begun = min(each["start_time"] for each in told)
        return Pace(place.images / (max(each["end_time"] for each in told) - begun))

    def flags(urls: Path, to: Path, count: int) -> list[str]:
        size = [f"--processes_count={PEER_PROCESSES}", f"--thread_count={threads}"]
        shards = f"--number_sample_per_shard={count // PEER_SHARDS}"
        places = [f"--url_list={urls}", f"--output_folder={to}", "--output_format=files"]
        return [*places, *size, shards, *options]

    return timed


def install_peer(say: Say) -> None:
    """Into an environment of its own, once."""
    if (PEER_HOME / "bin" / "img2dataset").exists():
        return
    say(f"media: installing {PEER} into {PEER_HOME}")
    finished([sys.executable, "-m", "venv", "--clear", str(PEER_HOME)], ROOT)
    subprocess.run([PEER_HOME / "bin" / "pip", "install", "--quiet", PEER], check=True)


def drained(place: Place, _folder: Path) -> Pace:
    """One file after the other over one connection: so much the server can do at least."""
    connection = http.client.HTTPConnection(urlsplit(place.url).netloc, timeout=60)
    with closing(connection):
        window(connection)
        begun = time.perf_counter()
        for number in range(place.images):
            connection.request("GET", image_path(number))
            connection.getresponse().read()
        seconds = time.perf_counter() - begun
        cpu = window(connection)["cpu"]
    return Pace(place.images / seconds, cpu / place.images * 1000)


def window(connection: http.client.HTTPConnection) -> Any:
    connection.request("GET", WINDOW)
    return json.loads(connection.getresponse().read())


# --- the server ------------------------------------------------------------------------------


class Counted(Served):
    """Tells its processor's time too."""

    def __init__(self) -> None:
        super().__init__()
        self.cpu = time.process_time()

    def take(self) -> bytes:
        told = {"pages": self.pages, "cpu": time.process_time() - self.cpu}
        self.__init__()  # type: ignore[misc]
        return answer(told)


async def serve(folder: Path) -> None:
    """Like the server of `fetch`, for as many connections as somebody opens."""
    paths = sorted(folder.glob("*.jpg"))
    images = {f"/{path.name}".encode(): as_answer(path.read_bytes()) for path in paths}
    served, ended = Counted(), asyncio.Event()
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(
        lambda: Connection(images, 0.0, served), "127.0.0.1", 0, backlog=2048
    )
    print(listening.sockets[0].getsockname()[1], flush=True)
    loop.add_reader(sys.stdin, ended.set)
    await ended.wait()
    listening.close()


def as_answer(image: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nContent-Length: {len(image)}\r\n"
    return head.encode() + b"\r\n" + image


# --- the images ------------------------------------------------------------------------------


def make_images(folder: Path, count: int) -> int:
    """How many bytes they are together."""
    folder.mkdir()
    width, height = SIZE
    grain = Image.frombytes(
        "RGB", (2 * width, 2 * height), random.Random(0).randbytes(12 * width * height)
    )
    return sum((folder / image_path(n)[1:]).write_bytes(made_up(n, grain)) for n in range(count))


def made_up(number: int, grain: Image.Image) -> bytes:
    """Patches of colour under grain: 40 to 80 KB, and none looks like another."""
    chance = random.Random(number)
    width, height = SIZE
    patches = Image.frombytes("RGB", GRID, chance.randbytes(3 * GRID[0] * GRID[1]))
    x, y = chance.randrange(width), chance.randrange(height)
    part = grain.crop((x, y, x + width, y + height))
    smooth = patches.resize(SIZE, Image.Resampling.BICUBIC)
    written = io.BytesIO()
    Image.blend(smooth, part, chance.uniform(0.15, 0.35)).save(written, "JPEG", quality=80)
    return written.getvalue()


def image_path(number: int) -> str:
    return f"/{number}.jpg"


def image_url(url: str, number: int) -> str:
    return f"{url}{image_path(number)}"


def main(what: str, *arguments: str) -> None:
    if what == "serve":
        asyncio.run(serve(Path(arguments[0])))
        return
    if what == "node":
        url, count, end, parent = arguments
        be_node(url, int(count), int(end), int(parent))
    url, count, folder, workers, *more = arguments
    run = {"ours": extend_all, "away": extend_away, "bare": fetch_bare}[what]
    with patch.object(download_images, "prove", only_sniffed if more else download_images.prove):
        print(json.dumps(run(url, int(count), Path(folder), int(workers))))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Shipping beside scp, to the same OpenSSH server on the same disk in the same minutes; and what a
shipping costs the harvest that goes on beside it.

Ours is a whole shipping: the batch is closed, its files are made into volumes while they are sent,
each byte is hashed twice, the node flushes the volumes to its disk and proves them, and the files
are erased here. The peer is scp with a tar file that lies ready: it flushes and proves nothing.

    python -m bench.shipping ship CONFIG MEDIA
    python -m bench.shipping extend URL FILES FOLDER [CONFIG]
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from math import log
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from threading import Event
from typing import NamedTuple
from unittest.mock import patch
from urllib.parse import urlsplit

from bench.media_extend import Clock, Shelf, now, since
from bench.media_images import FOR_EACH, make_images
from bench.media_peers import finished
from bench.report import RUNS, Bar, Row, Say, shown
from bench.server import concept, serving
from tests.faults.injection import wait_until
from tests.support.node import SshdNode, children
from tools.add import Attachment, Entity, Media
from tools.assist.assistant import Assist
from tools.engine.harvest import Harvest
from tools.engine.stage import Found
from tools.graphs.sqlite import SqliteGraph
from tools.jobs.conceptnet import ConceptnetJob
from tools.jobs.ownership import check_media
from tools.jobs.shipping import outbox_of, transport_of
from tools.media.ledger import Ledger
from tools.providers import catalogue
from tools.providers.catalogue import Known
from tools.providers.settings import ExtendSettings
from tools.settings import Settings, load

ROOT = Path(__file__).resolve().parent.parent
GIB = 2**30
MEAN_BYTES, SPREAD = 200_000, 0.8  # of a file; of the logarithm of its size
SMALLEST, LARGEST = 2_000, 5_000_000
DELAY_S = 0.05
FAR_FILES = 100  # each of them takes scp some round trips
CIPHER = "aes128-gcm@openssh.com"
HARVEST = "be" * 16
IMAGES = 4_000
SLOW_IMAGES, HOST_DELAY_S = 300, 0.1


Spent = tuple[float, float, float]
"""Seconds; of the processor, here and by the ssh programs."""


class Way(NamedTuple):
    """To the node."""

    name: str
    port: int
    bar: Bar


class Kind(NamedTuple):
    """How ours is set."""

    volume_mb: int
    connections: int

    def __str__(self) -> str:
        lanes = "connection" if self.connections == 1 else "connections"
        return f"volumes of {self.volume_mb} MB, {self.connections} {lanes}"


USUAL = Kind(500, 2)  # what a user has who sets nothing
OTHERS = (Kind(500, 1), Kind(100, 2), Kind(100, 4))


class Pace(NamedTuple):
    """MB per second, and seconds of the processor for a GiB: of the sender, of the ssh programs
    that it starts, and of the node."""

    rate: float
    cpu_s: float
    ssh_cpu_s: float
    node_cpu_s: float

    def __str__(self) -> str:
        spent = " + ".join(f"{each:.1f}" for each in self[1:])
        return f"{self.rate:,.0f} MB/s, {spent} s of CPU for a GiB"


class Stock(NamedTuple):
    """What is to be sent: files and their books in a folder, and the same in one tar file."""

    folder: Path
    tar: Path
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Place:
    """A node, what is to be sent to it, and room for what the runs leave behind."""

    node: SshdNode
    folder: Path
    stock: Stock
    say: Say

    @property
    def raw(self) -> Path:
        return self.node.folder / "raw"

    def new_folder(self) -> Path:
        return Path(mkdtemp(prefix="run-", dir=self.folder))

    def config(self, way: Way, kind: Kind) -> Path:
        text = self.node.settings(port=way.port, **kind._asdict())
        file = self.new_folder() / "sheaf.toml"
        file.write_text(text, encoding="utf-8")
        return file

    def empty(self) -> None:
        for each in self.raw.iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()


def measure(scale: float, say: Say) -> Iterator[Row]:
    with TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        (folder / "node").mkdir()
        say(f"shipping: making {GIB * scale / 1e6:,.0f} MB of media")
        stock = make_stock(folder, round(GIB * scale))
        delay = ("tests.support.worlds.wires", "127.0.0.1")
        with SshdNode(folder / "node") as node:
            with serving(*delay, str(node.port), str(DELAY_S)) as wire:
                place = Place(node, folder, stock, say)
                near = Way("loopback", node.port, Bar(">=", 0.45))
                far = Way("50 ms", urlsplit(wire).port or 0, Bar(">=", 1.0))
                yield from beside_scp(place, near)
                yield from beside_scp(place, far)
                yield from small_files(place, near, far)
            yield from beside_a_harvest(place, near, scale)


# --- ours and scp ----------------------------------------------------------------------------


def beside_scp(place: Place, way: Way) -> Iterator[Row]:
    """In turn, each as often before the other as after it; a first time only warms everything."""
    ours: dict[Kind, list[Pace]] = {kind: [] for kind in (USUAL, *OTHERS)}
    peer: list[Pace] = []
    for number in range(RUNS + 1):
        say = place.say if number else lambda text: place.say(f"{text} (to warm up)")
        turns: list[Kind | None] = [None, *(ours if number else [USUAL])]
        for kind in turns[:: -1 if number % 2 else 1]:
            pace = timed(place, way, kind)
            say(f"shipping, {way.name}, run {number}: {kind or 'scp'}: {pace}")
            if number:
                (ours[kind] if kind else peer).append(pace)
    yield from compared(place.stock, way, ours, peer)


def compared(
    stock: Stock, way: Way, ours: Mapping[Kind, Sequence[Pace]], peer: Sequence[Pace]
) -> Iterator[Row]:
    what = f"{stock.bytes / GIB:.1f} GiB, {way.name}"
    for kind, paces in ours.items():
        ratios = [mine.rate / other.rate for mine, other in zip(paces, peer, strict=True)]
        bar = way.bar if kind == USUAL else None
        yield Row(f"{what}: {kind} / scp", ratios, "", 2, bar, rates(paces), rates(peer))
    usual = [pace.cpu_s for pace in ours[USUAL]]
    yield Row(
        f"{what}: CPU for a GiB", usual, " s", 1, Bar("<", 3.2, " s"), cpu(ours[USUAL]), cpu(peer)
    )


def rates(paces: Sequence[Pace]) -> str:
    return f"{shown([pace.rate for pace in paces])} MB/s"


def cpu(paces: Sequence[Pace]) -> str:
    """The node's too: it decrypts and writes, for ours it also hashes."""
    mine, ssh, nodes = ([pace[at] for pace in paces] for at in (1, 2, 3))
    return f"{shown(mine, 1)} s here, {shown(ssh, 1)} s by ssh, {shown(nodes, 1)} s on the node"


def timed(place: Place, way: Way, kind: Kind | None) -> Pace:
    """Ours of that kind, or scp."""
    send = ours_ready(place, way, kind) if kind else scp_ready(place, way, [place.stock.tar])
    os.sync()  # what others wrote is not this one's burden
    before, size = node_cpu(place.node), place.stock.bytes
    seconds, *spent = send()
    nodes = node_cpu(place.node) - before
    check(place.raw, size)
    place.empty()
    return Pace(size / seconds / 1e6, *(each * GIB / size for each in (*spent, nodes)))


def ours_ready(place: Place, way: Way, kind: Kind) -> Callable[[], Spent]:
    """A process of its own, which tells its own time, without the start of an interpreter."""
    media, config = place.new_folder() / "m", place.config(way, kind)
    shutil.copytree(place.stock.folder, media)

    def send() -> Spent:
        command = [sys.executable, "-m", "bench.shipping", "ship", str(config), str(media)]
        told = json.loads(finished(command, ROOT).splitlines()[-1])
        if any(media.rglob("*.jpg")):
            raise RuntimeError("not everything that was shipped was erased")
        return told["seconds"], told["cpu"], told["ssh"]

    return send


def scp_ready(place: Place, way: Way, what: Sequence[Path], *flags: str) -> Callable[[], Spent]:
    node = place.node
    node.be_known_at(way.port)
    known = f"-oUserKnownHostsFile={node.known_hosts}"
    words = ["-q", "-F/dev/null", f"-c{CIPHER}", f"-P{way.port}", f"-i{node.key_file}", known]
    command = ["scp", *words, *flags, *map(str, what), f"{node.user}@{node.host}:{place.raw}"]

    def send() -> Spent:
        begun, before = now(), children_cpu()
        finished(command, place.folder)
        return since(begun)["seconds"], 0.0, children_cpu() - before

    return send


def children_cpu() -> float:
    """Of processes that we started and that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def check(raw: Path, size: int) -> None:
    """Fast and wrong does not count."""
    arrived = sum(path.stat().st_size for path in raw.rglob("*") if path.is_file())
    if arrived < size or list(raw.rglob("*.part")):
        raise RuntimeError(f"{arrived:,} of {size:,} bytes arrived")


def node_cpu(node: SshdNode) -> float:
    """Of all its connections that have ended, and of what they started."""
    assert node._process is not None
    pid = node._process.pid
    wait_until(lambda: not children(pid), "the end of the node's connections")
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def small_files(place: Place, near: Way, far: Way) -> Iterator[Row]:
    """What scp does with the files as they are; far away with a few, for it takes too long."""
    some = sorted((place.stock.folder / "en").iterdir())[: FAR_FILES // FOR_EACH]
    weight = sum(path.stat().st_size for each in some for path in each.rglob("*.jpg"))
    for way, what, size in ((near, [place.stock.folder], place.stock.bytes), (far, some, weight)):
        figures = []
        for number in range(1, RUNS + 1):
            seconds, *_ = scp_ready(place, way, what, "-r")()
            check(place.raw, size)
            place.empty()
            figures.append(size / seconds / 1e6)
            place.say(f"shipping, {way.name}, run {number}: scp -r: {figures[-1]:,.1f} MB/s")
        files = FAR_FILES if way is far else place.stock.files
        title = f"{way.name}: scp -r of {files:,} files"
        yield Row(title, figures, " MB/s", 1)


# --- beside a harvest ------------------------------------------------------------------------


def beside_a_harvest(place: Place, way: Way, scale: float) -> Iterator[Row]:
    """Once as fast as the processor allows, and once with hosts that take their time, as real ones
    do."""
    count = round(IMAGES * scale)
    place.say(f"shipping: making {count:,} images")
    make_images(place.folder / "images", count)
    bar = Bar(">=", 0.8)
    with serving("bench.media_images", str(place.folder / "images")) as url:
        yield extended(place, way, url, count, f"extend, {count:,} images", bar)
        port = str(urlsplit(url).port)
        with serving("tests.support.worlds.wires", "127.0.0.1", port, str(HOST_DELAY_S)) as slow:
            few = round(SLOW_IMAGES * scale)
            what = f"extend, {few:,} images from hosts that take {HOST_DELAY_S * 1000:.0f} ms"
            yield extended(place, way, slow, few, what, bar)


def extended(place: Place, way: Way, url: str, count: int, what: str, bar: Bar) -> Row:
    alone: list[float] = []
    beside: list[float] = []
    sent: list[float] = []
    for number in range(1, RUNS + 1):
        for is_beside in (False, True) if number % 2 else (True, False):
            rate, mb = harvested(place, way, url, count, is_beside)
            (beside if is_beside else alone).append(rate)
            sent += [mb] if is_beside else []
            text = f"{rate:,.0f} files per second" + f", {mb:,.0f} MB/s shipped" * is_beside
            place.say(f"shipping, {what}, run {number}: {text}")
    ratios = [one / other for one, other in zip(beside, alone, strict=True)]
    ours = f"{shown(beside)}/s, {shown(sent)} MB/s shipped"
    return Row(f"{what}: beside a shipping / alone", ratios, "", 2, bar, ours, f"{shown(alone)}/s")


def harvested(place: Place, way: Way, url: str, count: int, is_beside: bool) -> tuple[float, float]:
    """Files per second, and MB per second that were shipped meanwhile."""
    folder = place.new_folder()
    words = ["extend", url, str(count), str(folder)]
    if is_beside:
        shutil.copytree(place.stock.folder, folder / "m", copy_function=os.link)
        words.append(str(place.config(way, USUAL)))
    os.sync()
    said = finished([sys.executable, "-m", "bench.shipping", *words], ROOT)
    told = json.loads(said.splitlines()[-1])
    if is_beside and not told["is_shipping"]:
        raise RuntimeError("the shipping ended before the harvest: nothing was compared")
    if sum(1 for _ in (folder / "m").rglob("c*/image/*.jpg")) < count:
        raise RuntimeError("not everything was harvested")
    arrived = sum(path.stat().st_size for path in place.raw.rglob("*") if path.is_file())
    node_cpu(place.node)
    place.empty()
    return count / told["seconds"], arrived / told["seconds"] / 1e6


# --- the processes ---------------------------------------------------------------------------


def ship(config: Path, media: Path) -> dict[str, float]:
    """All that is in this media folder."""
    settings = load(config, {"media": str(media), "state": str(media.parent)})
    with closing(Ledger(media)) as ledger:
        transport = transport_of(settings, ledger, lambda work: work(), Event())
        transport.complete()
        begun = now()
        done = transport.ship()
        took = since(begun)
        took["ssh"] = children_cpu()
    if done.batches != 1 or done.waiting:
        raise RuntimeError(f"it was not proven: {done}")
    return took


def extend_all(url: str, count: int, state: Path, config: Path | None) -> dict[str, float]:
    """A harvest as in media_extend.py, with what works beside one. If there is a node, the batch
    that lies here is taken up at the start, as after a restart."""
    concepts = [concept(number) for number in range(count // FOR_EACH)]
    extend = ExtendSettings(images=FOR_EACH, sounds=0, gifs=0, providers=(Shelf.name,))
    settings = Settings(source=url, state=state, media=state / "m", processes=0, extend=extend)
    if config is not None:
        settings = replace(settings, transport=load(config, {}).transport)
        outbox_of(settings).close(Ledger(settings.media))
    shelf, stop = Shelf(url, concepts), Event()
    with closing(SqliteGraph(state / "graph.db")) as graph:
        graph.write(map(Entity.of, concepts), ())
        with patch.dict(catalogue.KNOWN, shelf=Known(lambda *_, **__: shelf, url, {})):
            job = ConceptnetJob(settings, graph, stop, "bench")
        clock = Clock(job.workers["extend"])
        job.seeds, job.workers = (Found("extend", concepts),), {**job.workers, "extend": clock}
        with closing(job), closing(Harvest(job, settings.pools_file, stop, 1, 1.0)) as harvest:
            harvest.pools.remember({"harvest": HARVEST})
            check_media(harvest.pools, job.ledger, settings)
            transport = None
            if config is not None:
                transport = transport_of(settings, job.ledger, harvest.at_quiet_point, stop)
                transport.complete()
            with Assist(harvest, settings, dict, transport) as assist:
                harvest.run(assist.tick)
                took = clock.stop()
                is_shipping = transport is not None and transport.is_batch_waiting()
                stop.set()
    return {**took, "is_shipping": is_shipping}


# --- the media -------------------------------------------------------------------------------


def make_stock(folder: Path, size: int) -> Stock:
    """Files as a harvest leaves them, with their books."""
    media, chance, bytes_ = folder / "stock", random.Random(0), 0
    with closing(Ledger(media)) as ledger:
        ledger.claim(HARVEST)
        number = 0
        while bytes_ < size:
            files = [made_up(media, number, n, chance) for n in range(FOR_EACH)]
            ledger.add([Attachment(concept(number), files, {"owner": concept(number)})])
            bytes_ += sum(each.bytes for each in files)
            number += 1
    with tarfile.open(folder / "stock.tar", "w") as tar:
        tar.add(media, ".")
    return Stock(media, folder / "stock.tar", number * FOR_EACH, bytes_)


def made_up(media: Path, number: int, at: int, chance: random.Random) -> Media:
    """Bytes that nothing can make smaller, as those of pictures."""
    size = round(chance.lognormvariate(log(MEAN_BYTES) - SPREAD**2 / 2, SPREAD))
    content = chance.randbytes(min(max(size, SMALLEST), LARGEST))
    path, sha256 = f"en/stock_{number}/image/{at}.jpg", hashlib.sha256(content).hexdigest()
    (media / path).parent.mkdir(parents=True, exist_ok=True)
    (media / path).write_bytes(content)
    page = f"https://example.org/{number}/{at}"
    about = ("cc0-1.0", None, "Ada", page, f"{page}.jpg", "shelf", f"Image {at}")
    return Media(path, "image", "image/jpeg", sha256, len(content), 640, 480, None, *about)


def main(what: str, *words: str) -> None:
    if what == "ship":
        told = ship(Path(words[0]), Path(words[1]))
    else:
        url, count, folder, *config = words
        told = extend_all(url, int(count), Path(folder), Path(config[0]) if config else None)
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])

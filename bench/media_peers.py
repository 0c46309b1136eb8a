"""The peers of `bench/media.py`: img2dataset, and what one writes in ten minutes.

python -m bench.media_peers URL FILES FOLDER THREADS
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import local
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import requests

from bench.child import said_by
from bench.fetch import environment
from bench.media_extend import now, since
from bench.media_images import image_path, image_url
from bench.report import Say
from bench.server import WINDOW

ROOT = Path(__file__).resolve().parent.parent
PEER = "img2dataset==1.47.0"
PEER_HOME = Path.home() / ".cache" / "sheaf" / "img2dataset-venv"
PEER_PROCESSES = 2
PEER_SHARDS = 4
CHUNK = 65536

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
    """Files per second, and milliseconds of the processor for a file: in all, and of those that
    hands out the work."""

    rate: float
    cpu_ms: float = 0.0
    coordinator_ms: float = 0.0


def finished(command: Sequence[str], folder: Path) -> str:
    return said_by(command, folder, environment() | {"NO_ALBUMENTATIONS_UPDATE": "1"})


def check_files(folder: Path, place: Place, is_same: bool = True) -> None:
    """Fast and wrong does not count."""
    sizes = [path.stat().st_size for path in folder.rglob("*.jpg")]
    if len(sizes) != place.images or (is_same and sum(sizes) != place.bytes):
        raise RuntimeError(f"{len(sizes):,} files of {sum(sizes):,} bytes instead of {place}")


# --- img2dataset -----------------------------------------------------------------------------


def img2dataset(
    place: Place, folder: Path, threads: int, options: Sequence[str], start: float
) -> Pace:
    """Its time is what its own statistics tell, from its first shard to the end of its last:
    without its start, and without its waiting for its own log. Nor do the seconds of the processor
    count that it takes to start."""
    seconds, cpu = img2dataset_run(place, folder, threads, options)
    check_files(folder, place, is_same=any(each in AS_THEY_ARE for each in options))
    return Pace(place.images / seconds, (cpu - start) / place.images * 1000)


def img2dataset_start(place: Place, folder: Path, threads: int) -> Pace:
    """What it takes for an image in each shard; its rate means nothing."""
    few = Place(place.url, PEER_SHARDS, 0)
    seconds, cpu = img2dataset_run(few, folder, threads, KEPT)
    return Pace(few.images / seconds, cpu * 1000)


def img2dataset_run(
    place: Place, folder: Path, threads: int, options: Sequence[str]
) -> tuple[float, float]:
    """Seconds by its own clock, seconds of the processor from its start to its end."""
    urls, to = folder / "urls.txt", folder / "out"
    urls.write_text("".join(f"{image_url(place.url, n)}\n" for n in range(place.images)))
    size = [f"--processes_count={PEER_PROCESSES}", f"--thread_count={threads}"]
    shards = f"--number_sample_per_shard={place.images // PEER_SHARDS}"
    places = [f"--url_list={urls}", f"--output_folder={to}", "--output_format=files"]
    before = sum(os.times()[2:4])
    finished([str(PEER_HOME / "bin" / "img2dataset"), *places, *size, shards, *options], folder)
    cpu = sum(os.times()[2:4]) - before
    told = [json.loads(path.read_bytes()) for path in to.glob("*_stats.json")]
    if sum(each["successes"] for each in told) != place.images:
        raise RuntimeError(f"img2dataset did not get everything: {told}")
    begun = min(each["start_time"] for each in told)
    return max(each["end_time"] for each in told) - begun, cpu


def install_peer(say: Say) -> None:
    """Into an environment of its own, once."""
    if (PEER_HOME / "bin" / "img2dataset").exists():
        return
    say(f"media: installing {PEER} into {PEER_HOME}")
    finished([sys.executable, "-m", "venv", "--clear", str(PEER_HOME)], ROOT)
    subprocess.run([PEER_HOME / "bin" / "pip", "install", "--quiet", PEER], check=True)


# --- a bare pool, and the server alone -------------------------------------------------------


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


if __name__ == "__main__":
    address, number, where, at_once = sys.argv[1:]
    print(json.dumps(fetch_bare(address, int(number), Path(where), int(at_once))))

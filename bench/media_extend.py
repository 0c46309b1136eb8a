"""Our part of `bench/media.py`: a harvest whose concepts are known and only lack their media.

Without processes its threads do the work.

    python -m bench.media_extend URL FILES FOLDER WORKERS PROCESSES [sniffed]
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from threading import Event
from typing import BinaryIO
from unittest.mock import patch

from bench.media_images import FOR_EACH, SIZE, image_url
from bench.quiet import seconds_of
from bench.server import concept
from tools import download_images
from tools.add import Entity
from tools.base.resident import descendants
from tools.cluster.executor import ProcessExecutor
from tools.cluster.worker import serve
from tools.conceptnet.rules import search_text
from tools.engine.harvest import Harvest
from tools.engine.stage import Done, Found, Task, Worker
from tools.graphs.sqlite import SqliteGraph
from tools.jobs.conceptnet import ConceptnetJob
from tools.jobs.conceptnet_processes import executor_of, hire
from tools.media.formats import Facts, Format
from tools.media.offer import Candidate
from tools.providers import catalogue
from tools.providers.catalogue import Known
from tools.providers.settings import ExtendSettings
from tools.settings import Settings


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


def now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def since(begun: tuple[float, float]) -> dict[str, float]:
    seconds, cpu = now()
    return {"seconds": seconds - begun[0], "cpu": cpu - begun[1]}


def extend(url: str, count: int, state: Path, workers: int, processes: int) -> dict[str, float]:
    """Its processes are started before the clock is, and wait to be given tasks."""
    concepts = [concept(number) for number in range(count // FOR_EACH)]
    settings = Settings(
        source=url,
        state=state,
        media=state / "m",
        extend_workers=workers,
        processes=processes,
        extend=ExtendSettings(images=FOR_EACH, sounds=0, gifs=0, providers=(Shelf.name,)),
    )
    settings.media.mkdir()
    stop = Event()
    with closing(SqliteGraph(state / "graph.db")) as graph:
        graph.write(map(Entity.of, concepts), ())
        with known(url, count):
            job = ConceptnetJob(settings, graph, stop, "bench")
        job.seeds = (Found("extend", concepts),)
        command = [sys.executable, "-m", "bench.media_extend", "node", url, str(count)]
        away = executor_of(job, settings, job.drafts, stop, command) if processes else None
        ways = settings.pools_file, stop, 1, 1.0, away
        with closing(job), closing(Harvest(job, *ways)) as harvest:
            return timed(harvest, away)


def timed(harvest: Harvest, away: ProcessExecutor | None) -> dict[str, float]:
    if away is not None:
        wait_for(away)
    begun, theirs = now(), seconds_of(descendants(os.getpid()))
    harvest.run(lambda: None)
    told = since(begun)
    theirs = seconds_of(descendants(os.getpid())) - theirs
    return told | {"coordinator": told["cpu"], "cpu": told["cpu"] + theirs}


def wait_for(executor: ProcessExecutor) -> None:
    """Until all its processes are ready for tasks."""
    executor._crew.start()
    while not all(executor._crew.ready()):
        time.sleep(0.01)


def known(url: str, count: int) -> AbstractContextManager[object]:
    shelf = Shelf(url, [concept(number) for number in range(count // FOR_EACH)])
    return patch.dict(catalogue.KNOWN, shelf=Known(lambda *_, **__: shelf, url, {}))


def be_node(url: str, count: str, end: str, parent: str) -> None:
    with known(url, int(count)):
        serve(int(end), int(parent), hire)


def only_sniffed(_file: BinaryIO, _form: Format, _settings: ExtendSettings) -> Facts:
    """In place of a decoder."""
    return Facts(*SIZE)


def main(url: str, count: str, folder: str, workers: str, processes: str, *more: str) -> None:
    with patch.object(download_images, "prove", only_sniffed if more else download_images.prove):
        told = extend(url, int(count), Path(folder), int(workers), int(processes))
    print(json.dumps(told))


if __name__ == "__main__":
    if sys.argv[1] == "node":
        be_node(*sys.argv[2:])
    main(*sys.argv[1:])

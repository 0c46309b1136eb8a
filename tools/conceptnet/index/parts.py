"""The stretches of a file, each made into segments; by several processes if the file is large.

Promise: every process reads the whole file, which is quick, and makes the segments of its own
stretches, which takes long. A stretch appears whole or not at all, and one that is there is not
made again. What one of the processes raises is raised here and ends the others; they end, too,
with whoever started them, however that ends.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import NamedTuple

import orjson

from ...base.files import publish, sync
from ...errors import HarvestError, StopHarvest
from ..dump.faults import Faults
from ..dump.lines import Chunk, Lines
from ..dump.sieve import Sieve
from ..rules import Filter
from .segment import SegmentWriter

NOTE = "note.json"
PATIENCE_S = 10.0

Show = Callable[[int, int], object]
"""Called with how many bytes of the file are read, and how many there are."""


class Share(NamedTuple):
    """Every `step`-th stretch of a file, from the `first` one on."""

    path: Path
    wanted: Filter | None
    folder: Path
    stretch_lines: int
    most_malformed: int
    first: int = 0
    step: int = 1

    def make(self, show: Show) -> None:
        lines, stretch = Lines(self.path), None
        with ExitStack() as at_end:
            for chunk in lines.chunks():
                number = chunk.begin.lines // self.stretch_lines
                if stretch is None or number != stretch.number:
                    if stretch is not None:
                        stretch.complete()
                    stretch = Stretch(self, number)
                    at_end.callback(stretch.close)
                stretch.take(chunk)
                show(lines.packed, lines.size)
            if stretch is not None:
                stretch.complete()


class Stretch:
    """Some millions of lines; nothing is done if they are not of this share, or done already."""

    def __init__(self, share: Share, number: int) -> None:
        self.number = number
        self._final = share.folder / f"{number:04}"
        self._part = share.folder / f"{number:04}.{os.getpid()}.part"
        self._is_ours = number % share.step == share.first and not self._final.exists()
        self._faults = Faults(share.path, share.most_malformed)
        self._sieve = Sieve(share.wanted, self._faults)
        self._writer: SegmentWriter | None = None
        self._segments = 0
        self._lines = 0
        if self._is_ours:
            self._part.mkdir()

    def take(self, chunk: Chunk) -> None:
        if not self._is_ours:
            return
        self._lines += chunk.end.lines - chunk.begin.lines
        for row in self._sieve(chunk):
            if self._writer is None:
                self._writer = SegmentWriter(self._part / f"{self._segments:02}")
            self._writer.add(row)
        if self._writer is not None and self._writer.is_full:
            self._finish_segment()

    def complete(self) -> None:
        if not self._is_ours:
            return
        self._finish_segment()
        faults = {"malformed": self._faults.number, "told": self._faults.logged}
        write_note(self._part / NOTE, {"lines": self._lines, **faults})
        reveal(self._part, self._final)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def _finish_segment(self) -> None:
        if self._writer is not None:
            self._writer.finish()
            self._writer, self._segments = None, self._segments + 1


def make_all(share: Share, processes: int, show: Show) -> None:
    """All stretches of a file, by so many processes."""
    if processes == 1:
        share.make(show)
        return
    spawning = multiprocessing.get_context("spawn")
    pipes: list[Connection] = []
    with ExitStack() as at_end:
        for first in range(processes):
            ours, theirs = spawning.Pipe(duplex=False)
            own = share._replace(first=first, step=processes)
            process = spawning.Process(target=_work, args=(own, theirs), daemon=True)
            process.start()
            theirs.close()
            at_end.callback(process.join, PATIENCE_S)
            at_end.callback(process.terminate)
            pipes.append(at_end.enter_context(ours))
        _listen(pipes, share.path.stat().st_size, show)


def _work(share: Share, pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started us ends us
    with suppress(BrokenPipeError):  # nobody is left to hear it
        try:
            share.make(lambda done, _: pipe.send(done))
            pipe.send(None)
        except (HarvestError, OSError) as error:
            pipe.send(error)


def _listen(pipes: Sequence[Connection], size: int, show: Show) -> None:
    """Until all have said that they are done."""
    done = dict.fromkeys(pipes, 0)
    working = list(pipes)
    while working:
        for pipe in wait(working, PATIENCE_S):
            said = _said(pipe)  # type: ignore[arg-type]
            if said is None:
                working.remove(pipe)  # type: ignore[arg-type]
            else:
                done[pipe] = said  # type: ignore[index]
        show(sum(done.values()) // len(done), size)


def _said(pipe: Connection) -> int | None:
    try:
        said: int | Exception | None = pipe.recv()
    except EOFError:
        raise StopHarvest(
            "a process that made a part of the index was killed: start again, it goes on from there"
        ) from None
    if isinstance(said, Exception):
        raise said
    return said


def write_note(note: Path, content: object) -> None:
    note.write_bytes(orjson.dumps(content))


def reveal(part: Path, final: Path) -> Path:
    """Everything below is on the disk before its name is."""
    for file in (each for each in part.rglob("*") if each.is_file()):
        sync(file)
    publish(part, final, durable=True)
    return final

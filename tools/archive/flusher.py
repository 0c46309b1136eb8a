"""Brings what was written to the disk, about every second, beside whoever writes.

A disk takes its time for each file, and a crawl of many hosts has many: whoever waited for them
would bring nothing home meanwhile.
Promise: what a disk refused once it may forget, and a second try would seem to succeed; so that is
remembered as `failure`, and whoever writes must look at it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from threading import Thread

from ..base import files

EVERY_S = 1.0


class Flusher:
    """For one writer."""

    def __init__(self) -> None:
        self.failure: OSError | None = None
        self._written: set[Path] = set()  # files, and folders with new names in them
        self._begun = time.monotonic()
        self._thread: Thread | None = None

    def add(self, *paths: Path) -> None:
        self._written.update(paths)

    def begin(self) -> None:
        """If it is time, and the last one is over."""
        is_busy = self._thread is not None and self._thread.is_alive()
        if self._written and not is_busy and time.monotonic() - self._begun > EVERY_S:
            self._begun = time.monotonic()
            paths, self._written = self._written, set()
            self._thread = Thread(target=self._sync, args=(paths,), name="archive", daemon=True)
            self._thread.start()

    def finish(self, *paths: Path) -> None:
        """These, or all: they are on the disk when this returns, unless there is a failure."""
        if self._thread is not None:
            self._thread.join()
        wanted = set(paths) or self._written
        self._sync(wanted)
        self._written = self._written - wanted

    def _sync(self, paths: Iterable[Path]) -> None:
        for path in paths:
            try:
                files.sync(path)
            except OSError as error:
                self.failure = self.failure or error

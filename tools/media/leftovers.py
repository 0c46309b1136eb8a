"""What arrived of files when the process that fetched them was killed.

A harvest on one machine does such a task again, and the file with it. Of a task that a node had,
another node may do the rest: nobody would ever come back to what lies here.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

_NAME = re.compile(r"[0-9]+\.part")
TICK_S = 0.1  # a file's time may lie so far behind the clock


class Leftovers:
    """Removed aside, since a folder may hold a million files; what arrives meanwhile is younger."""

    def __init__(self, media: Path, stop: Event) -> None:
        self._media, self._stop = media, stop
        self._before = time.time() - TICK_S
        self._work = Thread(target=self._remove, name="leftovers", daemon=True)
        self._work.start()

    def wait(self) -> None:
        """Until the last of them is gone, or nobody shall go on."""
        self._work.join()

    def _remove(self) -> None:
        for path in self._found():
            with suppress(OSError):  # it is gone already, or will be found the next time
                if path.stat().st_mtime < self._before:
                    path.unlink()

    def _found(self) -> Iterator[Path]:
        for folder, _, names in os.walk(self._media):
            if self._stop.is_set():
                return
            yield from (Path(folder, name) for name in names if _NAME.fullmatch(name))

"""Folders for parsers to write in, gone when their process is.

Promise: what a run that was killed has left is removed by the next one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from ..base.locks import is_locked_now
from ..errors import NO_FILES, NoRoom, no_more_files

PREFIX = "sheaf-parsers-"


class Scratch:
    """One folder for a run, held by a lock, and one in it for each process."""

    def __init__(self, parent: Path | None = None) -> None:
        parent = parent or Path(tempfile.gettempdir())
        _remove_stale(parent)
        unheld = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=parent)).resolve()
        self._held = os.open(unheld, os.O_RDONLY | os.O_CLOEXEC)
        is_locked_now(self._held, str(unheld))
        self.folder = unheld.rename(unheld.with_name(unheld.name[1:]))  # held before it is seen

    def new(self) -> Path:
        try:
            return Path(tempfile.mkdtemp(dir=self.folder))
        except OSError as error:
            if error.errno in NO_FILES:
                raise no_more_files(error) from error
            raise NoRoom(f"{self.folder} cannot be written ({error.strerror})") from error

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._held)


def _remove_stale(parent: Path) -> None:
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            held = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY)
            try:
                if os.fstat(held).st_uid == os.getuid() and is_locked_now(held, str(folder)):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(held)

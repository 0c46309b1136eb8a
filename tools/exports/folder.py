"""A folder that appears when everything is in it.

Promise: killed at any moment, there is no folder, and the next try begins anew. Two who write the
same folder do not meet. Nothing that somebody else put there is deleted.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..base.locks import is_locked_now
from ..errors import AlreadyRunning, StopHarvest, UsageError

README = "README.txt"
TITLE = "Written by Sheaf"
"""So begins every README.txt: by it an unfinished folder is known as ours."""


@contextmanager
def new_folder(folder: Path, text: str, command: str = "export") -> Iterator[Path]:
    """Where to write until it is complete; the text becomes its README.txt, which names the
    command."""
    head = f"{TITLE} (python main.py {command}).\n\n"
    try:
        if folder.exists():
            raise UsageError(f"{folder} exists already: name a folder that is not there yet")
        unfinished = folder.with_name(f"{folder.name}.part")
        unfinished.mkdir(parents=True, exist_ok=True)
        with _held(unfinished):
            _remove_rest(unfinished)
            (unfinished / README).write_text(head + text, encoding="utf-8")
            yield unfinished
            unfinished.rename(folder)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise UsageError(f"{folder} is too long a name: give a shorter one") from error
        reason = error.strerror or error  # pyarrow knows only a sentence
        raise StopHarvest(f"{folder} cannot be written: {reason}") from error


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """The lock is the kernel's: it is gone with its process."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not is_locked_now(lock, str(folder)):
            raise AlreadyRunning(f"another export writes {folder} at this moment")
        yield
    finally:
        os.close(lock)


def _remove_rest(folder: Path) -> None:
    """What a killed export left; it may have been one of another format."""
    if any(folder.iterdir()) and not _is_ours(folder / README):
        raise UsageError(f"{folder} is in the way and not of an export: move it elsewhere")
    for path in sorted(folder.iterdir(), key=lambda each: each.name == README):  # the proof last
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _is_ours(readme: Path) -> bool:
    return readme.is_file() and readme.read_bytes().startswith(TITLE.encode())

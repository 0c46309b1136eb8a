"""Does a harvest run in this folder? Asked of the kernel, so that nobody notices the question.

Limit: only Linux tells for sure; elsewhere a process with the number in the file has to do. A
harvest outside of the container we are in cannot be seen.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from .snapshots import LOCK


class Running(NamedTuple):
    pid: int
    since: float


def running(folder: Path) -> Running | None:
    """The harvest that holds this folder.

    Its lock is not tried: a harvest that starts in that moment would be told that one already runs.
    The kernel is asked instead who has the file open, or locked where that is none of our business.
    """
    try:
        with (folder / LOCK).open("rb") as file:
            lock, pid = os.fstat(file.fileno()), int(file.read(32) or b"0")
    except (OSError, ValueError):
        return None
    is_held = pid > 0 and (_has_open(pid, lock) or _is_locked(pid, lock))
    return Running(pid, lock.st_mtime) if is_held else None


def _has_open(pid: int, lock: os.stat_result) -> bool:
    """Its number is in the file: if it has the file open it is the one that wrote it there."""
    try:
        return any(_is_same(each, lock) for each in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def _is_same(link: Path, lock: os.stat_result) -> bool:
    try:
        return os.path.samestat(link.stat(), lock)
    except OSError:  # closed meanwhile
        return False


def _is_locked(pid: int, lock: os.stat_result) -> bool:
    """For processes of other users, and of containers: there the number is another one."""
    device = f"{os.major(lock.st_dev):02x}:{os.minor(lock.st_dev):02x}"
    try:
        lines = [line.split() for line in Path("/proc/locks").read_text("ascii").splitlines()]
    except OSError:
        return _is_alive(pid)  # no Linux: a process of that number has to do
    held = [words[4:6] for words in lines if len(words) > 5 and words[1] == "FLOCK"]
    return any(
        place.endswith(f":{lock.st_ino}") and (place.startswith(device) or holder == str(pid))
        for holder, place in held
    )


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True

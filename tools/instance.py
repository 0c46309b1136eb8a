"""One harvest for each state folder, and how to reach the one that runs.

The lock is the kernel's: it is gone with its process, even after `kill -9`.
"""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.errors import AlreadyRunning, StopHarvest, UsageError
from tools.running import running
from tools.state import LOCK

SIGNALS = {"pause": signal.SIGUSR1, "resume": signal.SIGUSR2, "stop": signal.SIGTERM}


@contextmanager
def only_instance(folder: Path) -> Iterator[None]:
    """Hold the folder, made if need be and closed to other users."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise StopHarvest(f"the state folder {folder} cannot be used: {error.strerror}") from error
    try:
        if not _lock(lock):
            raise AlreadyRunning(f"a harvest already runs in {folder} (process {_pid(lock)})")
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(lock)


def ask_running(folder: Path, request: str) -> int:
    """Tell the harvest in this folder to pause, resume or stop; its process number."""
    if not (folder / LOCK).exists():
        raise UsageError(f"no harvest has run in {folder}")
    holder = running(folder)
    try:
        if holder is None:
            raise ProcessLookupError
        os.kill(holder.pid, SIGNALS[request])
    except ProcessLookupError:
        raise UsageError(f"no harvest runs in {folder}") from None
    return holder.pid


def _lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _pid(fd: int) -> str:
    return os.pread(fd, 32, 0).decode() or "unknown"

"""The kernel's locks on files: gone with their process, even after `kill -9`.

Promise: who holds one holds the file that has the name. Files made only to be locked may be removed
by whoever holds them alone, so a lock on one that has lost its name counts for nothing.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import StopHarvest


class NoLocks(StopHarvest):
    """The file system has none, as some of those on other computers."""


@contextmanager
def locked(path: Path, name: str, shared: bool = False) -> Iterator[int | None]:
    """Hold a file that is made if need be; None if somebody else holds it. `name` is what it stands
    for."""
    fd = _opened(path, name)
    try:
        while is_mine := is_locked_now(fd, name, shared):
            if has_name(fd, path):
                break
            os.close(fd)  # removed by its last holder a moment ago
            fd = _opened(path, name)
        yield fd if is_mine else None
    except NoLocks:
        if not os.fstat(fd).st_size:  # nobody can hold it, nobody has written into it
            path.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)


def is_locked_now(fd: int, name: str, shared: bool = False) -> bool:
    """Lock it without waiting; False if somebody else holds it."""
    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise NoLocks(
            f"{name} cannot be locked ({error.strerror}): put it on a disk of this computer"
        ) from error
    return True


def remove_unless_shared(fd: int, path: Path, name: str) -> None:
    """By a holder who needs it no more: the last one clears the file away."""
    if is_locked_now(fd, name) and has_name(fd, path):
        path.unlink(missing_ok=True)


def has_name(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except OSError:
        return False


def _opened(path: Path, name: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StopHarvest(f"{name} cannot be used: {error.strerror}") from error

"""One harvest for each state folder, and how to reach the one that runs."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ..base.locks import has_name, locked
from ..errors import AlreadyRunning, StopHarvest, UsageError
from .holder import running
from .snapshots import LOCK

SIGNALS = {"pause": signal.SIGUSR1, "resume": signal.SIGUSR2, "stop": signal.SIGTERM}


@contextmanager
def only_instance(folder: Path) -> Iterator[None]:
    """Hold the folder, made if need be and closed to other users. If nothing else was made in it
    meanwhile, it goes again."""
    lock = folder / LOCK
    new = [each for each in (lock, folder, *folder.parents) if not each.exists()]
    with ExitStack() as stack:
        stack.callback(_remove_empty, [each for each in new if each != lock])
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            held = stack.enter_context(_held(lock, is_new=lock in new))
            os.ftruncate(held, 0)
            os.pwrite(held, str(os.getpid()).encode(), 0)
        except OSError as error:
            raise StopHarvest(
                f"the state folder {folder} cannot be used: {error.strerror}"
            ) from error
        yield


@contextmanager
def _held(lock: Path, is_new: bool) -> Iterator[int]:
    """A new one that lies alone in its folder is removed while it is still held: later it may be
    somebody else's."""
    with locked(lock, f"the state folder {lock.parent}") as held:
        if held is None:
            pid = lock.read_text("ascii", "replace") or "unknown"
            raise AlreadyRunning(f"a harvest already runs in {lock.parent} (process {pid})")
        try:
            yield held
        finally:
            if is_new and has_name(held, lock) and len(list(lock.parent.iterdir())) == 1:
                lock.unlink()


def _remove_empty(folders: Sequence[Path]) -> None:
    with suppress(OSError):
        for each in folders:
            each.rmdir()


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

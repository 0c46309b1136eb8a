"""A process and all it has started: how they all end.

Promise: those that left its group are found too, by the mark in their environment.
Limit: who takes that mark away on purpose is not found; a sandbox with processes of its own ends
even those.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

MARK = "PARSER_OF"
GONE_WITHIN_S = 5.0


def has_ended(pid: int) -> bool:
    """It stays to be waited for, so that its number is nobody else's."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def kill_marked(mark: str) -> None:
    """Until twice none is found: one that ended while we looked may have left a child that was not
    listed yet."""
    until, empty = time.monotonic() + GONE_WITHIN_S, 0
    while empty < 2 and time.monotonic() < until:
        pids = [*marked(mark)]
        empty = 0 if pids else empty + 1
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def marked(mark: str) -> Iterator[int]:
    sought = f"{MARK}={mark}".encode()
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            with suppress(OSError):
                if sought in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    yield int(name)

"""A process and all it has started: how much memory they have, and how they all end.

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
from resource import getpagesize

MARK = "PARSER_OF"
GONE_WITHIN_S = 5.0
PAGE = getpagesize()


def resident_of(pid: int, most: int) -> int:
    """Bytes of a process and its descendants. What forked processes share is counted once, but only
    looked at so closely if they seem to have more than `most`."""
    pids = [pid, *descendants(pid)]
    sizes = [_resident(each) for each in pids]
    if sum(sizes) <= most or len(pids) == 1:
        return sum(sizes)
    return sum(_own_share(each, size) for each, size in zip(pids, sizes, strict=True))


def descendants(pid: int) -> Iterator[int]:
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, file.read_text().split()):
                yield child
                yield from descendants(child)


def _resident(pid: int) -> int:
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    return 0


def _own_share(pid: int, otherwise: int) -> int:
    """None if it has ended since; what may not be looked at counts in full."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except PermissionError:
        return otherwise
    except OSError:
        return 0
    shares = (line.split()[1] for line in text.splitlines() if line.startswith("Pss:"))
    return int(next(shares, 0)) * 1024


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

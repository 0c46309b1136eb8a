"""How much memory processes have, and how much there is.

Limit: only Linux tells what each has; elsewhere nothing is known to have any.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from resource import getpagesize

PAGE = getpagesize()
OWN_GROUP, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def memory_here(own_group: Path = OWN_GROUP, groups: Path = GROUPS) -> int:
    """Bytes of this computer, or as many as our service or container may have."""
    return min((os.sysconf("SC_PHYS_PAGES") * PAGE, *_allowed(own_group, groups)))


def _allowed(own_group: Path, groups: Path) -> Iterator[int]:
    """Of our group and those it is in, by the new order of them and by the old."""
    with suppress(OSError, ValueError):
        for line in own_group.read_text().splitlines():
            _, kinds, name = line.split(":", 2)
            if kinds in ("", "memory"):
                group = groups / kinds / name.strip("/")
                file = "memory.limit_in_bytes" if kinds else "memory.max"
                for each in (group, *group.parents):
                    with suppress(OSError, ValueError):
                        yield int((each / file).read_text())


def resident_of(pid: int, most: int) -> int:
    """Bytes of a process and its descendants. What forked processes share is counted once, but only
    looked at so closely if they seem to have more than `most`."""
    pids = [pid, *descendants(pid)]
    sizes = [_resident(each) for each in pids]
    if sum(sizes) <= most or len(pids) == 1:
        return sum(sizes)
    return sum(_own_share(each, size) for each, size in zip(pids, sizes, strict=True))


def descendants(pid: int) -> Iterator[int]:
    """Threads and processes may end meanwhile."""
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            with suppress(OSError):
                found = Path(f"/proc/{pid}/task/{thread}/children").read_text()
                for child in map(int, found.split()):
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

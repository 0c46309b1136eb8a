"""How much memory processes have, and how much there is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from tools.base import resident
from tools.base.resident import memory_here, resident_of


def test_who_has_ended_since_has_no_memory() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert resident._own_share(ended.pid, 10**9) == 0
    assert resident._own_share(os.getpid(), 0) > 0
    assert resident_of(os.getpid(), 10**12) > 10**6


@pytest.mark.parametrize(
    ("own", "file"),
    [
        ("0::/a.slice/b.service\n", "a.slice/memory.max"),
        ("0::/a.slice/b.service\n", "a.slice/b.service/memory.max"),
        ("2:cpu:/x\n1:memory:/a\n0::/\n", "memory/a/memory.limit_in_bytes"),
    ],
)
def test_a_service_has_no_more_than_it_may(tmp_path: Path, own: str, file: str) -> None:
    group, groups = tmp_path / "cgroup", tmp_path / "groups"
    whole = memory_here(group, groups)
    assert whole == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    group.write_text(own)
    (groups / file).parent.mkdir(parents=True)
    (groups / file).write_text("max\n")
    assert memory_here(group, groups) == whole
    (groups / file).write_text("50000000\n")
    assert memory_here(group, groups) == 50_000_000


def test_processes_that_end_meanwhile_are_no_trouble() -> None:
    for _ in range(100):
        with subprocess.Popen([sys.executable, "-V"], stdout=subprocess.DEVNULL) as ending:
            waits = Thread(target=ending.wait)
            waits.start()
            while waits.is_alive():
                assert resident_of(ending.pid, 1) >= 0
            waits.join()

"""`kill -9` at random moments: afterwards there is a record for each row, and no other."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from tests.archive.appender import opened, table_in
from tests.support.command import ROOT
from tools.archive.reader import records
from tools.archive.recovery import our_files

KILLS = 12


def kill_after(folder: Path, seed: int, seconds: float) -> None:
    command = [sys.executable, "-m", "tests.archive.appender", str(folder), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as child:
        assert child.stdout is not None and child.stdout.readline() == b"begins\n"
        time.sleep(seconds)  # a random moment
        child.kill()


def on_disk(folder: Path) -> list[tuple[str, int, int, str]]:
    found = []
    for name in our_files(folder):
        for kept in records(folder / name):
            if kept.kind != "warcinfo":
                found.append((name, kept.place.offset, kept.place.length, kept.kind))
    return sorted(found)


@pytest.mark.timeout(120)
def test_one_record_for_each_row_after_any_kill(tmp_path: Path) -> None:
    seed = time.time_ns()
    print(f"seed {seed}")
    chance = Random(seed)
    cut = kills = 0
    while kills < KILLS or not cut:  # until one came while something was under way
        kills += 1
        kill_after(tmp_path, chance.randrange(2**30), chance.random() * 0.15)
        with closing(table_in(tmp_path)) as table:
            archive, found = opened(tmp_path, table)
            cut += len(found.cut) + len(found.removed)
            assert not found.short and not found.strange
            rows = sorted(table.execute("SELECT file, offset, length, kind FROM captures"))
            ((most, distinct),) = table.execute(
                "SELECT max(number), count(DISTINCT number) FROM captures"
            )
        assert rows == on_disk(tmp_path / "archive")
        assert len(rows) == 2 * (most or 0) == 2 * distinct
        archive.close()
    assert most

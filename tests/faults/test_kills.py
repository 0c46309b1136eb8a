"""`kill -9` at each system call of moves and snapshots: nothing that was acknowledged is lost."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from tests.faults.injection import Process, injected, run
from tests.faults.moves import COUNT, KEEP, STAGES
from tests.support.chance import any_seed
from tests.support.needs import program
from tools.base.sqlite import reading
from tools.engine.pools import Pools
from tools.errors import StateDamaged
from tools.journal.schema import check_state
from tools.journal.snapshots import remove_unfinished, snapshots

LIFE = ("", "to_fetch", "to_extend", "finished")
CALLS = {  # how many kills of each kind, unless SHEAF_SWEEP=all
    "rename": 6,
    "fsync": 8,
    "unlink": 8,
    "ftruncate": 5,
    "fdatasync": 10,
    "openat": 5,
    "write": 5,
    "pwrite64": 20,
}
OPENED = 70  # files by the moves and snapshots themselves
IN_A_ROW = 16
AT_ONCE = 2


class Kill(NamedTuple):
    call: str
    number: int
    is_of_carrying: bool = False  # of the log into the file, by the checkpointer


def command(file: Path) -> list[str]:
    return [sys.executable, "-m", "tests.faults.moves", str(file)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Counter[tuple[str, bool]]:
    """How often each call is made after the imports: by the mover, and by its checkpointer."""
    folder = tmp_path_factory.mktemp("undisturbed")
    trace = ["-o", str(folder / "trace"), "-e", f"trace={','.join(CALLS)}"]
    words = [program("strace"), "-f", "-qqq", *trace, *command(folder / "pools.db")]
    code, process = run(folder, words)
    assert code == 0, process.log
    return counted((folder / "trace").read_text())


def counted(trace: str) -> Counter[tuple[str, bool]]:
    lines = [match.groups() for match in re.finditer(r"^(\d+) +(\w+)\(", trace, re.MULTILINE)]
    return Counter((call, thread == lines[0][0]) for thread, call in lines)


def kills(undisturbed: Counter[tuple[str, bool]], chance: Random) -> Iterator[Kill]:
    """Some of every kind, or all there are."""
    is_all = os.environ.get("SHEAF_SWEEP") == "all"
    for call, wanted in CALLS.items():
        there = range(1, undisturbed[call, True] + 1)
        if call == "openat":  # those before are Python's own, for its modules
            there = there[-OPENED:]
        chosen = there if is_all else chance.sample(there, min(wanted, len(there)))
        yield from (Kill(call, number) for number in chosen)
    if not is_all:  # from one to the next a move is half written, in the place of an older one
        first = chance.randrange(undisturbed["pwrite64", True] // 2, undisturbed["pwrite64", True])
        yield from (Kill("pwrite64", first - number) for number in range(IN_A_ROW))
    carried = range(1, undisturbed["pwrite64", False] + 1)
    for number in carried if is_all else chance.sample(carried, 4):
        yield Kill("pwrite64", number, is_of_carrying=True)


def test_a_kill_at_any_system_call_loses_nothing_that_was_acknowledged(
    tmp_path: Path, undisturbed: Counter[tuple[str, bool]], caplog: pytest.LogCaptureFixture
) -> None:
    """All of them, a few minutes: SHEAF_SWEEP=all."""
    seed = any_seed()
    print(f"kills drawn with seed {seed}")
    caplog.set_level(logging.WARNING)
    ended: Counter[int] = Counter()
    losses = []
    with ThreadPoolExecutor(AT_ONCE) as executor:
        chosen = list(kills(undisturbed, Random(seed)))
        folders = [tmp_path / str(number) for number in range(len(chosen))]
        for kill, (code, process) in zip(
            chosen, executor.map(killed, chosen, folders), strict=True
        ):
            assert code in (-9, 0), (kill, process.log)
            ended[code] += 1
            try:
                assert_nothing_lost(process, str(kill), caplog)
            except (AssertionError, StateDamaged) as error:
                losses.append(kill)
                print(f"{kill}: {error}")
    print(f"{ended[-9]} were killed, {ended[0]} ended by themselves before that")
    assert losses == [], f"{len(losses)} of {ended[-9]} kills lost something"
    assert ended[-9] > 0.8 * ended.total()


def killed(kill: Kill, folder: Path) -> tuple[int, Process]:
    what = f"{kill.call}:signal=SIGKILL:when={kill.number}"
    file = folder / "pools.db"
    paths = [file] if kill.is_of_carrying else []
    return run(folder, [*injected(what, *paths), *command(file)])


def assert_nothing_lost(process: Process, kill: str, caplog: pytest.LogCaptureFixture) -> None:
    file = process.folder / "pools.db"
    said = [line.split(" ") for line in process.said.splitlines()]
    acknowledged = {uri: pool for pool, uri in said[: -1 if said[-1:] == [["end"]] else None]}
    taken = [name for name in acknowledged if acknowledged[name] == "snapshot"]
    for name in taken:
        del acknowledged[name]
    assert_snapshots_load(file, taken, kill)
    assert_leftovers_go(file, kill, caplog)
    if file.exists() or acknowledged:
        assert_moves_are_there(file, acknowledged, kill)


def assert_snapshots_load(file: Path, taken: list[str], kill: str) -> None:
    """All that were acknowledged and not outdated; and whatever has the name of one."""
    there = snapshots(file)
    assert {path.name for path in there} >= set(taken[-KEEP + 1 :]), kill
    for path in there:
        db = reading(path)
        check_state(db, path)
        db.close()


def assert_leftovers_go(file: Path, kill: str, caplog: pytest.LogCaptureFixture) -> None:
    left = list(file.parent.glob("snapshots/*.part*"))
    caplog.clear()
    remove_unfinished(file)
    assert [record.getMessage().count("was not finished") for record in caplog.records] == [1] * (
        1 if left else 0
    ), (kill, left, caplog.text)
    assert not list(file.parent.glob("snapshots/*.part*")), kill


def assert_moves_are_there(file: Path, acknowledged: dict[str, str], kill: str) -> None:
    pools = Pools(file, STAGES)
    where = {uri: pool for pool in pools.counts() for uri in pools.uris(pool)}
    pools.close()
    steps = sum(
        LIFE.index(where.get(uri, "")) - LIFE.index(pool) for uri, pool in acknowledged.items()
    )
    assert all(LIFE.index(where.get(u, "")) >= LIFE.index(p) for u, p in acknowledged.items()), kill
    assert steps in (0, 1), f"{kill}: {steps} moves were made and not acknowledged"
    assert len(where) <= 2 * COUNT

"""Makes moves and snapshots, and says each after it was made; strace ends it somewhere.

python -m tests.faults.moves FILE
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tools.base import checkpoint
from tools.engine import statefile as register
from tools.engine.pools import Pools
from tools.engine.stage import Done, Found, Stage
from tools.errors import HarvestError
from tools.journal.snapshots import snapshot

FETCH, EXTEND = STAGES = Stage("fetch", 1), Stage("extend", 1)
COUNT = 10
SNAPSHOT_AFTER = (2, 4, 6, 8)
KEEP = 3


def said(text: str) -> None:
    """In one system call, so that nothing waits in a buffer."""
    os.write(1, f"{text}\n".encode())


def make_moves(file: Path) -> None:
    pools = Pools(file, STAGES)
    for number in range(COUNT):
        pools.discover(Found("fetch", [f"/c/en/{number}"]))
        said(f"to_fetch /c/en/{number}")
        move(pools, FETCH, "to_extend")
        move(pools, EXTEND, "finished")
        if number in SNAPSHOT_AFTER:
            said(f"snapshot {snapshot(file, KEEP).name}")
    pools.make_durable()
    pools.close()
    said("end")


def move(pools: Pools, stage: Stage, to: str) -> None:
    (task,) = pools.lease(stage)
    pools.advance((task, Done(to, [Found("fetch", [f"{task.uri}/beside"])])))
    said(f"{to} {task.uri}")


if __name__ == "__main__":
    register.CHECKPOINT_EVERY = 25  # rows: the checkpointer has its share of the calls,
    checkpoint.LARGEST_LOG = 0  # and the writer the rest of it
    try:
        make_moves(Path(sys.argv[1]))
    except HarvestError as error:
        sys.exit(print(f"moves: {error}", file=sys.stderr) or error.exit_code)

"""A large state: nobody's move waits for a snapshot of it."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event, Thread

from tools.engine.pools import Pools
from tools.engine.stage import Done, Found, Stage
from tools.journal.reader import look
from tools.journal.snapshots import snapshot

URIS, AT_ONCE = 300_000, 50_000
LONGEST_S = 0.5
FETCH = Stage("fetch", 1)


class Mover(Thread):
    """Moves one URI after the other and remembers which move took longest."""

    def __init__(self, pools: Pools) -> None:
        super().__init__(daemon=True)
        self._pools = pools
        self._may_end = Event()
        self.waits: list[float] = []

    def run(self) -> None:
        while not self._may_end.is_set():
            begun = time.monotonic()
            (task,) = self._pools.lease(FETCH)
            self._pools.advance((task, Done("finished")))
            self.waits.append(time.monotonic() - begun)

    def end(self) -> None:
        self._may_end.set()
        self.join()


def test_nobodys_move_waits_for_a_snapshot(tmp_path: Path) -> None:
    file = tmp_path / "pools.db"
    pools = Pools(file, [FETCH])
    for first in range(0, URIS, AT_ONCE):
        numbers = range(first, first + AT_ONCE)
        pools.discover(Found("fetch", [f"/c/en/concept_number_{each}" for each in numbers]))
    mover = Mover(pools)
    mover.start()
    begun = time.monotonic()
    taken = snapshot(file)
    seconds = time.monotonic() - begun
    mover.end()
    pools.close()
    print(f"{len(mover.waits)} moves in {seconds:.2f} s, the longest {max(mover.waits):.3f} s")
    # Who waited for it would wait as long as it takes, on a busy machine, too.
    assert max(mover.waits) < max(LONGEST_S, seconds / 4)
    assert len(mover.waits) > 100
    seen = look(taken).pools
    assert sum(seen.values()) == URIS
    assert seen["on_fetch"] <= 1

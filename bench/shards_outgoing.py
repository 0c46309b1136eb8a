"""What was found here and belongs to others: in the file of the pools, until it is acknowledged.

Promise: it is written in the transaction that found it, and goes in one that follows its
acknowledgement. So it is sent at least once; the other's INSERT OR IGNORE makes that enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bench.shards_world import World
from tools.engine.arrivals import Arrivals, Entered
from tools.engine.pools import Pools
from tools.engine.stage import Found, Stage
from tools.engine.statefile import as_json

STAGE = Stage("walk", workers=1)
BATCH = 2000
REMEMBERED = 200_000  # URIs that others have acknowledged; some 20 MB
TABLE = (
    "CREATE TABLE IF NOT EXISTS outgoing (shard INTEGER NOT NULL, uri TEXT NOT NULL, "
    "depth INTEGER NOT NULL, PRIMARY KEY (shard, uri)) WITHOUT ROWID, STRICT"
)
ADD = "INSERT OR IGNORE INTO outgoing VALUES (?, ?, ?)"
NEXT = "SELECT uri, depth FROM outgoing WHERE shard = ? LIMIT ?"
REMOVE = "DELETE FROM outgoing WHERE shard = ? AND uri IN (SELECT value FROM json_each(?))"
IS_ANY = "SELECT EXISTS (SELECT 1 FROM outgoing)"


class SplitArrivals(Arrivals):
    """Lets in what is its own; the rest goes to `outgoing`, in the same transaction."""

    def __init__(self, pools: ShardPools, world: World, own: int) -> None:
        super().__init__(pools._stages, pools._register, pools._waiting.reaches)
        self.sent: set[str] = set()  # and acknowledged
        self._world, self._own = world, own

    def let_in(self, found: Iterable[tuple[Found, int]]) -> Entered:
        return super().let_in([(self._split(group, depth), depth) for group, depth in found])

    def _split(self, group: Found, depth: int) -> Found:
        owners = [(self._world.owner(uri), uri) for uri in group.uris]
        others = [
            (owner, uri, depth)
            for owner, uri in owners
            if owner != self._own and uri not in self.sent
        ]
        self._register.write(ADD, *others)
        return replace(group, uris=[uri for owner, uri in owners if owner == self._own])


class ShardPools(Pools):
    """Today's pools, for the URIs whose hash is its own."""

    _arrivals: SplitArrivals

    def open_outgoing(self, world: World, own: int) -> None:
        with self.changed:
            self._register.write_through(TABLE)
            self._arrivals = SplitArrivals(self, world, own)

    def forgive(self) -> int:
        """What was at work when the simulation killed this shard killed nobody: it is not marked.
        How many tasks are made again."""
        with self.changed:
            (repeated,) = self._register.read("SELECT count(*) FROM mark")[0]
            self._register.write_through("DELETE FROM mark")
            self._register._marks.recount()
            return int(repeated)

    def next_for(self, shard: int) -> list[tuple[str, int]]:
        with self.changed:
            return self._register.read(NEXT, shard, BATCH)

    def acknowledged(self, shard: int, uris: Sequence[str], size: int) -> None:
        with self.changed:
            with self._register.transaction():
                self._register.write(REMOVE, (shard, as_json(uris)))
                self._register.count_up({"sent": len(uris), "sent bytes": size})
            if len(self._arrivals.sent) + len(uris) > REMEMBERED:
                self._arrivals.sent.clear()
            self._arrivals.sent.update(uris)

    def note(self, **numbers: int) -> None:
        with self.changed, self._register.transaction():
            self._register.count_up(numbers)

    def is_idle(self) -> bool:
        """Nothing waits, nothing is at work, and nothing is to be sent; all of one moment."""
        with self.changed:
            is_working = self.at_work or self.count(STAGE.waiting)
            return not is_working and not self._register.read(IS_ANY)[0][0]

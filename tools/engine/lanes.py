"""Who comes next where a pool is kept by lanes: only those of lanes that may be asked now.

Promise: a lane that rests costs nobody anything, however many wait in it; lanes are served in turn,
or by the order of their first rows. Memory holds a few rows of each, and not more than MOST in all.
Limit: `Pools` has the lock; what a gate says of a lane is asked when the lane is served, when one
of its tasks ends, when its moment has come, and when somebody says it has changed.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Iterable, Mapping
from itertools import count

from .gate import Open
from .stage import Stage
from .window import NOTHING_READ, Row

MOST = 4000  # rows in all
MOST_OF_LANE = 64
AT_ONCE = 8  # rows are read
LANE = 7  # its place in a row


class Lane:
    """Every ready row below `horizon` is in `rows`; None: nothing is beyond them."""

    __slots__ = ("active", "horizon", "rows", "stamp", "turn")

    def __init__(self, turn: int) -> None:
        self.rows: list[Row] = []
        self.horizon: tuple[int, int] | None = None
        self.active = 0  # of its rows are at work
        self.turn = turn
        self.stamp = 0  # only what stands in a heap with this number counts

    @property
    def first(self) -> Row | None:
        return self.rows[0] if self.rows else None

    @property
    def has_work(self) -> bool:
        return bool(self.rows) or self.horizon is not None


class Lanes:
    """In the place of a `Window`. `read` gives the first ready rows of a lane, at most so many;
    `names` every lane there is."""

    def __init__(
        self,
        stage: Stage,
        read: Callable[[str, int], list[Row]],
        names: Callable[[], Iterable[str]],
    ) -> None:
        self.next_due: float | None = None
        self.gate = Open() if stage.gate is None else stage.gate  # one may be empty, and false
        self._is_fair = stage.order == "fair"
        self._read, self._names = read, names
        self._lanes: dict[str, Lane] = {}
        self._is_loaded = False
        self._held = 0  # rows in all
        self._taken: dict[str, set[int]] = {}  # ids that the file still shows as waiting
        self._numbers = count(1)
        self._ready: list[tuple[int, int, int, str]] = []  # two numbers of its order, stamp, name
        self._resting: list[tuple[float, int, str]] = []  # until when, stamp, name
        self._unread: set[str] = set()  # ready, but which row is first?
        self._told = math.inf  # until when whoever waits believes it has time

    @property
    def held(self) -> int:
        return self._held

    # --- as a window -----------------------------------------------------------------------

    def reaches(self, rank: int) -> bool:
        return True  # it may be the first of a lane that nobody knew

    def head(self) -> Row | None:
        """The first that may be handed out now."""
        self._load()
        self._wake()
        while self._read_heads() and self._ready:
            _, _, stamp, name = self._ready[0]
            lane = self._lanes.get(name)
            counts = lane is not None and lane.stamp == stamp
            if lane and counts and self._may_begin(name, lane) and self._fill(name, lane):
                return lane.rows[0]
            heapq.heappop(self._ready)
            if lane and counts:
                self._place(name, lane)
        return None

    def take(self, count: int, same_rank: bool) -> list[Row]:
        """The first rows, at most so many, each of which counts as begun in its lane."""
        taken: list[Row] = []
        while len(taken) < count and (row := self.head()) is not None:
            if same_rank and taken and row[0] != taken[0][0]:
                break
            name = str(row[LANE])
            heapq.heappop(self._lanes[name].rows)
            self._held -= 1
            self._taken.setdefault(name, set()).add(row[1])
            self.begin(name)
            taken.append(row)
        return taken

    def written(self) -> None:
        """What was taken stands in the file as handed out."""
        self._taken.clear()

    def add(self, rows: Iterable[Row]) -> None:
        if not self._is_loaded:
            return  # everything will be read
        for row in rows:
            name = str(row[LANE])
            lane = self._lanes.get(name) or self._new(name)
            first, had_work = lane.first, lane.has_work
            self._hold(lane, row)
            if not had_work or (lane.first is not first and not self._is_fair):
                self._place(name, lane)

    def change(self, rows: Mapping[int, Row]) -> None:
        """Waiting rows have another rank: their lanes are read again."""
        for name in {str(row[LANE]) for row in rows.values()}:
            self.read_again(name)

    def read_again(self, name: str) -> None:
        if self._is_loaded:
            lane = self._lanes.get(name) or self._new(name)
            self._drop(lane)
            lane.horizon = NOTHING_READ
            self._place(name, lane)

    def forget(self) -> None:
        """Rows have come in, or gone, of which nothing is known here."""
        for lane in self._lanes.values():
            self._drop(lane)
        self._is_loaded = False

    # --- lanes -----------------------------------------------------------------------------

    def may_begin(self, name: str) -> bool:
        return self._may_begin(name, self._lanes.get(name) or Lane(0))

    def begin(self, name: str) -> None:
        """One of this lane is handed out; it is the last in turn now."""
        lane = self._lanes.get(name) or self._new(name)
        lane.active += 1
        lane.turn = next(self._numbers)
        self.gate.begun(name)
        self._place(name, lane)

    def end(self, name: str, seconds: float) -> None:
        self.gate.ended(name, seconds)
        if lane := self._lanes.get(name):
            lane.active -= 1
            self._place(name, lane)

    def changed(self, name: str) -> None:
        """Its gate says something else now."""
        if lane := self._lanes.get(name):
            self._place(name, lane)

    def next_at(self) -> float | None:
        """When the first lane that rests may be asked, by `time.monotonic`."""
        self._load()
        while self._resting and not self._counts(*self._resting[0][1:]):
            heapq.heappop(self._resting)
        return self._resting[0][0] if self._resting else None

    def tell_next(self) -> float | None:
        """As above, for somebody who waits until then."""
        at = self.next_at()
        self._told = math.inf if at is None else at
        return at

    def is_sooner_than_told(self) -> bool:
        return (self.next_at() or math.inf) < self._told

    # --- inside ----------------------------------------------------------------------------

    def _load(self) -> None:
        if self._is_loaded:
            return
        self._is_loaded = True
        for name in self._names():
            lane = self._lanes.get(name) or self._new(name)
            lane.horizon = NOTHING_READ
        for name, lane in list(self._lanes.items()):
            self._place(name, lane)

    def _new(self, name: str) -> Lane:
        lane = self._lanes[name] = Lane(next(self._numbers))
        return lane

    def _wake(self) -> None:
        now = time.monotonic()
        while self._resting and self._resting[0][0] <= now:
            _, stamp, name = heapq.heappop(self._resting)
            if self._counts(stamp, name):
                self._place(name, self._lanes[name])

    def _counts(self, stamp: int, name: str) -> bool:
        lane = self._lanes.get(name)
        return lane is not None and lane.stamp == stamp

    def _may_begin(self, name: str, lane: Lane) -> bool:
        is_free = lane.active < self.gate.places(name)
        return is_free and self.gate.ready_at(name) <= time.monotonic()

    def _place(self, name: str, lane: Lane) -> None:
        """Among those that are ready or those that rest; nowhere if nothing waits in it or all its
        places are taken: then it comes back here when that changes."""
        lane.stamp = next(self._numbers)
        if not lane.has_work and not lane.active:
            del self._lanes[name]
        if not lane.has_work or lane.active >= self.gate.places(name):
            return
        if (at := self.gate.ready_at(name)) > time.monotonic():
            heapq.heappush(self._resting, (at, lane.stamp, name))
        elif self._is_fair:
            heapq.heappush(self._ready, (lane.turn, 0, lane.stamp, name))
        elif lane.rows:
            heapq.heappush(self._ready, (*lane.rows[0][:2], lane.stamp, name))
        else:
            self._unread.add(name)
        self._tidy()

    def _read_heads(self) -> bool:
        """Of lanes whose first row decides; True. Only here and for whoever is served rows are
        read: amid a move they would be read and then come in once more."""
        while self._unread:
            name = self._unread.pop()
            if lane := self._lanes.get(name):
                self._fill(name, lane)
                self._place(name, lane)
        return True

    def _tidy(self) -> None:
        """What counts no more must not pile up behind moments that are far away."""
        most = 64 + 2 * len(self._lanes)
        if len(self._resting) > most:
            self._resting = [each for each in self._resting if self._counts(*each[1:])]
            heapq.heapify(self._resting)
        if len(self._ready) > most:
            self._ready = [each for each in self._ready if self._counts(*each[2:])]
            heapq.heapify(self._ready)

    def _fill(self, name: str, lane: Lane) -> bool:
        """Has it a row?"""
        if not lane.rows and lane.horizon is not None:
            taken = self._taken.get(name, ())
            wanted = len(taken) + (AT_ONCE if self._held < MOST else 1)
            rows = self._read(name, wanted)
            lane.rows = [row for row in rows if row[1] not in taken]
            lane.horizon = rows[-1][:2] if len(rows) == wanted else None
            self._held += len(lane.rows)
        return bool(lane.rows)

    def _hold(self, lane: Lane, row: Row) -> None:
        """In memory, or beyond the horizon if there are too many."""
        if lane.horizon is not None and row[:2] > lane.horizon:
            return
        if self._held < MOST and len(lane.rows) < MOST_OF_LANE:
            heapq.heappush(lane.rows, row)
            self._held += 1
            return
        lane.horizon = row[:2]
        kept = [each for each in lane.rows if each < row]
        self._held -= len(lane.rows) - len(kept)
        lane.rows = kept
        heapq.heapify(lane.rows)

    def _drop(self, lane: Lane) -> None:
        self._held -= len(lane.rows)
        lane.rows, lane.horizon = [], None

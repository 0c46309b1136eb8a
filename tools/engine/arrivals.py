"""How what was found enters the pools.

Promise: who is known stays where it is, with its first note; where a finder says so it sinks to the
smallest depth it was found at, and comes back to work if it was finished at a larger one. Limit:
within a transaction of `Pools`; nothing in memory changes here, since that may be rolled back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from .rows import Arrival, Register
from .stage import Found, Stage
from .window import Row

REMEMBERED = 50_000  # URIs; some 10 MB


@dataclass(slots=True)
class Entered:
    """By waiting pool: the rows that came in, where they can be among the next; those that wait or
    are at work and sank. By id, the stage that those who sank are to see again. By URI, how deep
    those that may sink are at most."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    sunk: dict[str, list[Row]] = field(default_factory=dict)
    again: dict[int, str] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)


class _Plain(NamedTuple):
    """URIs that can be let in together: nothing else is known of each."""

    pool: str
    rank: int | None
    depth: int


class _Rich(NamedTuple):
    """As above, where each has a priority and a note, or a lane."""

    pool: str
    again: str | None


@dataclass(slots=True)
class _Ways:
    """Each in the order in which it was found: who is found twice in one comes in as the first."""

    plain: dict[_Plain, list[str]] = field(default_factory=dict)
    rich: dict[_Rich, list[Arrival]] = field(default_factory=dict)


NOBODY: Mapping[str, int] = MappingProxyType({})


class Arrivals:
    """`reaches` says of a pool and a rank whether it could be among the next."""

    def __init__(
        self,
        stages: Mapping[str, Stage],
        register: Register,
        reaches: Callable[[str, int], bool],
    ) -> None:
        self._stages = stages
        self._register = register
        self._reaches = reaches
        self._depths: dict[str, int] = {}  # of URIs that are known: as deep as this, or less

    def let_in(self, found: Iterable[tuple[Found, int]]) -> Entered:
        """Groups of URIs, each with its depth."""
        ways = _Ways()
        for group, depth in found:
            stage = self._stages.get(group.stage)
            if stage is None or stage.deepest is None or depth <= stage.deepest:
                self._add(ways, group, depth, stage)
        entered = Entered()
        for plain, uris in ways.plain.items():
            self._insert(plain, uris, entered)
        for rich, arrivals in ways.rich.items():
            if rich.again is None:
                self._insert_rich(rich.pool, arrivals, entered)
            elif arrivals:
                self._sink(rich.pool, arrivals, self._stages[rich.again], entered)
                entered.depths.update((each[0], each[2]) for each in arrivals)
        return entered

    def remember(self, entered: Entered) -> None:
        """It is written: most links lead where everybody leads, and change nothing there."""
        if len(self._depths) + len(entered.depths) > REMEMBERED:
            self._depths.clear()
        self._depths.update(entered.depths)

    def _add(self, ways: _Ways, group: Found, depth: int, stage: Stage | None) -> None:
        priority, notes, again = group.priority, group.notes, group.again
        rank = stage.rank(depth, priority) if stage else None
        has_lanes = stage is not None and stage.lane is not None
        pool = stage.waiting if stage else group.stage
        if not (priority or notes or again or has_lanes):
            ways.plain.setdefault(_Plain(pool, rank, depth), []).extend(group.uris)
            return
        rich = ways.rich.setdefault(_Rich(pool, again), [])
        pairs = zip(group.uris, notes or [None] * len(group.uris), strict=True)
        known = self._depths if again else NOBODY
        rich.extend(
            (uri, rank, depth, priority, note)
            for uri, note in pairs
            if uri not in known or known[uri] > depth
        )

    def _insert(self, way: _Plain, uris: list[str], entered: Entered) -> None:
        is_read = self._reaches(way.pool, way.rank or 0)
        rows = self._register.insert(way.pool, uris, way.rank, way.depth, is_read)
        entered.rows.setdefault(way.pool, []).extend(rows)

    def _insert_rich(self, pool: str, uris: list[Arrival], entered: Entered) -> None:
        best = min((each[1] or 0 for each in uris), default=0)
        rows = self._register.insert_rich(pool, uris, self._reaches(pool, best))
        entered.rows.setdefault(pool, []).extend(rows)

    def _sink(self, pool: str, uris: list[Arrival], again: Stage, entered: Entered) -> None:
        new, sunk = self._register.sink(pool, uris)
        if pool in (stage.waiting for stage in self._stages.values()):
            entered.rows.setdefault(pool, []).extend(new)
        if finished := sunk.pop("finished", None):
            ids = [row[1] for row in finished]
            back = self._register.send_back(again, ids, "finished")
            entered.rows.setdefault(again.waiting, []).extend(back)
        for stage in self._stages.values():
            if rows := sunk.get(stage.waiting):
                ranked = self._register.rerank(stage, rows)
                entered.again |= dict.fromkeys((row[1] for row in ranked), again.name)
                entered.sunk.setdefault(stage.waiting, []).extend(ranked)

"""How long a harvest may still take: pure functions on its course.

Promise: a range holds the true time four times of five, as long as the work goes on as it did
lately; where none can be given, the reason is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from .rates import Course, Value, done, stages, waiting

# Enough parts to see how much they differ, few enough that each has tasks in it. An even number:
# the two halves are compared.
PARTS = 8
SHORTEST_S, LONGEST_S = 600.0, 86_400.0  # how far back one looks: a day has all its hours
YOUNG_S = 300.0  # less work than this says nothing of the future
STILL_S = 600.0
SCATTER = 2.1  # standard errors to both sides; burst follows burst, so it is more than for dice
CALM = 0.18  # nothing is steadier than this, however steady it was
WIDEST = 12.0  # a range from one hour to twelve says nothing


class Range(NamedTuple):
    """At least, likely and at most."""

    low: float
    likely: float
    high: float

    @property
    def width(self) -> float:
        return self.high / self.low if self.low else math.inf


class Left(NamedTuple):
    """How long the rest may take, in seconds; or `why` that is not known, and only the least."""

    time: Range | None
    why: str = ""
    least: float = 0.0


NOTHING = Range(0.0, 0.0, 0.0)


def left(seen: Course, pools: Mapping[str, int], limit: int | None = None) -> Left:
    """How long the work that waits, and what it still brings, will take.

    To say something of the next hours one looks as many hours back, a day at most.
    """
    names = stages(pools)
    rest = {name: pools[f"to_{name}"] + pools.get(f"on_{name}", 0) for name in names}
    if not any(rest.values()):
        return Left(NOTHING)
    if seen.seconds < YOUNG_S or len(seen.samples) < 4:
        return Left(None, f"not known before it has worked for {YOUNG_S / 60:.0f} min")
    if still := _standing_still(seen, names):
        return Left(None, f"not known: nothing was done in the last {still / 60:.0f} min")
    back = min(seen.seconds, 3600.0)
    # How far back one looks depends on the answer, so it is asked for again with each answer.
    for _ in range(3):
        found = _extrapolated(seen, rest, back, limit)
        if found.time is None:
            return found
        back = min(seen.seconds, max(SHORTEST_S, min(LONGEST_S, found.time.likely)))
    return found


# --- inside ----------------------------------------------------------------------------------


class Frontier(NamedTuple):
    """How much a finished task finds, and by which share less with each task that is done."""

    found: float
    fading: float

    def tasks(self, rest: float) -> float:
        """How many there will be until nothing waits; endless if each brings another one."""
        if self.fading <= 0:
            return rest / (1 - self.found) if self.found < 1 else math.inf
        # What is found depends on how many tasks there are, and they on what is found: the sum
        # grows towards its limit from below, and a thousandth of it is near enough.
        tasks, before = rest, -1.0
        while tasks - before > 0.001 * tasks:
            before = tasks
            tasks = rest + self.found / self.fading * -math.expm1(-self.fading * tasks)
        return tasks


def _standing_still(seen: Course, names: Sequence[str]) -> float:
    """For how long no stage has brought anything to an end; 0 if that is short."""
    ended = [sum(done(name)(sample) for name in names) for sample in seen.samples]
    first = next(at for at, number in enumerate(ended) if number >= ended[-1])
    still = seen.worked[-1] - seen.worked[first]
    return still if still >= STILL_S or still >= seen.seconds else 0.0


def _extrapolated(seen: Course, rest: Mapping[str, int], back: float, limit: int | None) -> Left:
    """Each stage needs its time, and at least as much as the one that feeds it."""
    time, tasks, feeder = NOTHING, NOTHING, ""
    for name, number in rest.items():
        window = Window(seen, name, back)
        if not feeder:
            tasks = window.own_tasks(number, limit)
        else:
            tasks = window.fed_tasks(number, Window(seen, feeder, back), tasks)
        feeder = name
        if not tasks.high:
            continue
        if not sum(window.ended):
            return Left(None, f"not known: nothing of to_{name} was done lately", time.low)
        time, pace = window.time(tasks, time), window.pace(time.likely or back)
        if math.isinf(tasks.likely):
            return Left(None, "not known yet: more is found than done", time.low)
        if time.width > WIDEST:
            why = (
                "almost as much is found as done"
                if tasks.width > pace.width
                else "it goes by fits and starts"
            )
            return Left(None, f"not known yet: {why}", time.low)
    return Left(time)


class Window:
    """What a stage ended and got in the last `back` seconds, in equal parts."""

    def __init__(self, seen: Course, name: str, back: float) -> None:
        self._seconds = back / PARTS
        end = seen.worked[-1]
        self._edges = [end - back + self._seconds * at for at in range(PARTS + 1)]
        self._total = done(name)(seen.samples[-1])
        self.ended = self._steps(seen, done(name))
        more = self._steps(seen, waiting(name))
        self.came = [max(0.0, one + other) for one, other in zip(self.ended, more, strict=True)]

    def _steps(self, seen: Course, value: Value) -> list[float]:
        values = [seen.at(edge, value) for edge in self._edges]
        return [after - before for before, after in pairwise(values)]

    def pace(self, ahead: float) -> Range:
        """What the stage does in a second. The future scatters too, the less the longer it is."""
        steps = [step / self._seconds for step in self.ended]
        parts_ahead = max(1.0, ahead / self._seconds)
        off = SCATTER * _deviation(steps) * math.sqrt(1 / PARTS + 1 / parts_ahead)
        return _around(sum(steps) / PARTS, off, CALM)

    def time(self, tasks: Range, before: Range) -> Range:
        pace = self.pace(before.likely or self._seconds * PARTS)
        return Range(
            max(before.low, tasks.low / pace.high),
            max(before.likely, tasks.likely / pace.likely),
            max(before.high, tasks.high / pace.low if pace.low else math.inf),
        )

    def own_tasks(self, rest: int, limit: int | None) -> Range:
        """Of a stage that finds its own work; a limit ends it before."""
        most = math.inf if limit is None else max(0.0, limit - self._total)
        # One task that brings another never ends by itself: then what waits is the least there is.
        quick, likely, slow = self._frontiers()
        least = quick.tasks(rest)
        expected = math.inf if likely.found >= 1 else likely.tasks(rest)
        tasks = (rest if math.isinf(least) else least, expected, slow.tasks(rest))
        return Range(*(min(most, each) for each in tasks))

    def fed_tasks(self, rest: int, feeder: Window, fed: Range) -> Range:
        """What waits, and what the stage before will send."""
        each = _share(self.came, feeder.ended)
        return Range(
            *(rest + number * n if n else rest for number, n in zip(fed, each, strict=True))
        )

    def _frontiers(self) -> tuple[Frontier, Frontier, Frontier]:
        """Fading quickly, as seen, and hardly: by the two halves of the window."""
        half = PARTS // 2
        early, late = (
            _share(self.came[part], self.ended[part]) for part in (slice(half), slice(half, PARTS))
        )
        apart = max(1.0, sum(self.ended) / 2)
        quick, seen, hardly = (
            _fading(*pair) / apart
            for pair in (
                (early.high, late.low),
                (early.likely, late.likely),
                (early.low, late.high),
            )
        )
        # The late share is that of the middle of its half; it has faded on from there to now.
        now = late.likely * math.exp(-seen * apart / 2)
        return (
            Frontier(min(now, late.low), quick),
            Frontier(now, seen),
            Frontier(max(now, late.high * math.exp(-hardly * apart / 2)), hardly),
        )


def _fading(early: float, late: float) -> float:
    # A half in which nothing came says little: it counts as a thousandth, not as nothing for ever.
    return math.log(early / max(late, early / 1000)) if early > late else 0.0


def _share(came: Sequence[float], ended: Sequence[float]) -> Range:
    """How many come for each that is ended."""
    total = sum(ended)
    if total <= 0:
        return NOTHING
    mean = sum(came) / total
    deviations = [one - mean * other for one, other in zip(came, ended, strict=True)]
    return _around(mean, SCATTER * _deviation(deviations) * math.sqrt(len(deviations)) / total)


def _around(mean: float, off: float, least: float = 0.0) -> Range:
    off = max(off, mean * least)
    return Range(max(0.0, mean - off), mean, mean + off)


def _deviation(values: Sequence[float]) -> float:
    """The standard deviation of a sample. `statistics` has it too, but takes 4 ms to import, which
    every look at a harvest would pay."""
    mean = sum(values) / len(values)
    return math.dist(values, [mean] * len(values)) / math.sqrt(len(values) - 1)

"""How fast a harvest goes: its samples on one axis, pure functions on them.

Time is time worked: what lies between two runs does not count, and clocks that jump change nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from ..journal.sample import Sample

LATE_S = 300.0  # a sample older than this in a harvest that runs: somebody's clock is wrong


Value = Callable[[Sample], float]


class Course:
    """Samples of several runs on one axis: seconds worked.

    The last one may be `live`: made of what the pools say now. It knows nothing of requests.
    """

    def __init__(self, samples: Sequence[Sample], live: Sample | None = None) -> None:
        self.known = len(samples)  # as many know their requests
        self.samples = [*samples, live] if live else list(samples)
        self.worked = list(_joined(self.samples))
        self.restarts = [
            at for at, (one, other) in enumerate(pairwise(self.samples), 1) if one.run != other.run
        ]

    @property
    def seconds(self) -> float:
        """How much of the work it shows."""
        return self.worked[-1] - self.worked[0] if self.worked else 0.0

    @property
    def since_known(self) -> float:
        """How long ago the last sample was taken, if there is a live one."""
        is_live = 0 < self.known < len(self.samples)
        return self.worked[-1] - self.worked[self.known - 1] if is_live else 0.0

    def run_seconds(self) -> float:
        """How long the last run has worked."""
        first = self.restarts[-1] if self.restarts else 0
        return self.worked[-1] - self.worked[first] if self.worked else 0.0

    def at(self, moment: float, value: Value) -> float:
        """A value between two samples lies on the line between them."""
        right = min(max(bisect_left(self.worked, moment), 1), len(self.worked) - 1)
        begin, end = self.worked[right - 1], self.worked[right]
        before, after = value(self.samples[right - 1]), value(self.samples[right])
        share = (moment - begin) / (end - begin) if end > begin else 1.0
        return before + (after - before) * min(max(share, 0.0), 1.0)

    def rate(self, value: Value, seconds: float | None, is_known: bool = False) -> float | None:
        """A second, over the last `seconds` worked or the whole run; None if there are too few.

        `is_known`: of what a live sample does not know.
        """
        if is_known and self.known < len(self.samples):
            return Course(self.samples[: self.known]).rate(value, seconds)
        span = self.run_seconds() if seconds is None else seconds
        if len(self.samples) < 2 or not 0 < span <= self.seconds:
            return None
        end = self.worked[-1]
        return max(0.0, self.at(end, value) - self.at(end - span, value)) / span


def course(
    samples: Sequence[Sample], counts: Mapping[str, int], since: float | None, now: float
) -> Course:
    """The samples, and what the pools say now if a harvest runs (`since` when) and clocks agree."""
    if since is None or not samples:
        return Course(samples)
    last = samples[-1]
    is_of_this_run = last.time >= since - 1
    if not is_of_this_run or not 0 < now - last.time <= LATE_S:
        return Course(samples)
    live = last._replace(elapsed=last.elapsed + now - last.time, time=now, counts=counts)
    return Course(samples, live)


def done(stage: str) -> Value:
    return lambda sample: sample.counts.get(f"done_{stage}", 0)


def waiting(stage: str) -> Value:
    """With what is being worked on."""
    names = (f"to_{stage}", f"on_{stage}")
    return lambda sample: sum(sample.counts.get(name, 0) for name in names)


def is_of(key: str, name: str) -> bool:
    """A key that ends with a space is the beginning of several names.

    >>> is_of("media ", "media image commons"), is_of("words", "words"), is_of("words", "words 2")
    (True, True, False)
    """
    return name.startswith(key) if key.endswith(" ") else name == key


def count_of(key: str) -> Value:
    return lambda sample: sum(n for name, n in sample.counts.items() if is_of(key, name))


def requests(sample: Sample) -> int:
    return sample.requests


def size(sample: Sample) -> int:
    return sample.bytes


def stages(counts: Mapping[str, int]) -> list[str]:
    """In the order of life."""
    return [name.removeprefix("to_") for name in counts if name.startswith("to_")]


def _joined(samples: Sequence[Sample]) -> Iterator[float]:
    offset = 0.0
    for at, sample in enumerate(samples):
        if at and samples[at - 1].run != sample.run:
            offset += samples[at - 1].elapsed
        yield offset + sample.elapsed

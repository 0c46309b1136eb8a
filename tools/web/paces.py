"""How often each host was asked of late.

Promise: what a state says is counted for when it was written down. Limit: only while somebody
looks, and of the hosts that were asked most.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from itertools import islice
from threading import Lock
from typing import NamedTuple

from ..journal.sample import Sample

SPAN_S, SHORTEST_S = 60.0, 2.0
MOST = 100  # hosts


class Look(NamedTuple):
    at: Sample
    requests: Mapping[str, int]


class Paces:
    def __init__(self) -> None:
        self._looks: deque[Look] = deque()
        self._lock = Lock()

    def a_second(self, now: Sample, hosts: Mapping[str, tuple[int, int]]) -> Mapping[str, float]:
        """`hosts` with the most requests come first. Of whom too little is known, nothing."""
        requests = {host: number for host, (number, _) in islice(hosts.items(), MOST)}
        with self._lock:
            if self._looks and not _is_later(now, self._looks[-1].at):
                self._looks.clear()
            if not self._looks or now.elapsed > self._looks[-1].at.elapsed:
                self._looks.append(Look(now, requests))
            while now.elapsed - self._looks[0].at.elapsed > SPAN_S:
                self._looks.popleft()
            first = self._looks[0]
        seconds = now.elapsed - first.at.elapsed
        if seconds < SHORTEST_S:
            return {}
        # Who was not known then had not been asked, unless only the first were kept.
        unknown = dict.fromkeys(requests, 0) if len(first.requests) < MOST else {}
        before = {**unknown, **first.requests}
        return {
            host: (number - before[host]) / seconds
            for host, number in requests.items()
            if host in before
        }


def _is_later(now: Sample, before: Sample) -> bool:
    return now.run == before.run and now.elapsed >= before.elapsed

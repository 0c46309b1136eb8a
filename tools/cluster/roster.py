"""Which nodes there are, what each may do, and which have fallen silent.

Promise: places are those of nodes that were heard lately and take tasks now. One name is one
process at a time: a second one with the same key is told so.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock

from ..engine.custody import Custody
from ..journal.nodes import Node
from .messages import Agreed, Introduction, Pulse, Table
from .pace import LastMinute

SILENT_S = 7.0  # a pulse comes every two seconds
MOST_PLACES = 10_000  # of one node


@dataclass(slots=True)
class Seen:
    """One node, as its last words describe it."""

    name: str
    join: Introduction
    since: float  # wall clock
    heard: float  # monotonic
    heard_at: float  # wall clock
    agreed: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)  # that take tasks now
    tokens: frozenset[int] = frozenset()
    sight: Table = field(default_factory=dict)
    done: LastMinute = field(default_factory=LastMinute)
    faults: int = 0  # results that cannot be right

    @property
    def is_silent(self) -> bool:
        return time.monotonic() - self.heard > SILENT_S

    def number(self, name: str) -> int:
        value = self.sight.get(name)
        return value if isinstance(value, int) and 0 <= value < 2**62 else 0


class Roster:
    """Any thread may use it. `custody` is that of the pools, once they are open."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._nodes: dict[str, Seen] = {}
        self._sent_away: dict[str, str] = {}  # and why
        self.custody: Custody | None = None

    def __getitem__(self, name: str) -> Seen | None:
        return self._nodes.get(name)

    def enter(self, name: str, join: Introduction) -> str | None:
        """It works for us now; or why it does not."""
        with self._lock:
            known = self._nodes.get(name)
            is_other = known is not None and known.join.home != join.home
            if known is not None and is_other and not known.is_silent:
                return (
                    f"another process uses the key of {name} now: give each node a key of its own "
                    "(python main.py cluster add NAME)"
                )
            now = time.time()
            if known is None or known.join.session != join.session:
                self._nodes[name] = Seen(name, join, now, time.monotonic(), now)
            else:
                known.join, known.heard, known.heard_at = join, time.monotonic(), now
        return None

    def send_away(self, name: str, why: str) -> None:
        """As long as this coordinator lives."""
        with self._lock:
            self._sent_away[name] = why
            seen = self._nodes[name]
            seen.agreed, seen.places, seen.tokens = {}, {}, frozenset()

    def is_sent_away(self, name: str) -> bool:
        return name in self._sent_away

    def why_sent_away(self, name: str) -> str | None:
        return self._sent_away.get(name)

    def agree(self, name: str, agreed: Agreed) -> None:
        with self._lock:
            seen = self._nodes[name]
            seen.agreed = seen.places = _numbers(agreed.places)
            seen.refused = {str(stage): str(why) for stage, why in agreed.refused.items()}
        self.write_down(name)

    def pulse(self, name: str, pulse: Pulse) -> bool | None:
        """None if nobody knows this session; True if it can do more or less than before."""
        with self._lock:
            seen = self._nodes.get(name)
            if seen is None or seen.join.session != pulse.session or not seen.agreed:
                return None
            before, was_silent = seen.places, seen.is_silent
            now = {
                stage: min(n, seen.agreed[stage])
                for stage, n in _numbers(pulse.places).items()
                if stage in seen.agreed
            }
            seen.places, seen.sight = now, pulse.sight
            seen.tokens = frozenset(each for each in pulse.tokens if isinstance(each, int))
            seen.heard, seen.heard_at = time.monotonic(), time.time()
            return was_silent or now != before

    def leave(self, name: str, session: str) -> None:
        with self._lock:
            seen = self._nodes.get(name)
            if seen is not None and seen.join.session == session:
                seen.places, seen.tokens, seen.heard = {}, frozenset(), 0.0

    def places(self, stage: str) -> int:
        return sum(each.places.get(stage, 0) for each in self.awake())

    def awake(self) -> list[Seen]:
        return [each for each in list(self._nodes.values()) if each.agreed and not each.is_silent]

    def unfinished(self) -> list[Seen]:
        """Who has still something to ship."""
        return [each for each in self.awake() if each.sight.get("is_finished") is not True]

    def is_awake(self, name: str) -> bool:
        seen = self._nodes.get(name)
        return seen is not None and bool(seen.agreed) and not seen.is_silent

    def silent(self) -> list[str]:
        """Those that have worked for us, and say nothing now."""
        return [name for name, each in list(self._nodes.items()) if each.agreed and each.is_silent]

    def holders(self) -> dict[int, str]:
        """Who has which task in hand, as they say."""
        return {token: each.name for each in self.awake() for token in each.tokens}

    def write_down(self, name: str) -> None:
        seen = self._nodes[name]
        if self.custody is not None:
            self.custody.seen(name, seen.join.version, json.dumps(seen.agreed))

    def shown(self, at_work: Mapping[str, int], owners: Mapping[str, int]) -> list[Node]:
        """`at_work` are tasks, `owners` those whose files it has, by node."""
        return [self._shown(each, at_work, owners) for each in list(self._nodes.values())]

    def _shown(self, seen: Seen, at_work: Mapping[str, int], owners: Mapping[str, int]) -> Node:
        free, held = seen.sight.get("free_bytes"), seen.sight.get("held")
        return Node(
            seen.name,
            None if seen.is_silent or not seen.agreed else seen.since,
            seen.heard_at,
            seen.join.version[:40],
            sum(seen.agreed.values()),
            at_work.get(seen.name, 0),
            seen.done.count(),
            seen.number("failed_names"),
            seen.number("failed_connections"),
            seen.number("requests"),
            seen.number("bytes"),
            seen.number("waiting_bytes"),
            free if isinstance(free, int) else None,
            owners.get(seen.name, 0),
            held[:500] if isinstance(held, str) else "",
            self._why_refused(seen)[:500],
        )

    def _why_refused(self, seen: Seen) -> str:
        refused = (f"{stage}: {why}" for stage, why in seen.refused.items())
        return self._sent_away.get(seen.name) or "; ".join(refused)


def _numbers(table: Table) -> dict[str, int]:
    return {
        stage: number
        for stage, number in table.items()
        if type(number) is int and 0 <= number <= MOST_PLACES
    }

"""Worker of the first stage: one stretch of a source -> the documents that are new in it.

Promise: killed anywhere, nothing is lost and nothing doubled. How far a source is read stands in
the pools, written by the same transaction as what was found; a row of documents.db that names a
later stretch than the pools do was written by one that never ended, and is not believed.
Limit: one worker, for whom a source is where it left it.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Protocol

from ..base.text import plain
from ..engine.stage import Done, Found, Task
from ..errors import ComeBack, GiveUp, HarvestError, RetryLater
from .raw import Raw
from .registry import Rule
from .sighted import Known, Sight, Sightings, judge, sighted
from .sources.reading import Reading
from .sources.source import Item, Source

logger = logging.getLogger(__name__)

STRETCH = 1000  # documents
STRETCH_BYTES = 64_000_000
MOST_WAITING = 10_000  # of a class
FULL_S = 1.0  # before a class that is full is looked at again
PRIORITY = 5
HIGHER, HIGH, NORMAL, LOW = range(4)
CLASSES = {-1: HIGHER, 0: HIGH, 1: HIGH, 2: NORMAL, 3: NORMAL}
MOST_TOLD = 10_000


class Rules(Protocol):
    def rule_for(self, source: str, type: str | None) -> Rule | None: ...


def class_of(priority: int) -> int:
    """
    >>> [class_of(each) for each in (-1, 0, 3, 5, -7)]
    [0, 1, 2, 3, 3]
    """
    return CLASSES.get(priority, LOW)


def position_of(uri: str) -> str:
    """The fact that says how far a source is read."""
    return f"position {uri}"


def stretches_of(uri: str) -> str:
    """What counts the stretches of a source."""
    return f"stretches {uri}"


class Dispatch:
    """`waiting` says how many of each class wait to be parsed."""

    def __init__(
        self,
        name: str,
        sources: Mapping[str, Source],
        documents: Sightings,
        rules: Rules,
        *,
        waiting: Callable[[], Mapping[int, int]],
        tallied: Callable[[str], int],
        remembered: Callable[[], Mapping[str, str]],
        most_waiting: int = MOST_WAITING,
        stretch: int = STRETCH,
        priority: int = PRIORITY,
    ) -> None:
        self._name = name
        self._sources = sources
        self._documents = documents
        self._rules = rules
        self._waiting = waiting
        self._tallied = tallied
        self._remembered = remembered
        self._most_waiting = most_waiting
        self._stretch = stretch
        self._priority = priority
        self._readings: dict[str, Reading] = {}
        self._full: set[str] = set()
        self._told: set[str] = set()

    def __call__(self, task: Task) -> Done:
        source = self._sources.get(task.uri)
        if source is None:
            raise GiveUp("the job has this source no more")
        try:
            return self._read_on(task, source, self._reading(source))
        except ComeBack:
            raise
        except HarvestError:
            del self._readings[source.uri]  # it begins anew where the pools say
            raise

    def _reading(self, source: Source) -> Reading:
        """Where the pools say; elsewhere we are if the last stretch could not be stored."""
        committed = self._remembered().get(position_of(source.uri), "")
        reading = self._readings.get(source.uri)
        if reading is None or reading.position != committed:
            reading = self._readings[source.uri] = Reading(source, committed)
        return reading

    def _read_on(self, task: Task, source: Source, reading: Reading) -> Done:
        items = reading.ahead(self._stretch, STRETCH_BYTES)
        tally: Counter[str] = Counter()
        seen = _Stretch(self, source, tally)
        taken = seen.look(items)
        if items and not taken:
            raise self._come_back(source)
        reading.take(taken)
        if taken == len(items):
            self._full.discard(source.uri)
        is_ended = reading.is_ended
        position = "" if is_ended and source.is_whole else reading.position
        if is_ended:
            del self._readings[source.uri]
        return seen.done("finished" if is_ended else task.stage.waiting, position)

    def _come_back(self, source: Source) -> ComeBack:
        if source.uri not in self._full:
            self._full.add(source.uri)
            logger.info(
                "%s waits: %s documents of its class are still to be parsed",
                *(plain(source.uri), f"{self._most_waiting:,}"),
            )
        return ComeBack("enough documents wait to be parsed", FULL_S)

    def _tell(self, name: str, why: object) -> None:
        """Once, however often it is seen."""
        sentence = f"{plain(name)} is left out: {why}"
        if sentence not in self._told and len(self._told) < MOST_TOLD:
            self._told.add(sentence)
            logger.warning("%s", sentence)


class _Stretch:
    """What is found in one."""

    def __init__(self, of: Dispatch, source: Source, tally: Counter[str]) -> None:
        self._of = of
        self._source = source
        self._tally = tally
        self._counted = of._tallied(stretches_of(source.uri))
        waiting = of._waiting()
        self._room = {each: of._most_waiting - waiting.get(each, 0) for each in range(4)}
        self._bytes = 0
        self._sights: list[Sight] = []

    def look(self, items: Sequence[Item]) -> int:
        """How many were dealt with before a class was full, or this was enough."""
        names = [item.source for item in items]
        known = self._of._documents.known(names, self._counted) if names else {}
        for number, item in enumerate(items):
            if self._bytes >= STRETCH_BYTES or not self._take(item, known.get(item.source)):
                return number
        return len(items)

    def _take(self, item: Item, was: Known | None) -> bool:
        """False if there is no room for it."""
        rule = self._of._rules.rule_for(item.source, item.type)
        if rule is None:
            ending = PurePosixPath(item.source).suffix
            kind = f"*{ending}" if ending else item.type or "what has no ending in its name"
            self._of._tell(kind, "no parser is declared for it")
            self._count("without parser")
            return True
        if was and item.version and was.version == item.version:
            return True
        try:
            raw = self._source.read(item.place) if item.raw is None else item.raw
        except (GiveUp, RetryLater) as error:
            self._of._tell(item.source, error)
            self._count("unreadable")
            return True
        return self._sight(item, rule, raw, was)

    def _count(self, what: str) -> None:
        """Not of a source that is seen whole in every round: it would be counted again."""
        if not self._source.is_whole:
            self._tally[what] += 1

    def _sight(self, item: Item, rule: Rule, raw: bytes, was: Known | None) -> bool:
        hash = hashlib.sha256(raw).hexdigest()
        said = next((p for p in (item.priority, rule.priority) if p is not None), None)
        rank = class_of(self._of._priority if said is None else said)
        about = Raw(item.source, self._source.uri, item.place, item.type, len(raw), rule.parser)
        sight = Sight(hash, about, item.version, rank, was)
        if sight.is_changed:
            if self._room[rank] <= 0:
                return False
            self._room[rank] -= 1
        self._bytes += len(raw)
        self._sights.append(sight)
        return True

    def done(self, to: str, position: str) -> Done:
        again, copies = judge(self._sights, self._of._documents)
        found = self._found()
        self._tally["found"] = sum(each.is_changed for each in self._sights) - copies
        self._tally["copies"] = copies
        self._tally["empty"] = sum(each.is_changed and not each.raw.length for each in self._sights)
        self._tally[stretches_of(self._source.uri)] = 1
        records = sighted(self._sights, again, self._counted + 1)
        facts = {position_of(self._source.uri): position}
        return Done(to, found, records if records.rows else None, +self._tally, facts=facts)

    def _found(self) -> list[Found]:
        """By class. What is known the pools do not let in."""
        groups: dict[int, dict[str, str]] = {}
        for each in self._sights:
            if each.is_changed:
                uri = f"{self._of._name} {each.hash}"
                groups.setdefault(each.priority, {}).setdefault(uri, each.raw.as_note())
        return [
            Found("parse", list(notes), priority=rank, depth=0, notes=list(notes.values()))
            for rank, notes in sorted(groups.items())
        ]

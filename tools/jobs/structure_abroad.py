"""What of the job `structure` is done on nodes, as its coordinator sees it: documents are parsed.

Promise: bytes travel with their task, up to 8 MB; larger ones, and those that are gone from where
they were, are seen to here. Scripts never travel: the hash of the one that is meant goes along, and
what comes back was made by that one. What a node brings is a stranger's word: JSON that can be read
and what is said of it, or a ValueError, and nothing of it is kept.
"""

from __future__ import annotations

import hashlib
import math
import time
from base64 import b64encode
from collections.abc import Mapping
from threading import Lock
from typing import Any, NamedTuple

import orjson

from ..cluster.abroad import Abroad, StaysHere
from ..cluster.travel import TravelCargo, field
from ..engine.stage import Done, Task
from ..errors import GiveUp, HarvestError
from ..structure.parse import ParsedDocument, Readable, UnparsedDocument
from ..structure.queues import hash_of, queue_of
from ..structure.raw import Raw, raw_of
from ..structure.registry import Limits, Parsers, Script

STAGE = "parse"
MOST_BYTES = 8_000_000
MOST_UNDER_WAY = 256_000_000  # bytes: the server holds them in its memory
LONGEST_REASON = 2000
DAY_S = 86_400.0


class Sent(NamedTuple):
    """What of a document was given to a node."""

    parser: str
    hash: str
    length: int
    max_json: int


def abroad_of(
    harvest: str,
    name: str,
    then: str,
    sources: Mapping[str, Readable],
    parsers: Parsers,
) -> Abroad:
    return Abroad(
        harvest,
        "structure",
        {"structure": name, "then": then},
        {STAGE: DocumentCargo(then, sources, parsers)},
        codes={STAGE: codes_of(parsers)},
    )


def codes_of(parsers: Parsers) -> dict[str, str]:
    """The hashes of all scripts, each with its options, by their names."""
    found: dict[str, list[str]] = {}
    for rule in parsers.rules:
        found.setdefault(rule.parser, []).append(parsers.script_of(rule).hash)
    return {name: _together(hashes) for name, hashes in found.items()}


def _together(hashes: list[str]) -> str:
    """One for all, where a script has several rules."""
    if len(set(hashes)) == 1:
        return hashes[0]
    return hashlib.sha256(" ".join(sorted(set(hashes))).encode()).hexdigest()


class DocumentCargo(TravelCargo):
    """The bytes of a document go along; JSON, or why there is none, comes back."""

    def __init__(self, then: str, sources: Mapping[str, Readable], parsers: Parsers) -> None:
        super().__init__()
        self._then, self._sources, self._parsers = then, sources, parsers
        self._turn = Lock()
        self._sent: dict[str, Sent] = {}
        self._under_way = 0

    # --- what goes -------------------------------------------------------------------------

    def more(self, task: Task) -> Mapping[str, Any]:
        raw = raw_of(task.note) if task.note is not None else None
        if raw is None or not 0 < raw.length <= MOST_BYTES:
            raise StaysHere
        script, content = self._script(raw), self._content(task, raw)
        limits = script.limits or Limits()
        with self._turn:
            self._forget(task.uri)
            if self._under_way + len(content) > MOST_UNDER_WAY:
                raise StaysHere
            self._sent[task.uri] = Sent(script.name, script.hash, len(content), limits.max_json)
            self._under_way += len(content)
        coded = b64encode(content).decode("ascii")
        return {"raw": coded, "parser": script.name, "hash": script.hash, "limits": [*limits]}

    def _script(self, raw: Raw) -> Script:
        rule = self._parsers.rule_for(raw.source, raw.type)
        if rule is None:
            raise StaysHere
        return self._parsers.script_of(rule)

    def _content(self, task: Task, raw: Raw) -> bytes:
        """If it is gone, or another one by now, whoever works here knows what to do."""
        source = self._sources.get(raw.of)
        try:
            content = b"" if source is None else source.read(raw.place)
        except GiveUp:
            raise StaysHere from None
        if len(content) > MOST_BYTES or hashlib.sha256(content).hexdigest() != hash_of(task.uri):
            raise StaysHere
        return content

    def _forget(self, uri: str) -> None:
        if (sent := self._sent.pop(uri, None)) is not None:
            self._under_way -= sent.length

    # --- what comes ------------------------------------------------------------------------

    def incoming(self, task: Task, result: Done | HarvestError, cargo: Any) -> object:
        try:
            return super().incoming(task, result, cargo)
        finally:
            with self._turn:
                self._forget(task.uri)

    def records(self, task: Task, done: Done, said: Any) -> ParsedDocument | UnparsedDocument:
        raw, sent = raw_of(task.note or "[]"), self._sent.get(task.uri)
        if sent is None:  # it was sent in another life
            script = self._script(raw)
            limits = script.limits or Limits()
            sent = Sent(script.name, script.hash, raw.length, limits.max_json)
        age_s = _number(said, "age_s", DAY_S)
        if (field(said, "parser", str), field(said, "hash", str)) != sent[:2]:
            raise ValueError("it was made by another parser")
        tried = (hash_of(task.uri), raw.source, sent.parser, sent.hash, time.time() - age_s)
        if done.found or done.facts:
            raise ValueError("what was found leads elsewhere")
        if done.to == "failed":
            self._check_failed(task, done, sent)
            return UnparsedDocument(*tried)
        found = ParsedDocument(*tried, *self._measured(said, sent))
        self._check_parsed(task, done, found)
        return found

    def _measured(self, said: Any, sent: Sent) -> tuple[float, int, bytes, int]:
        seconds, memory = _number(said, "seconds", DAY_S), field(said, "memory", int)
        text = field(said, "json", str)
        try:
            content = text.encode()
            value = orjson.loads(content)
        except ValueError:  # half characters, too
            raise ValueError("its answer is not JSON") from None
        if value is None or len(content) > sent.max_json or not 0 <= memory < 2**53:
            raise ValueError("its answer cannot be right")
        return float(seconds), sent.length, content, memory

    def _check_parsed(self, task: Task, done: Done, found: ParsedDocument) -> None:
        counts = {f"parsed {found.parser}": 1, queue_of(task): 1}
        counts[f"parse ms {found.parser}"] = round(found.seconds * 1000)
        if done.to != self._then or done.reason is not None or done.tally != counts:
            raise ValueError("it says of itself what cannot be right")

    def _check_failed(self, task: Task, done: Done, sent: Sent) -> None:
        counts = {f"failed {sent.parser}": 1, queue_of(task): 1}
        if not done.reason or len(done.reason) > LONGEST_REASON or done.tally != counts:
            raise ValueError("it says of itself what cannot be right")


def _number(said: Any, name: str, most: float) -> float:
    value: float = field(said, name, (int, float))
    if not math.isfinite(value) or not 0 <= value <= most:
        raise ValueError(f"its {name} cannot be right")
    return value

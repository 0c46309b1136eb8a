"""Worker: one raw document -> its JSON, by the parser that the job's rules name.

Promise: what is parsed are the bytes its URI is named after: a source that has changed meanwhile
brings the new ones under a name of their own. Which parser failed is written down as which one
succeeded is. Nothing here depends on other threads or processes.
"""

from __future__ import annotations

import builtins
import hashlib
import logging
import time
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from ..base.text import clipped, one_line, plain, storable
from ..engine.stage import Done, Task
from ..errors import GiveUp
from .hosts import Hosts
from .raw import Raw, raw_of
from .registry import Parsers, Script

NO_RULE = "no parser of the job matches its name or type"
LONGEST_SAID = 500  # of what a script prints for one document

log = logging.getLogger(__name__)


class Readable(Protocol):
    """What gives the bytes of a place again."""

    def read(self, place: str) -> bytes: ...


class ParsedDocument(NamedTuple):
    hash: str
    source: str
    parser: str
    parser_hash: str
    at: float
    seconds: float
    bytes: int
    json: builtins.bytes
    memory: int = 0  # the most its parser held


class UnparsedDocument(NamedTuple):
    """A parser has tried and failed; another edition of it may try again. Without a name: there was
    none for it."""

    hash: str
    source: str
    parser: str
    parser_hash: str
    at: float


class Parse:
    """`then` is where a parsed document goes: on to the export, or `finished`."""

    def __init__(
        self,
        name: str,
        sources: Mapping[str, Readable],
        parsers: Parsers,
        hosts: Hosts,
        then: str = "to_export",
    ) -> None:
        self.name = name
        self._sources = sources
        self._parsers = parsers
        self._hosts = hosts
        self._then = then

    def __call__(self, task: Task) -> Done:
        if task.note is None:
            raise GiveUp("nobody knows where this document is")
        raw, hash = raw_of(task.note), task.uri.rpartition(" ")[2]
        if not raw.length:
            raise GiveUp("empty")
        rule = self._parsers.rule_for(raw.source, raw.type)
        if rule is None:
            return self._failed("", "", raw, hash, GiveUp(NO_RULE))
        content = self._content(raw)
        if hashlib.sha256(content).hexdigest() != hash:
            return Done("finished", tally={"superseded": 1})
        return self.parsed(self._parsers.script_of(rule), raw, hash, content)

    def _content(self, raw: Raw) -> bytes:
        source = self._sources.get(raw.of)
        if source is None:
            raise GiveUp(f"its source {raw.of} is no longer one of the job's")
        return source.read(raw.place)

    def parsed(self, script: Script, raw: Raw, hash: str, content: bytes) -> Done:
        """These bytes, which have this hash, by this script."""
        about = {"source": storable(raw.source), "type": raw.type, "hash": hash, "job": self.name}
        try:
            parsed = self._hosts.parse(script, content, about)
        except GiveUp as failure:
            return self._failed(script.name, script.hash, raw, hash, failure)
        if parsed.said:
            said = clipped(one_line(parsed.said), LONGEST_SAID)
            log.info("%s: parser %s says: %s", plain(raw.source), script.name, said)
        tried = (hash, raw.source, script.name, script.hash, time.time())
        found = ParsedDocument(*tried, parsed.seconds, len(content), parsed.json, parsed.memory)
        spent = {f"parse ms {script.name}": round(parsed.seconds * 1000)}
        return Done(self._then, records=found, tally={f"parsed {script.name}": 1, **spent})

    def _failed(self, parser: str, edition: str, raw: Raw, hash: str, failure: GiveUp) -> Done:
        tried = UnparsedDocument(hash, raw.source, parser, edition, time.time())
        tally = {f"failed {parser}": 1} if parser else {}
        return Done("failed", records=tried, reason=str(failure), tally=tally)

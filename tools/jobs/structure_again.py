"""Which known documents are parsed or exported again, by the policy of a structure or by request.

Promise: whatever was edited, the script of a parser, its options or which one reads what, nothing
that depends on it stays as it was under `again = "parser"`. What is at work is not touched.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from ..engine.pools import Pools
from ..engine.stage import Stage
from ..errors import Unavailable
from ..structure.declared import Structure
from ..structure.documents import Documents
from ..structure.queues import uri_of
from ..structure.raw import raw_of
from ..structure.registry import Parsers

logger = logging.getLogger(__name__)

RULES = "rules"  # which parser reads what, as it was when all documents were last compared
BY_PARSER = "SELECT DISTINCT parser, parser_hash FROM {}"
OF_PARSER = (
    "SELECT {0}.hash, {0}.source, note FROM {0} LEFT JOIN source USING (hash) "
    "WHERE parser = ? AND parser_hash = ?"
)
OLDER = "SELECT hash FROM document WHERE at < ?"
PARSED = "SELECT document.hash, parser, note FROM document JOIN source USING (hash)"
NAMED = "SELECT hash, name FROM source"


class Again:
    """Of one state."""

    def __init__(
        self, structure: Structure, parsers: Parsers, documents: Documents, pools: Pools
    ) -> None:
        self._structure = structure
        self._parsers = parsers
        self._documents = documents
        self._pools = pools

    def by_policy(self, parse: Stage) -> int:
        """At the start of a round; how many."""
        again = self._structure.again
        if again.when == "always":
            return self.all_of(parse)
        if again.when == "age":
            old = self._hashes(OLDER, time.time() - again.after_s)
            return self._reopen(parse, old, "finished")
        return self._by_parser(parse) if again.when == "parser" else 0

    def all_of(self, stage: Stage, pools: Sequence[str] = ("finished", "failed")) -> int:
        return self._pools.reopen(stage, f"{self._structure.name} ", pools=pools)

    def of_sources(self, parse: Stage, pattern: str) -> int:
        """Those whose source has such a name."""
        rows = self._documents.select(NAMED)
        named = [str(hash_) for hash_, name in rows if fnmatchcase(str(name), pattern)]
        return sum(self._reopen(parse, named, pool) for pool in ("finished", "failed"))

    def _by_parser(self, parse: Stage) -> int:
        """What was made, or refused, by another script than its parser has now."""
        now = set(self._scripts())
        found = 0
        for table, pool in (("document", "finished"), ("failure", "failed")):
            for parser, hash_ in [*self._documents.select(BY_PARSER.format(table))]:
                if (parser, hash_) not in now:
                    of = self._documents.select(OF_PARSER.format(table), parser, hash_)
                    found += self._reopen(parse, self._with_rule(of), pool)
        return found + self._by_rules(parse)

    def _with_rule(self, rows: Iterable[tuple[object, ...]]) -> Iterator[str]:
        """What no rule reads any more stays as it is: to be tried would make it a failure."""
        for hash_, source, note in rows:
            raw = None if note is None else raw_of(str(note))
            known = (str(source), None) if raw is None else (raw.source, raw.type)
            if self._parsers.rule_for(*known) is not None:
                yield str(hash_)

    def _scripts(self) -> Iterator[tuple[str, str]]:
        for rule in self._parsers.rules:
            try:
                yield rule.parser, self._parsers.script_of(rule).hash
            except Unavailable as error:  # its documents wait for it
                logger.warning("%s", error)

    def _by_rules(self, parse: Stage) -> int:
        """Another rule may read a document now: looked at only if rules were edited."""
        said = repr([(rule.match, rule.parser) for rule in self._parsers.rules])
        rules = hashlib.sha256(said.encode()).hexdigest()
        before = self._pools.remembered().get(RULES)
        if before == rules:
            return 0
        found = 0 if before is None else self._reopen(parse, self._read_by_others(), "finished")
        self._pools.remember({RULES: rules})
        return found

    def _read_by_others(self) -> Iterator[str]:
        for hash_, parser, note in self._documents.select(PARSED):
            raw = raw_of(str(note))
            rule = self._parsers.rule_for(raw.source, raw.type)
            if rule is not None and rule.parser != parser:
                yield str(hash_)

    def _hashes(self, question: str, *values: object) -> Iterator[str]:
        return (str(hash_) for (hash_,) in self._documents.select(question, *values))

    def _reopen(self, stage: Stage, hashes: Iterable[str], pool: str) -> int:
        uris = [uri_of(self._structure.name, each) for each in dict.fromkeys(hashes)]
        return self._pools.reopen_named(stage, uris, pool)

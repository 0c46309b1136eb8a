"""Which parser a document gets: rules in the order of the job's file, the first that matches.

Promise: a script is read anew for every document, so an edit takes effect with the next one, and
its hash says which text, with which options, made a result. A rule that cannot work is a UsageError
before anything begins.
Limit: a script is one file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson

from ..base.text import did_you_mean
from ..errors import Unavailable, UsageError

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "html": ("fields",),
    "json": ("lines",),
    "pdf": ("tables",),
    "ocr": ("languages", "dpi"),
}
"""Those built in, and what each may be told."""
EDITIONS: Mapping[str, int] = dict.fromkeys(OPTIONS, 1)
"""One more whenever a parser's answers become other ones: its documents are parsed again."""


class Limits(NamedTuple):
    """Of one document: its time, the resident memory of its processes, the length of its JSON."""

    timeout_s: float = 30.0
    memory_bytes: int = 512_000_000
    max_json: int = 64_000_000


class Rule(NamedTuple):
    """`match` is a pattern like `*.html` of a source's name, or like `text/*` of a type."""

    match: str
    parser: str
    options: Mapping[str, Any] = {}
    priority: int | None = None
    timeout_s: float = Limits().timeout_s
    memory_bytes: int = Limits().memory_bytes
    max_json: int = Limits().max_json


class Script(NamedTuple):
    """What a parser's process is given; without a text it is the built-in one of that name."""

    name: str
    text: bytes
    hash: str
    options: Mapping[str, Any] = {}
    limits: Limits | None = None
    rule: int = 0  # its place among the rules: each has a process of its own


class Parsers:
    def __init__(self, rules: Sequence[Rule], folder: Path) -> None:
        self.rules = tuple(rules)
        self._folder = folder
        for number, rule in enumerate(self.rules):
            self._check(rule, f"parsers[{number}]")
        self._built_in = {
            number: self._script(number, rule, b"")
            for number, rule in enumerate(self.rules)
            if rule.parser in OPTIONS
        }

    def rule_for(self, source: str, type: str | None) -> Rule | None:
        """None if nobody says how such a document is parsed."""
        names = [source.lower()]
        if "://" in source:
            names.append(_path_of(source).lower())
        if type:
            names.append(type.partition(";")[0].strip().lower())
        for rule in self.rules:
            if any(fnmatchcase(name, rule.match.lower()) for name in names):
                return rule
        return None

    def script_of(self, rule: Rule) -> Script:
        """Unavailable if its file cannot be read now: no document is to blame for that."""
        number = self.rules.index(rule)
        if number in self._built_in:
            return self._built_in[number]
        try:
            text = (self._folder / rule.parser).read_bytes()
        except OSError as error:
            sentence = f"the parser {rule.parser} cannot be read ({error.strerror}): put it back"
            raise Unavailable(sentence) from error
        return self._script(number, rule, text)

    def _script(self, number: int, rule: Rule, text: bytes) -> Script:
        options = orjson.dumps(rule.options, option=orjson.OPT_SORT_KEYS)
        edition = text or f"{rule.parser} {EDITIONS.get(rule.parser)}".encode()
        limits = Limits(rule.timeout_s, rule.memory_bytes, rule.max_json)
        hash = hashlib.sha256(options + b"\n" + edition).hexdigest()
        return Script(rule.parser, text, hash, rule.options, limits, number)

    def _check(self, rule: Rule, place: str) -> None:
        known = OPTIONS.get(rule.parser)
        if known is None:
            if not (self._folder / rule.parser).is_file():
                near = did_you_mean(rule.parser, OPTIONS)
                built_in = ", ".join(OPTIONS)
                raise UsageError(
                    f"{place}.parser: {rule.parser!r} is no file in {self._folder}, and built in "
                    f"are {built_in}{near}"
                )
            return
        for name in rule.options:
            if name not in known:
                near = did_you_mean(name, known) or f"; it has {', '.join(known)}"
                raise UsageError(
                    f"{place}.{name}: the parser {rule.parser} has no such option{near}"
                )
        module = import_module(f".parsers.{rule.parser}", __package__)
        try:
            module.RawParser(**rule.options)
        except ValueError as error:
            raise UsageError(f"{place}.{error}") from None


def _path_of(address: str) -> str:
    """Without the question behind it, so that `*.html` means what it seems to."""
    try:
        return urlsplit(address).path
    except ValueError:
        return address

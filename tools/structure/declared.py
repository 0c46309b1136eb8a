"""A job of a TOML file: where its documents come from, who parses them, into which tables they go.

Promise: all mistakes of the file are told at once, each with its place and the nearest right name.
Limit: what its export file and its parsers hold is read by others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..base.mistakes import Mistakes, Section, is_cron, shown
from ..base.text import did_you_mean, seconds_of, size
from ..base.toml_file import read_toml
from ..errors import UsageError
from ..tables.rows import TooLong
from .dispatch import PRIORITY
from .registry import Limits, Parsers, Rule

JOB = (
    *("about", "source", "document", "export", "outer", "priority", "again", "timeout", "memory"),
    *("max_json", "every", "at", "strict", "too_long", "parsers"),
)
RULE = ("match", "parser", "priority", "options", "timeout", "memory", "max_json")
DOCUMENT = ("source", "hash", "key")
AGAIN = ("never", "parser", "always")
TOO_LONG = ("widen", "cut", "fail")
NAME = re.compile(r"[\w][\w.-]{0,99}")
LEAST_MEMORY = 32_000_000
LOWEST, HIGHEST = -1_000_000, 1_000_000  # a priority as people write it


class Again(NamedTuple):
    """When a known document is parsed again; `after_s` is for "7 days" and the like."""

    when: Literal["never", "parser", "always", "age"] = "parser"
    after_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    name: str
    file: Path
    about: str
    sources: tuple[str, ...]
    rules: tuple[Rule, ...]
    document: str
    export: Path | None
    outer: str
    priority: int  # as people write it
    again: Again
    every: float
    at: str
    strict: bool
    too_long: TooLong

    @property
    def folder(self) -> Path:
        """What its paths are relative to."""
        return self.file.parent


def declared_structure(file: Path, limits: Limits) -> Structure:
    """UsageError with all mistakes."""
    mistakes = Mistakes(str(file))
    if not NAME.fullmatch(file.stem):
        mistakes.say(f"{file.stem!r} must be letters, digits, _ . - to be a job's name")
    section = Section(read_toml(file, "job"), "", mistakes, JOB)
    structure = _structure(file, section, limits)
    mistakes.raise_if_any()
    return structure


def _structure(file: Path, section: Section, limits: Limits) -> Structure:
    every, at = _clock(section)
    export = section.text("export")
    return Structure(
        name=file.stem,
        file=file,
        about=section.text("about"),
        sources=_sources(section),
        rules=_rules(section, _limits(section, limits), file.parent),
        document=section.choice("document", DOCUMENT, DOCUMENT[0]),
        export=_file(section, "export", file.parent) if export else None,
        outer=section.text("outer"),
        priority=_priority(section, PRIORITY),
        again=_again(section),
        every=every,
        at=at,
        strict=section.flag("strict", False),
        too_long=section.choice("too_long", TOO_LONG, TOO_LONG[0]),  # type: ignore[arg-type]
    )


def _sources(section: Section) -> tuple[str, ...]:
    said = section.said.get("source")
    found = (said,) if isinstance(said, str) else section.texts("source")
    if not found or not all(found):
        section.wrong("source", 'where do the documents come from? Write source = "folder:raw"')
    if len(set(found)) < len(found):
        section.wrong("source", "the same is named twice")
    return found


def _priority(section: Section, default: int | None) -> Any:
    return section.whole("priority", default, LOWEST, HIGHEST)


def _again(section: Section) -> Again:
    said = section.said.get("again", AGAIN[1])
    if isinstance(said, str) and said in AGAIN:
        return Again(said)  # type: ignore[arg-type]  # it is one of them
    age = seconds_of(said)
    if age is not None:
        return Again("age", age)
    hint = did_you_mean(str(said), AGAIN) or f'; it must be {", ".join(AGAIN)} or like "7 days"'
    section.wrong("again", f"no {shown(said)}{hint}")
    return Again()


def _clock(section: Section) -> tuple[float, str]:
    every, at = section.seconds("every", 0.0), section.text("at")
    if at and not is_cron(at):
        section.wrong("at", f'{at!r} is not five fields of cron, such as "0 6 * * *"')
    if at and every:
        section.wrong("at", "every is given too: leave one of them out")
    return every, at


def _limits(section: Section, usual: Limits) -> Limits:
    memory = section.bytes("memory", usual.memory_bytes)
    if "memory" in section.said and memory < LEAST_MEMORY:
        section.wrong("memory", f"no parser starts with less than {size(LEAST_MEMORY)}")
    return Limits(
        section.seconds("timeout", usual.timeout_s) or usual.timeout_s,
        memory,
        section.bytes("max_json", usual.max_json),
    )


def _rules(section: Section, limits: Limits, folder: Path) -> tuple[Rule, ...]:
    rules = tuple(_rule(each, limits, folder) for each in section.sections("parsers", RULE))
    if not rules and isinstance(section.said.get("parsers", []), list):
        section.wrong("parsers", 'who reads the documents? Write [[parsers]] with parser = "html"')
    return rules


def _rule(section: Section, usual: Limits, folder: Path) -> Rule:
    rule = Rule(
        section.text("match", "*"),
        section.text("parser"),
        section.section("options").said,
        _priority(section, None),
        *_limits(section, usual),
    )
    if not rule.parser:
        section.wrong("parser", "which one? html, json, pdf, ocr, or a script: parsers/mine.py")
        return rule
    try:
        Parsers((rule,), folder)
    except UsageError as error:
        section.mistakes.say(str(error).replace("parsers[0]", section.place, 1))
    return rule


def _file(section: Section, key: str, folder: Path) -> Path:
    """One that is there."""
    path = folder / section.text(key)
    if not path.is_file():
        others = [str(each.relative_to(folder)) for each in _beside(path)]
        hint = did_you_mean(section.text(key), others) or ": it is looked for beside the job"
        section.wrong(key, f"there is no file {path}{hint}")
    return path


def _beside(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"*{path.suffix}")) if path.parent.is_dir() else []


# --- all of a folder -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Broken:
    """A job that cannot be run; the reason has a line for each mistake."""

    name: str
    reason: str


def load_structures(folder: Path, limits: Limits) -> dict[str, Structure | Broken]:
    """All, by their names."""
    if not folder.is_dir():
        raise UsageError(
            f"there is no folder {folder} for structures: make it and write NAME.toml there "
            "(docs/structure.md shows how), or set structure.folder"
        )
    return {file.stem: _loaded(file, limits) for file in sorted(folder.glob("*.toml"))}


def _loaded(file: Path, limits: Limits) -> Structure | Broken:
    try:
        return declared_structure(file, limits)
    except UsageError as error:
        return Broken(file.stem, str(error))


def load_structure(folder: Path, name: str, limits: Limits) -> Structure:
    """UsageError if there is none of this name, or if it is wrong."""
    file = folder / f"{name}.toml"
    if not NAME.fullmatch(name) or not file.is_file():
        known = [each.stem for each in sorted(folder.glob("*.toml"))]
        there = f"; there are: {', '.join(known)}" if known else ": put NAME.toml there"
        raise UsageError(f"no structure {name!r} in {folder}{did_you_mean(name, known) or there}")
    return declared_structure(file, limits)

"""The log of a harvest: its last lines by level, its beginnings, and whether it ended by itself."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import orjson

from ..base.tail import last_whole_lines
from .log_tail import last_of, rotated
from .logged_settings import settings_in

LEVELS = ("debug", "info", "warning", "error", "critical")
LEVEL_AT = len("2026-01-01 00:00:00,000 ")
JSON_LEVEL_AT = len('{"time": "2026-01-01T00:00:00.000Z", "level": "')
TAIL = 400_000  # bytes: several thousand lines
BEGINS, ENDED = ") begins: ", "ended after "
DIFFER = "; settings that differ from the default: "
_LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),\d+ ([A-Z]+) +(.*)")


class Line(NamedTuple):
    time: str
    level: str
    message: str


class Beginning(NamedTuple):
    """Of a run. `changed` are its settings that are not as by default."""

    time: str
    command: str
    changed: Sequence[str]


class Lines(NamedTuple):
    """`searched`: in only so many bytes from the end (see `log_tail.Found`)."""

    lines: Sequence[Line]
    searched: int | None


def last_lines(file: Path, level: str = "info", most: int = 200) -> Lines:
    """Those of this level and above, the last one last."""
    contents = [content for each in rotated(file) if (content := _content_of(each))]
    return _last_lines(file, level, most, *contents)


@lru_cache(len(LEVELS))
def _last_lines(file: Path, level: str, most: int, *_content: object) -> Lines:
    least = LEVELS.index(level) if level in LEVELS else 0
    lower, shown = LEVELS[:least], LEVELS[least:]
    in_text = tuple(f"{each.upper()} ".encode() for each in lower)
    in_json = tuple(f'{each}"'.encode() for each in lower)

    def is_wanted(line: bytes) -> bool:  # most are not: they are known without being read
        if line.startswith(b"{"):
            is_lower = line.startswith(in_json, JSON_LEVEL_AT)
        else:
            is_lower = line.startswith(in_text, LEVEL_AT)
        return not is_lower and _read(line.decode(errors="replace")).level in shown

    found = last_of(rotated(file), is_wanted, most)
    return Lines([_read(each.decode(errors="replace")) for each in found.lines], found.searched)


def _content_of(path: Path) -> tuple[int, ...] | None:
    """Another one whenever something was written to it."""
    try:
        status = path.stat()
    except OSError:  # not there, or no longer: it was renamed meanwhile
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def has_ended(file: Path) -> bool:
    """Did the last run say so itself? What was killed did not."""
    last = [line.message for line in map(_read, _tail(file)) if _is_edge(line.message)]
    return bool(last) and last[-1].startswith(ENDED)


def beginnings(file: Path, most: int = 20) -> list[Beginning]:
    """As far as the log goes back, the last one first."""
    found: list[Beginning] = []
    for path in rotated(file):
        content = _content_of(path)
        if len(found) < most and content is not None:
            with suppress(OSError):
                found += _begun_in(path, *content)
    return found[:most]


@lru_cache(16)
def _begun_in(path: Path, *_content: int) -> list[Beginning]:
    with path.open("rb") as lines:
        texts = [each.decode(errors="replace") for each in lines if BEGINS.encode() in each]
    return [_beginning(_read(each)) for each in reversed(texts)]


def _beginning(line: Line) -> Beginning:
    command, _, changed = line.message.partition(BEGINS)[2].partition(DIFFER)
    return Beginning(line.time, command, [] if changed == "none" else settings_in(changed))


def _is_edge(message: str) -> bool:
    return BEGINS in message or message.startswith(ENDED)


def _tail(file: Path) -> list[str]:
    try:
        return [each.decode(errors="replace") for each in last_whole_lines(file, TAIL)]
    except OSError:
        return []


def _read(text: str) -> Line:
    """As text or as JSON; what is neither belongs to the line before it."""
    if text.startswith("{"):
        try:
            event = orjson.loads(text)
            return Line(_local(event["time"]), str(event["level"]), str(event["message"]))
        except (orjson.JSONDecodeError, KeyError, TypeError):
            pass
    found = _LINE.match(text)
    return Line(found[1], found[2].lower(), found[3]) if found else Line("", "error", text)


def _local(moment: object) -> str:
    """JSON lines have UTC, as programs like it."""
    try:
        utc = time.strptime(str(moment)[:19], "%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return str(moment)
    import calendar

    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(calendar.timegm(utc)))

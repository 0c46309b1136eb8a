"""A JSON file that somebody wrote: read, or told in ordinary words where it is wrong.

Promise: a name that stands twice in an object is a mistake, not a loss.
"""

from __future__ import annotations

import json
import re
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..base.mistakes import Mistakes, Section
from ..errors import UsageError

LARGEST_FILE, LARGEST_DOCUMENT = 10_000_000, 1_000_000_000
CLOSERS = {"{": "}", "[": "]"}
_PARTS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[][{}]', re.DOTALL)
_QUOTES = "'‘’“”＂「」"  # noqa: RUF001
_LIKE = {"，": ",", "、": ",", ";": ",", "；": ",", "：": ":", "=": ":"}  # noqa: RUF001


class JsonSection(Section):
    """An object of the file."""

    noun = "an object in { }"


class Object(dict[str, Any]):
    """Of a file; `twice` are names that stand in it more than once."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(name for name, _ in pairs) if len(self) < len(pairs) else {}
        self.twice = [name for name, count in counts.items() if count > 1]


def read_json(file: Path, most_bytes: int = LARGEST_FILE) -> Any:
    """UsageError with line and column of the first mistake, or with all names that stand twice."""
    found = _decoded(file, most_bytes, Object)
    mistakes = Mistakes(file.name)
    for place, name in _names_twice(found):
        mistakes.say(f"{place or 'the file'} has {name!r} twice: remove one, or rename it")
    mistakes.raise_if_any()
    return found


def read_document(file: Path, most_bytes: int = LARGEST_DOCUMENT) -> Any:
    """One that a parser made; of a name that stands twice the last counts, as it does there."""
    return _decoded(file, most_bytes, None)


def _decoded(file: Path, most_bytes: int, hook: type[Object] | None) -> Any:
    text = _text(file, most_bytes)
    try:
        return json.loads(text, object_pairs_hook=hook)
    except json.JSONDecodeError as error:
        at, sentence = _explained(text, error)
        raise UsageError(f"{file.name}: {_place(text, at)}: {sentence}") from None
    except RecursionError:
        raise UsageError(f"{file.name} is nested too deep to be read") from None
    except ValueError as error:  # a number of 5,000 digits
        raise UsageError(f"{file.name}: {error}") from None


def _text(file: Path, most_bytes: int) -> str:
    try:
        facts = file.stat()
        if stat.S_ISCHR(facts.st_mode):  # some never end
            raise UsageError(f"{file} is a device: give a file")
        if facts.st_size > most_bytes:
            raise UsageError(f"{file} is too large: it may have {most_bytes:,} bytes")
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not UTF-8: save it as UTF-8") from None


def _names_twice(found: Any) -> Iterator[tuple[str, str]]:
    waiting = [("", found)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, Object):
            yield from ((place, name) for name in value.twice)
            dot = "." if place else ""
            waiting += [(f"{place}{dot}{name}", each) for name, each in value.items()][::-1]
        elif isinstance(value, list):
            waiting += [(f"{place}[{at}]", each) for at, each in enumerate(value)][::-1]


def _place(text: str, at: int) -> str:
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return f"line {line}, column {column}"


def _explained(text: str, error: json.JSONDecodeError) -> tuple[int, str]:
    """Where the mistake is, and what it is: seen by what stands there, for what the decoder says of
    it tells only what it was looking for."""
    at, before = error.pos, text[: error.pos].rstrip()
    if error.msg.startswith(("Unterminated", "Invalid control")):
        return _open_text(text, at)
    if error.msg.startswith("Invalid"):
        return at, "a backslash begins an escape: write two for one that is meant"
    if error.msg.startswith("Illegal trailing comma"):  # of newer decoders, which point at it
        return at, _comma_before(text[at + 1 :].lstrip()[:1])
    here = text[at : at + 1]
    if error.msg.startswith("Extra data"):
        return at, _after_the_end(here)
    if not here:
        return _unclosed(text)
    if here in CLOSERS.values():
        return _closed_early(text, at, before)
    return at, _missing(error.msg, here, before[-1:])


def _missing(sought: str, here: str, last: str) -> str:
    for mark, name in ((",", "comma"), (":", "colon")):
        if f"'{mark}'" in sought:
            instead = f": write {mark} instead of {here}" if _LIKE.get(here) == mark else ""
            return f"a {name} is missing{instead}"
    if here == "," and last == ":":
        return "a value is missing between the colon and the comma"
    if here == ",":
        return "a comma too much: remove it"
    if here in _QUOTES:
        return 'texts stand in straight double quotes: write " instead'
    if here in "#/":
        return "JSON has no remarks: remove it"
    if "property name" in sought:
        return 'a name in double quotes must stand here: "name": value'
    return 'a value must stand here: "text" in double quotes, a number, true, false, null, [ or {'


def _after_the_end(here: str) -> str:
    if here in CLOSERS.values():
        return f"a {here} too much: everything is closed already"
    return "the file must end here: everything is closed already"


def _closed_early(text: str, at: int, before: str) -> tuple[int, str]:
    here = text[at]
    if before.endswith(","):
        return len(before) - 1, _comma_before(here)
    if before.endswith(":"):
        return at, "a value is missing after the colon"
    still_open = _open_brackets(text, at)
    if not still_open:
        return at, f"a {here} too much: nothing is open here"
    opened = still_open[-1]
    wanted = CLOSERS[text[opened]]
    if wanted == here:
        return at, "a colon and a value are missing"
    return at, f"a {wanted} is missing: the {text[opened]} of {_place(text, opened)} is open"


def _comma_before(closer: str) -> str:
    return f"a comma too much before the {closer}: remove it"


def _unclosed(text: str) -> tuple[int, str]:
    still_open = _open_brackets(text, len(text))
    if not still_open:
        return 0, "the file is empty"
    return still_open[-1], f"the {text[still_open[-1]]} is never closed"


def _open_brackets(text: str, end: int) -> list[int]:
    """Where those stand that are not closed up to here, the innermost last."""
    found: list[int] = []
    for part in _PARTS.finditer(text, 0, end):
        if part[0] in CLOSERS:
            found.append(part.start())
        elif part[0] in CLOSERS.values():
            found.pop()
    return found


def _open_text(text: str, at: int) -> tuple[int, str]:
    start = next(each.start() for each in _PARTS.finditer(text) if each.end() > at)
    if text[at] in '\n"':
        return start, "the text that begins here has no closing double quotes in its line"
    return at, "a control character in a text: write a tab as \\t, and leave out others"

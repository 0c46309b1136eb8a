"""JSON, or JSON Lines: a value, or the list of the lines' values.

Promise: what is JSON already is kept as it was written, digit by digit.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from ...errors import GiveUp

MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"} | {
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}


class RawParser:
    """`lines`: every line is a value, even if there is only one."""

    def __init__(self, lines: bool = False) -> None:
        if type(lines) is not bool:
            raise ValueError(f"lines must be true or false, not {lines!r}")
        self._lines = lines

    def parse(self, raw: bytes, about: Mapping[str, Any]) -> Any:
        raw = _in_utf8(raw, about.get("type"))
        if self._lines:
            return [*_values(raw)]
        try:
            orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            return _as_lines(raw, error)
        return raw


def _as_lines(raw: bytes, error: orjson.JSONDecodeError) -> list[Any]:
    """If its first line is a value and another follows; else it is no JSON at all."""
    try:
        first = next(_values(raw))
    except (GiveUp, StopIteration):
        raise GiveUp(f"not JSON: {_why(error)}") from None
    if not isinstance(first, dict | list):
        raise GiveUp(f"not JSON: {_why(error)}")
    return [*_values(raw)]


def _values(raw: bytes) -> Iterator[Any]:
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if line := line.strip():
            try:
                yield orjson.loads(line)
            except orjson.JSONDecodeError as error:
                why = f"{error.msg}, column {error.colno}"
                raise GiveUp(f"not JSON: line {number}: {why}") from None


def _why(error: orjson.JSONDecodeError) -> str:
    return f"{error.msg}, line {error.lineno}, column {error.colno}"


def _in_utf8(raw: bytes, type: str | None) -> bytes:
    """Most is; what says that it is not, or cannot be, is decoded as a page would be."""
    charset = next((name for mark, name in MARKS.items() if raw.startswith(mark)), None)
    if charset is None and _is_utf8(raw):
        return raw
    if charset is None:
        from ...documents.decode import decoded

        return decoded(raw, type, "json").text.encode("utf-8", "replace")
    try:
        return raw.decode(charset).encode()
    except UnicodeError:
        raise GiveUp(f"it begins like {charset}, but is not") from None


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True

"""A value of a row as JSON, and back: the same value, of the same kind.

Promise: what comes back is equal to what went, whatever a column takes: numbers of any size,
moments with their zones, bytes, half characters. What is none of these is a TypeError before it
goes; what no value looks like is a ValueError when it comes.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

LARGEST_PLAIN = 2**53
DEEPEST = 50
LONGEST_NUMBER = 5000  # digits


def packed(value: Any, deep: int = 0) -> Any:
    """Most are as they are; the others are a list of a word and a text.

    >>> packed("a"), packed(Decimal("1.50")), packed([1, None])
    ('a', ['decimal', '1.50'], ['list', [1, None]])
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value) if _is_whole(value) else ["text", _coded(_bytes_of(value))]
    if isinstance(value, int):
        return int(value) if abs(value) < LARGEST_PLAIN else ["int", str(int(value))]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else ["float", str(float(value))]
    if isinstance(value, bytes | bytearray | memoryview):
        return ["bytes", _coded(bytes(value))]
    for kind, word in MOMENTS:
        if isinstance(value, kind):
            return [word, value.isoformat()]
    if isinstance(value, Decimal):
        return ["decimal", str(value)]
    return _packed_nest(value, deep + 1)


def _packed_nest(value: Any, deep: int) -> Any:
    if deep > DEEPEST:
        raise TypeError("it is nested too deep to travel")
    if isinstance(value, list | tuple):
        word = "list" if isinstance(value, list) else "tuple"
        return [word, [packed(each, deep) for each in value]]
    if isinstance(value, Mapping):
        pairs = [[packed(key, deep), packed(each, deep)] for key, each in value.items()]
        return ["dict", pairs]
    raise TypeError(f"{type(value).__name__} is no value that can travel")


def unpacked(said: Any, deep: int = 0) -> Any:
    """ValueError if it is none."""
    if said is None or type(said) in (bool, str, int):
        return said
    if type(said) is float and math.isfinite(said):
        return said
    if deep > DEEPEST or not isinstance(said, list) or len(said) != 2:
        raise ValueError("no value of a row")
    word, content = said
    try:
        if isinstance(content, str) and word in TEXTS:
            return TEXTS[word](content)
        if isinstance(content, list) and word in ("list", "tuple"):
            found = [unpacked(each, deep + 1) for each in content]
            return found if word == "list" else tuple(found)
        if isinstance(content, list) and word == "dict":
            return {unpacked(key, deep + 1): unpacked(each, deep + 1) for key, each in content}
    except (TypeError, ArithmeticError):  # a list as a key, a decimal that is none
        raise ValueError("no value of a row") from None
    raise ValueError("no value of a row")


def _is_whole(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= each <= "\udfff" for each in text)


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _coded(content: bytes) -> str:
    return b64encode(content).decode("ascii")


def _decoded(text: str) -> bytes:
    return b64decode(text, validate=True)


def _number(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise ValueError("no value of a row")
    return int(text)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError("no value of a row") from None


def _float(text: str) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise ValueError("no value of a row")
    return float(text)


MOMENTS = ((datetime, "datetime"), (date, "date"), (time, "time"))
"""A datetime is a date, too: it comes first."""
TEXTS: Mapping[str, Callable[[str], Any]] = {
    "text": lambda text: _decoded(text).decode("utf-8", "surrogatepass"),
    "int": _number,
    "float": _float,
    "bytes": _decoded,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "decimal": _decimal,
}

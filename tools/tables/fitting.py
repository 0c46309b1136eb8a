"""A value as its column's type stores it, the same on every database: one by one, or a column."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from types import NoneType
from typing import Any

from ..base.text import clipped, one_line, storable
from .datatype import DataType

_EXACT = Context(prec=100, rounding=ROUND_HALF_UP)
ALIKE = {str, int, float, date, datetime}
"""Kinds of values that, alone in a column, are equal only if they mean the same."""
SHOWN = 40  # characters of a value in a message
TRUTHS = dict.fromkeys(("true", "t", "yes", "y", "on", "1"), True) | dict.fromkeys(
    ("false", "f", "no", "n", "off", "0"), False
)
_GROUPS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
_CALENDAR = re.compile(r"(\d{4})\s*[年/.]\s*(\d{1,2})\s*[月/.]\s*(\d{1,2})\s*日?")


class Misfit(ValueError):
    """A value that its column cannot hold. `kind` is the same for all values with this fault."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind


def fitted(wanted: DataType, value: Any) -> Any:
    if value is None:
        return None
    if wanted.kind not in ("text", "varchar", "json", "blob") and isinstance(value, str):
        value = value.strip()
        if not value:
            return None
    try:
        return _FIT[wanted.kind](wanted, value)
    except Misfit:
        raise
    except (ValueError, TypeError, ArithmeticError, RecursionError):
        raise _no(_NAMES[wanted.kind], value) from None


def fitted_column(
    wanted: DataType, values: Sequence[Any], is_key: bool = False
) -> tuple[Sequence[Any], dict[int, Misfit]]:
    """All of a column at once, and which of them do not fit: most columns fit as they are, which
    is seen far quicker than value by value. In a key, equal numbers must be equal texts."""
    kinds = set(map(type, values)) - {NoneType}
    if not kinds or _fits_as_it_is(wanted, values, kinds, is_key):
        return values, {}
    if len(kinds) == 1 and kinds <= ALIKE:  # the same again and again
        return _looked_up(values, *_one_by_one(wanted, dict.fromkeys(values)))
    found, faults = _one_by_one(wanted, values)
    return found, faults


def _one_by_one(wanted: DataType, values: Iterable[Any]) -> tuple[list[Any], dict[int, Misfit]]:
    found: list[Any] = []
    misfits: dict[int, Misfit] = {}
    for at, value in enumerate(values):
        try:
            found.append(fitted(wanted, value))
        except Misfit as misfit:
            found.append(None)
            misfits[at] = misfit
    return found, misfits


def _looked_up(
    values: Sequence[Any], found: list[Any], faults: dict[int, Misfit]
) -> tuple[list[Any], dict[int, Misfit]]:
    distinct = list(dict.fromkeys(values))
    fits = dict(zip(distinct, found, strict=True))
    bad = {distinct[at]: misfit for at, misfit in faults.items()}
    misfits = {at: bad[value] for at, value in enumerate(values) if value in bad} if bad else {}
    return [fits[value] for value in values], misfits


def _fits_as_it_is(wanted: DataType, values: Sequence[Any], kinds: set[type], is_key: bool) -> bool:
    if wanted.is_text and kinds == {str}:
        texts = [each for each in values if each] if None in values else values
        return max(map(len, texts), default=0) <= wanted.longest and is_storable("".join(texts))
    there = [value for value in values if value is not None] if None in values else values
    if wanted.kind == "decimal" and kinds == {str} and not (is_key or wanted.is_unsigned):
        return bool(_plain_numbers(wanted).fullmatch("\n".join(there)))
    if kinds == {int} and wanted.bounds:
        least, end = wanted.bounds
        return bool(least <= min(there) and max(there) < end)
    if wanted.is_unsigned:
        return False
    return kinds == {float} and wanted.kind == "double" and all(map(math.isfinite, there))


@lru_cache
def _plain_numbers(wanted: DataType) -> re.Pattern[str]:
    """Lines with numbers of this DECIMAL that need no rounding."""
    digits = (wanted.length or 0) - wanted.decimals
    number = rf"-?[0-9]{{1,{digits}}}" if digits else "-?0"
    if wanted.decimals:
        number += rf"(?:\.[0-9]{{1,{wanted.decimals}}})?+"
    return re.compile(rf"(?:{number}\n)*+{number}")


def is_storable(text: str) -> bool:
    if "\0" in text:
        return False
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _no(kind: str, value: object) -> Misfit:
    try:
        shown = clipped(one_line(repr(value)[: 4 * SHOWN]), SHOWN)
    except (ValueError, RecursionError):  # a number of thousands of digits, a deep nest
        shown = type(value).__name__
    return Misfit(f"no {kind}", f"{shown} is no {kind}")


def _text(wanted: DataType, value: Any) -> str:
    text = value if type(value) is str else _as_text(value)
    if not is_storable(text):
        text = storable(text)
    if len(text) > wanted.longest:
        raise Misfit("too long", f"too long: {len(text):,} of {wanted.longest:,} characters")
    return text


def _as_text(value: Any) -> str:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, dict | list | tuple | bool):
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    if isinstance(value, str | int | float | Decimal):
        return str(value)
    raise ValueError


def _number(value: Any) -> Decimal:
    if isinstance(value, str):
        value = value.replace(",", "") if _GROUPS.fullmatch(value) else value.replace("_", "no")
    number = Decimal(str(value) if isinstance(value, float) else value)
    if not number.is_finite():
        raise ValueError
    return number


def _integer(wanted: DataType, value: Any) -> int:
    if not isinstance(value, int):
        number = _number(value)
        if number.adjusted() > 20:
            raise Misfit("too large", f"too large for {wanted}")
        value = int(number)
        if value != number:
            raise ValueError
    _check_sign(wanted, value)
    least, end = wanted.bounds or (value, value)
    if not least <= value < end:
        raise Misfit("too large", f"too large for {wanted}")
    return int(value)


def _check_sign(wanted: DataType, number: Any) -> None:
    if wanted.is_unsigned and number < 0:
        raise Misfit("negative", f"negative, and the column is {wanted}")


def _decimal(wanted: DataType, value: Any) -> str:
    number, digits = _number(value), (wanted.length or 0) - wanted.decimals
    _check_sign(wanted, number)
    if number and number.adjusted() > digits:
        raise Misfit("too large", f"too large for {wanted}")
    rounded = number.quantize(Decimal((0, (1,), -wanted.decimals)), context=_EXACT)
    if rounded and rounded.adjusted() >= digits:
        raise Misfit("too large", f"too large for {wanted}")
    return f"{rounded:f}"


def _double(wanted: DataType, value: Any) -> float:
    number = float(_number(value))
    _check_sign(wanted, number)
    if not math.isfinite(number):
        raise ValueError
    return number


def _boolean(_: DataType, value: Any) -> bool:
    if isinstance(value, str):
        value = TRUTHS.get(value.lower())
    if value not in (0, 1):
        raise ValueError
    return bool(value)


def _moment(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if not isinstance(value, str):
        raise ValueError
    return datetime.fromisoformat(_CALENDAR.sub(_dashed, value.replace("\u3000", " "), 1))


def _dashed(found: re.Match[str]) -> str:
    year, month, day = map(int, found.groups())
    return f"{year:04}-{month:02}-{day:02}"


def _date(_: DataType, value: Any) -> str:
    return _moment(value).date().isoformat()


def _datetime(_: DataType, value: Any) -> str:
    """Of a moment with a zone the one in UTC: databases differ in what they would keep of it."""
    moment = _moment(value)
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return moment.isoformat(" ")


def _time(_: DataType, value: Any) -> str:
    moment = value if isinstance(value, time) else time.fromisoformat(value)
    return moment.replace(tzinfo=None).isoformat()


def _json(_: DataType, value: Any) -> str:
    """A text that is JSON is meant as such."""
    if isinstance(value, str):
        try:
            json.loads(value, parse_constant=_refused)
            return storable(value)
        except ValueError:
            pass
    return storable(json.dumps(value, ensure_ascii=False, allow_nan=False, default=str))


def _refused(constant: str) -> None:
    raise ValueError(constant)


def _blob(_: DataType, value: Any) -> bytes:
    return (
        value.encode("utf-8", "surrogatepass")
        if isinstance(value, str)
        else bytes(memoryview(value))
    )


_FIT: dict[str, Callable[[DataType, Any], Any]] = {
    "varchar": _text,
    "text": _text,
    "integer": _integer,
    "bigint": _integer,
    "decimal": _decimal,
    "double": _double,
    "boolean": _boolean,
    "date": _date,
    "datetime": _datetime,
    "time": _time,
    "json": _json,
    "blob": _blob,
}
_NAMES = {
    **dict.fromkeys(("varchar", "text"), "text"),
    **dict.fromkeys(("integer", "bigint"), "whole number"),
    **dict.fromkeys(("decimal", "double"), "number"),
    "boolean": "yes or no",
    **dict.fromkeys(("date", "datetime"), "date"),
    "time": "time",
    "json": "JSON",
    "blob": "bytes",
}

"""What stands behind the question mark of a source's text: names with values, all of them known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl

from ...base.credentials import hidden
from ...base.text import did_you_mean
from ...errors import UsageError


def options_of(
    uri: str, query: str, known: Sequence[str], needed: Sequence[str] = ("body",)
) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in known:
            hint = did_you_mean(name, known) or f"; known: {', '.join(known)}"
            raise UsageError(f"{hidden(uri)}: there is no option {name!r}{hint}")
        if name in found or not value:
            raise UsageError(f"{hidden(uri)}: give {name} one value")
        found[name] = value
    for name in needed:
        if name not in found:
            raise UsageError(f"{hidden(uri)}: say which one is the {name}, such as ?{name}=...")
    return found


def priority_of(value: object) -> int | None:
    """What a field says, if that is a whole number.

    >>> priority_of(" 2 "), priority_of(-1), priority_of("soon"), priority_of(True)
    (2, -1, None, None)
    """
    if isinstance(value, bool):
        return None
    text = str(value).strip()
    is_number = text.removeprefix("-").isdecimal() and len(text) < 10
    return int(text) if is_number else None

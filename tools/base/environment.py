"""Settings from the environment: a variable for each field of a section.

Promise: what a variable says is judged as the same text in the file would be, and a wrong one is
named with its variable.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, get_type_hints

from ..errors import WrongSetting

YES, NO = ("true", "yes", "1"), ("false", "no", "0")


def from_environment(
    section: type, prefix: str, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What the environment says of a section's fields, as a TOML file would."""
    found, types = {}, get_type_hints(section)
    for each in fields(section):
        variable = prefix + each.name.upper()
        text = (os.environ if environment is None else environment).get(variable)
        if text is not None and each.repr:
            found[each.name] = _read(types[each.name], text, variable)
    return found


def _read(kind: Any, text: str, variable: str) -> Any:
    read = READERS.get(kind)
    try:
        return text if read is None else read(text)
    except ValueError:
        sentence = f"{variable} is {text!r}, which this setting cannot be"
        raise WrongSetting(variable, sentence) from None


def _truth(text: str) -> bool:
    if text.lower() not in (*YES, *NO):
        raise ValueError(text)
    return text.lower() in YES


def _texts(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


READERS: Mapping[Any, Callable[[str], Any]] = {
    bool: _truth,
    int: int,
    int | None: int,
    float: float,
    float | None: float,
    tuple[str, ...]: _texts,
}

"""Where in its file a setting stands, for whoever has to correct it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import UsageError, WrongSetting

_HEAD = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"\s*([\w.\"'-]+?)\s*=")


def located(error: WrongSetting, file: Path, flags: Mapping[str, Any]) -> UsageError:
    """The same sentence, and where the setting stands if this file is to blame."""
    if flags.get(error.name.partition(".")[0]) is not None:
        return error
    line = line_of(error.name, file.read_text(encoding="utf-8"))
    return UsageError(f"{error} ({file}, line {line})") if line else error


def line_of(name: str, text: str) -> int | None:
    """The line of a setting, or of the section that lacks it; None if there is neither.

    >>> line_of("log.level", "limit = 1\\n[log]\\nlevel = 5"), line_of("log.json", "[log]")
    (3, 1)
    >>> line_of("extend.servers.commons", "[extend]\\nservers = {commons = 5}"), line_of("a", "")
    (2, None)
    """
    places: dict[str, int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if head := _HEAD.match(line):
            section = f"{head[1]}."
            places.setdefault(head[1], number)
        elif key := _KEY.match(line):
            places.setdefault(section + key[1], number)
    while name and name not in places:
        name = name.rpartition(".")[0]
    return places.get(name)

"""What the log says of a run as a whole: how it began, each hour how far it is, how it ended.

Promise: no secret is among it.
"""

from __future__ import annotations

import platform
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..base.credentials import hidden
from ..base.log import file_only
from ..base.text import duration
from ..base.version import VERSION

LONGEST = 200  # characters of a setting: seeds may be many


class Journal:
    """Of one run; its end is that of the `with`, good or bad."""

    def __init__(self, settings: Any, typed: Sequence[str]) -> None:
        self._settings = settings
        self._typed = typed
        self._begun = time.monotonic()
        self.verdict = ""

    def __enter__(self) -> Self:
        command = hidden(shlex.join(["main.py", *self._typed]))
        changed = ", ".join(changes(self._settings, type(self._settings)())) or "none"
        python = f"Python {platform.python_version()}, {platform.system()}"
        text = "Sheaf %s (%s) begins: %s; settings that differ from the default: %s"
        file_only.info(text, VERSION, python, command, changed)
        return self

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        reason = self.verdict if error is None else str(error) or type(error).__name__
        file_only.info("ended after %s: %s", duration(time.monotonic() - self._begun), reason)


def changes(settings: Any, usual: Any) -> Iterator[str]:
    """Every setting that is not as by default, but those that are secret."""
    for field in fields(settings):
        value, default = getattr(settings, field.name), getattr(usual, field.name)
        if not field.repr or value == default:
            continue
        if is_dataclass(value):
            yield from (f"{field.name}.{each}" for each in changes(value, default))
        else:
            shown = str(value) if isinstance(value, Path) else value
            yield f"{field.name}={hidden(repr(shown))[:LONGEST]}"

"""Lines that cannot be read: counted, logged with their numbers, bearable up to a limit."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from ...errors import UsageError

logger = logging.getLogger(__name__)

MOST_LOGGED = 20


class Faults:
    """`known` is how many an earlier run has met already, `logged` which of them it has logged."""

    def __init__(
        self, path: Path, most: int, known: int = 0, logged: Iterable[tuple[int, str]] = ()
    ) -> None:
        self.number = known
        self.logged = list(logged)
        self._path = path
        self._most = most

    def note(self, line: int, reason: str) -> None:
        """Skip this line; raises UsageError if there are too many of them."""
        self.number += 1
        self._require_few(line, reason)
        if len(self.logged) < MOST_LOGGED and (line, reason) not in self.logged:
            self.logged.append((line, reason))
            logger.warning("line %d of %s is skipped: %s", line, self._path.name, reason)

    def add(self, number: int, logged: Iterable[tuple[int, str]]) -> None:
        """What others met in their part of the file; they have logged it."""
        self.number += number
        self.logged = [*self.logged, *logged][:MOST_LOGGED]
        for line, reason in self.logged[-1:]:
            self._require_few(line, reason)

    def _require_few(self, line: int, reason: str) -> None:
        if self.number > self._most:
            raise UsageError(
                f"{self._path} has more than {self._most:,} lines that cannot be read, the last "
                f"is line {line:,}: {reason}; is it an assertions file? "
                f"(dump.max_malformed allows more)"
            )

    def require_some(self, lines: int) -> None:
        """All lines are read; raises UsageError if not one of so many could be."""
        if lines <= self.number:
            found = "it is empty" if not lines else f"of {_lines(lines)} none can be read"
            raise UsageError(
                f"{self._path} is no assertions file ({found}): `python main.py download` fetches "
                f"ConceptNet's"
            )

    def summary(self) -> str | None:
        """One sentence, None if every line was good."""
        if not self.number:
            return None
        what = "malformed line was" if self.number == 1 else "malformed lines were"
        named = ", ".join(f"{line:,}" for line, _ in self.logged)
        others = " and others" if self.number > len(self.logged) else ""
        return f"{self.number:,} {what} skipped" + (f": line {named}{others}" if named else "")


def _lines(number: int) -> str:
    return "1 line" if number == 1 else f"{number:,} lines"

"""Files that were offered and refused, by reason and provider: from the books beside the media.

Promise: only what came since the last look is read. Limit: of long books, their end.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import orjson

from ..journal.reasons import reason_group
from ..media.ledger_lines import SEARCHES
from .site import Site

END = 32_000_000  # bytes of the books that are read at first
EXAMPLES = 3
MOST_GROUPS = 2000


class Example(NamedTuple):
    owner: str
    kind: str
    url: str
    reason: str
    page: str
    license: str

    @classmethod
    def of(cls, owner: str, said: Mapping[str, Any]) -> Example:
        """Of books of an earlier version, without what they did not tell."""
        names = ("kind", "url", "reason", "page", "license")
        return cls(owner, *(str(said.get(name, "")) for name in names))


class RefusedGroup(NamedTuple):
    reason: str
    number: int
    providers: dict[str, int]
    examples: list[Example]


@dataclass
class Books:
    """What was read so far of one file."""

    path: Path
    is_cut: bool = False
    _place: int = 0
    _inode: int = 0
    _numbers: Counter[tuple[str, str]] = field(default_factory=Counter)
    _examples: dict[str, list[Example]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def groups(self) -> list[RefusedGroup]:
        """The most frequent first."""
        with self._lock:
            self._read_on()
            by_reason: dict[str, dict[str, int]] = {}
            for (reason, provider), number in self._numbers.items():
                by_reason.setdefault(reason, {})[provider] = number
            found = [
                RefusedGroup(reason, sum(of.values()), of, list(self._examples[reason]))
                for reason, of in by_reason.items()
            ]
        return sorted(found, key=lambda each: (-each.number, each.reason))

    def _read_on(self) -> None:
        try:
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())  # by then its name may be another's
                if status.st_ino != self._inode or status.st_size < self._place:
                    self._begin(status.st_ino, status.st_size)
                    file.seek(self._place)
                    self._place += len(file.readline()) if self.is_cut else 0
                file.seek(self._place)
                for line in file:
                    if not line.endswith(b"\n"):  # it is being written
                        break
                    self._place += len(line)
                    self._take(line)
        except OSError:
            return

    def _begin(self, inode: int, size: int) -> None:
        """They are shipped and begun anew now and then."""
        self._inode, self._place = inode, max(0, size - END)
        self.is_cut = self._place > 0
        self._numbers.clear()
        self._examples.clear()

    def _take(self, line: bytes) -> None:
        for owner, each in _refused_in(line):
            reason = reason_group(str(each.get("reason", "unknown")))
            if reason not in self._examples and len(self._examples) >= MOST_GROUPS:
                reason = "other reasons"
            self._numbers[reason, str(each.get("provider", ""))] += 1
            examples = self._examples.setdefault(reason, [])
            if len(examples) < EXAMPLES:
                examples.append(Example.of(owner, each))


def _refused_in(line: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Each with whom it was for; of a line that somebody spoilt nothing."""
    try:
        record = orjson.loads(line)
        owner, refused = str(record["owner"]), list(record["refused"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return []
    return [(owner, each) for each in refused if isinstance(each, dict)]


def refused(site: Site) -> dict[str, Any]:
    books = site.remembered("refused", lambda: _books(site))
    groups = books.groups() if books else []
    providers = Counter[str]()
    for each in groups:
        providers.update(each.providers)
    return {
        "groups": groups,
        "providers": [name for name, _ in providers.most_common()],
        "number": sum(each.number for each in groups),
        "is_cut": books.is_cut if books else False,
    }


def _books(site: Site) -> Books | None:
    folder = getattr(site.sources.settings, "media", None)
    return None if folder is None else Books(folder / SEARCHES)

"""The files that came last, from the end of the books beside the media."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import orjson

from ..base.tail import last_whole_lines
from ..media.ledger_lines import FILES

MOST = 12
TAIL = 60_000  # bytes: some dozens of lines


class NewFile(NamedTuple):
    path: str
    owner: str
    kind: str
    title: str
    provider: str


def newest_files(folder: Path | None, most: int = MOST) -> list[NewFile]:
    """The last one first; none where there are no books."""
    if folder is None:
        return []
    try:
        lines = last_whole_lines(folder / FILES, TAIL)
    except OSError:
        return []
    found = (_read(line) for line in reversed(lines[-2 * most :]))
    return [each for each in found if each is not None][:most]


def _read(line: bytes) -> NewFile | None:
    try:
        record = orjson.loads(line)
        path, owner, kind = (str(record[key]) for key in ("path", "owner", "kind"))
        title, provider = str(record.get("title") or ""), str(record.get("provider") or "")
        return NewFile(path, owner, kind, title, provider)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None

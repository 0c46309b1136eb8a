"""The end of a file that may be long."""

from __future__ import annotations

import os
from pathlib import Path


def last_whole_lines(path: Path, most_bytes: int) -> list[bytes]:
    """Those in so many bytes, with their ends; not the one that reading only the end has cut."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - most_bytes))
        lines = file.read().splitlines(keepends=True)
    return lines[1:] if size > most_bytes else lines

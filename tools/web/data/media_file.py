"""From a recorded path to the file itself, and from a hash to its records: only what the graph
records is ever opened.

Promise: the place is a regular file inside the media folder, whatever the record, links or an
asker say; its type is the recorded one if it is one of our own list.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from ...base.sha256 import is_sha256
from ...graphs.reader import File, Reader
from ...sheets.album import TYPES
from .growing import SAME_BEGINNING, hash_key
from .sidecar import Sidecar

UNKNOWN_TYPE = "application/octet-stream"


class Found(NamedTuple):
    place: Path
    mime: str
    bytes: int
    file: File


def by_path(reader: Reader, folder: Path, path: str) -> Found | None:
    """A path as the graph records it, letter by letter."""
    file = reader.files_at([path]).get(path)
    return None if file is None else _found(folder, file)


def is_here(folder: Path | None, path: str) -> bool:
    """Not whether it may be shown: whoever sends it asks for more."""
    try:
        return folder is not None and (folder / path).is_file()
    except (OSError, ValueError):  # no path of a file at all
        return False


def records_of(reader: Reader, sidecar: Sidecar, sha256: str) -> list[File]:
    """Every record of these bytes: one file may show several concepts."""
    if not is_sha256(sha256):
        return []
    paths = "SELECT path FROM file WHERE hash = ? ORDER BY id LIMIT ?"
    rows = sidecar.rows(paths, hash_key(sha256), SAME_BEGINNING)
    files = reader.files_at([path for (path,) in rows])
    return [each for each in files.values() if each.media.sha256 == sha256]


def _found(folder: Path, file: File) -> Found | None:
    try:
        root = folder.resolve()
        place = (root / file.media.path).resolve()
        facts = place.lstat()
    except (OSError, ValueError, RuntimeError):  # the last one for links in a circle
        return None
    is_inside = place.is_relative_to(root) and stat.S_ISREG(facts.st_mode)
    if not is_inside or not os.access(place, os.R_OK):
        return None
    mime = file.media.mime if file.media.mime in TYPES.get(file.media.kind, ()) else UNKNOWN_TYPE
    return Found(place, mime, facts.st_size, file)

"""Whether the files of an index are those that were made: their sizes and hashes stand in its note.

Promise: a file that is missing, cut or changed is found when the index is opened. Sizes are
compared each time; hashes once after each boot, and whenever a file has been touched. What is only
found while it is read (`reading`) is damage, too.
Limit: bytes that a disk changes by itself are found at the next boot.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import zstandard
from xxhash import xxh3_64, xxh3_64_hexdigest

from ...errors import StateDamaged
from .keys import HASHES, KEYS
from .parts import NOTE

PROVEN = "proven"  # beside the note: what was as it should be, and since which boot

_DAMAGE = (zstandard.ZstdError, IndexError, TypeError, ValueError, struct.error)


def sealed(folder: Path, note: Mapping[str, Any]) -> dict[str, Any]:
    """The note of an index that is complete, with all that is to be proven."""
    names = [each.relative_to(folder) for each in sorted(folder.rglob("*")) if each.is_file()]
    files = {
        str(name): [(folder / name).stat().st_size, digest_of(folder / name)]
        for name in names
        if name != Path(NOTE) and not _is_joined(name)
    }
    whole = {**note, "files": files}
    return {**whole, "seal": _seal(whole)}


def note_of(folder: Path, own_format: int) -> dict[str, Any] | None:
    """The note of an index; None if another version of this program made it."""
    note = read(folder / NOTE)
    if "sha256" in note and note.get("format") != own_format:
        return None
    if note.get("seal") != _seal({key: note[key] for key in note if key != "seal"}):
        raise damaged(folder, f"{NOTE} is not as it was written")
    return note


def prove(folder: Path, note: Mapping[str, Any]) -> None:
    """Raises StateDamaged if a file is not as the note says."""
    facts = [_fact(folder, name, size) for name, (size, _) in note["files"].items()]
    now = xxh3_64_hexdigest(orjson.dumps([boot(), note["seal"], facts]))
    with suppress(OSError):
        if (folder / PROVEN).read_bytes() == now.encode():
            return
    for name, (_, digest) in note["files"].items():
        if digest_of(folder / name) != digest:
            raise damaged(folder, f"{name} has changed")
    with suppress(OSError):  # then it is proven each time; a torn one is like none
        (folder / PROVEN).write_bytes(now.encode())


def _fact(folder: Path, name: str, size: int) -> list[object]:
    """What differs as soon as somebody has touched it."""
    try:
        found = (folder / name).stat()
    except (FileNotFoundError, NotADirectoryError):
        raise damaged(folder, f"{name} is missing") from None
    if found.st_size != size:
        raise damaged(folder, f"{name} has {found.st_size:,} bytes instead of {size:,}")
    return [name, found.st_ino, found.st_mtime_ns, found.st_ctime_ns]


class reading:
    """While an index is read: what cannot be is damage. A generator would take three times as long,
    and a small page is quick."""

    __slots__ = ("_folder",)

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, _DAMAGE):
            raise damaged(self._folder, str(error)) from error


def damaged(folder: Path, reason: str) -> StateDamaged:
    return StateDamaged(
        f"the index {folder} is damaged ({reason}): delete that folder and start again: it is "
        f"built anew"
    )


def read(note: Path) -> dict[str, Any]:
    """What cannot be read says nothing."""
    try:
        found = orjson.loads(note.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def digest_of(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, xxh3_64).hexdigest()


def boot() -> str:
    """Which one this is; where nobody knows, only what was touched is proven again."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        return ""


def _is_joined(name: Path) -> bool:
    """Is it of a segment, and taken away when those of all are one?"""
    return name.name in (KEYS, HASHES) and len(name.parts) > 1


def _seal(note: Mapping[str, Any]) -> str:
    return xxh3_64_hexdigest(orjson.dumps(note, option=orjson.OPT_SORT_KEYS))

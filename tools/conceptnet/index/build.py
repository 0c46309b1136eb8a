"""Makes the index of an assertions file, beside it, and opens it the next time.

Promise: an index is used only for the file it was made of (by size and hash) and only if it holds
whatever the filter can keep. It appears whole; a build that was ended goes on at its last segment.
One that is damaged is named and left as it is. Two processes never build at the same time.

`FILE.sheaf-index/` holds a folder for each filter: `en-1f3a5c...`, or `whole`.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from ...base.locks import locked
from ...errors import AlreadyRunning, StopHarvest
from ..dump.faults import Faults
from ..dump.lines import Lines
from ..rules import Filter
from .index import Index
from .keys import HASHES, KEYS, join
from .parts import NOTE, Share, Show, make_all, reveal, write_note
from .proof import note_of, prove, read, reading, sealed
from .segment import rows_in

logger = logging.getLogger(__name__)

FORMAT = 3
FILTERED_STRETCH, WHOLE_STRETCH = 8_000_000, 1_000_000  # lines: where a build can go on
LARGE = 10_000_000  # bytes of a file that several processes read sooner than one
MOST_PROCESSES = 4
LOCK = "LOCK"

Made = tuple[Path, dict[str, Any]]
"""The folder of an index, and its note."""


def unseen(_done: int, _total: int) -> None: ...


def open_index(
    path: Path,
    wanted: Filter | None,
    most_malformed: int = 0,
    home: Path | None = None,
    show: Show = unseen,
) -> Index:
    """Of what a filter can keep, or of everything; built if there is none yet."""
    lines = Lines(path)
    home = home or path.with_name(f"{path.name}.sheaf-index")
    try:
        found = _usable(home, path, wanted)
        if found is None:
            with _only_builder(home):
                found = _usable(home, path, wanted)
                found = found or Builder(home, lines, wanted, most_malformed, show).build()
        return _opened(*found)
    except OSError as error:
        raise StopHarvest(
            f"the index {home} cannot be written ({error.strerror}): fix this, then start again; "
            f"dump.index names another place"
        ) from error


def _opened(folder: Path, note: dict[str, Any]) -> Index:
    prove(folder, note)
    with reading(folder):
        return Index(folder, _segments(folder, note), note["row_bits"])


def index_of(lines: Iterable[str]) -> Index:
    """Of a few lines; its files are gone when it is open."""
    with TemporaryDirectory(prefix="sheaf-") as folder:
        file = Path(folder, "lines.csv")
        with file.open("w", encoding="utf-8", newline="\n") as written:
            written.writelines(line.removesuffix("\n") + "\n" for line in lines)
        return open_index(file, None)


class Builder:
    """One build, or the rest of one."""

    def __init__(
        self, home: Path, lines: Lines, wanted: Filter | None, most_malformed: int, show: Show
    ) -> None:
        self._home, self._lines, self._wanted = home, lines, wanted
        self._most_malformed, self._show = most_malformed, show
        self._stretch = WHOLE_STRETCH if wanted is None else FILTERED_STRETCH
        self._note = {
            "format": FORMAT,
            "filter": _as_table(wanted),
            "stretch": self._stretch,
            **_identity(lines.path),
        }
        self._final = home / _name(self._note["filter"])
        self._part = self._final.with_name(f"{self._final.name}.part")

    def build(self) -> Made:
        self._prepare()
        path, part = self._lines.path, self._part
        share = Share(path, self._wanted, part, self._stretch, self._most_malformed)
        make_all(share, _processes(self._lines.size), self._show)
        found = self._report_malformed()
        folders = sorted(each.parent for each in self._part.glob("*/*/text"))
        row_bits = join(folders, _bases(folders), self._part)
        note = sealed(self._part, {**self._note, "malformed": found, "row_bits": row_bits})
        write_note(self._part / NOTE, note)
        reveal(self._part, self._final)
        for name in (KEYS, HASHES):  # they are joined
            for each in self._final.glob(f"*/*/{name}"):
                each.unlink()
        return self._final, note

    def _prepare(self) -> None:
        """Take away what was made of another file, by another version, or not to its end."""
        for folder in _indexes(self._home):
            if (note := note_of(folder, FORMAT)) is None:
                logger.warning(
                    "the index %s was made by another version of Sheaf: it is made anew", folder
                )
            if note is None or note["sha256"] != self._note["sha256"]:
                shutil.rmtree(folder)
        for part in _indexes(self._home, ".part"):
            if not self._can_go_on(part, read(part / NOTE)):
                shutil.rmtree(part)
        self._part.mkdir(exist_ok=True)
        for unfinished in self._part.glob("*.part"):
            shutil.rmtree(unfinished)
        write_note(self._part / NOTE, self._note)

    def _can_go_on(self, part: Path, note: dict[str, Any]) -> bool:
        """Of this file, made in this way; and if it is we who go on, cut in the same places."""
        keys = ("format", "sha256", *(("filter", "stretch") if part == self._part else ()))
        return all(note.get(key) == self._note[key] for key in keys)

    def _report_malformed(self) -> int:
        """How many lines were skipped, logged once all have been read."""
        faults, lines = Faults(self._lines.path, self._most_malformed), 0
        for note in map(read, sorted(self._part.glob(f"*/{NOTE}"))):
            faults.add(note["malformed"], note["told"])
            lines += note["lines"]
        faults.require_some(lines)
        if summary := faults.summary():
            logger.warning("%s", summary)
        return faults.number


def _processes(size: int) -> int:
    return 1 if size < LARGE else min(MOST_PROCESSES, os.cpu_count() or 1)


def _bases(segments: Sequence[Path]) -> list[int]:
    sizes = (rows_in(segment) for segment in segments)
    return list(accumulate(sizes, initial=0))


def _usable(home: Path, path: Path, wanted: Filter | None) -> Made | None:
    for folder in _indexes(home):
        made = note_of(folder, FORMAT)
        if made is not None and _covers(made["filter"], wanted) and _is_of(made, path):
            return folder, made
    return None


def _indexes(home: Path, suffix: str = "") -> list[Path]:
    """What looks like one of ours; whatever else lies here is not ours to read or take away."""
    name = re.compile(rf"(?:whole|.+-[0-9a-f]{{12}}){re.escape(suffix)}")
    return sorted(each for each in home.glob("*") if each.is_dir() and name.fullmatch(each.name))


def _is_of(made: dict[str, Any], path: Path) -> bool:
    """Is this the file the index was made of? Its time says so at once, its hash for certain."""
    now = path.stat()
    if made["size"] != now.st_size:
        return False
    return bool(now.st_mtime_ns == made["mtime_ns"]) or sha256_of(path) == made["sha256"]


def _identity(path: Path) -> dict[str, Any]:
    now = path.stat()
    return {"size": now.st_size, "mtime_ns": now.st_mtime_ns, "sha256": sha256_of(path)}


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _as_table(wanted: Filter | None) -> dict[str, Any] | None:
    if wanted is None:
        return None
    return {
        "languages": sorted(wanted.languages),
        "min_weight": wanted.min_weight,
        "relations": sorted(wanted.relations),
    }


def _covers(made_for: dict[str, Any] | None, wanted: Filter | None) -> bool:
    """
    >>> english = Filter.of(["en"], 1.0, ["IsA"], True)
    >>> _covers(None, english), _covers(_as_table(english), None)
    (True, False)
    """
    if made_for is None or wanted is None:
        return made_for is None
    return (
        set(made_for["languages"]) >= wanted.languages
        and set(made_for["relations"]) >= wanted.relations
        and made_for["min_weight"] <= wanted.min_weight
    )


def _name(table: dict[str, Any] | None) -> str:
    if table is None:
        return "whole"
    digest = hashlib.sha256(orjson.dumps(table)).hexdigest()[:12]
    return f"{'-'.join(table['languages'])[:40]}-{digest}"


def _segments(folder: Path, note: dict[str, Any]) -> list[Path]:
    """In the order of their lines."""
    return sorted((folder / name).parent for name in note["files"] if name.endswith("/text"))


@contextmanager
def _only_builder(home: Path) -> Iterator[None]:
    home.mkdir(exist_ok=True)
    with locked(home / LOCK, f"the index {home} (dump.index names another place)") as lock:
        if lock is None:
            raise AlreadyRunning(
                f"another process makes the index {home}: start again when it is done"
            )
        yield


def whole_index(path: Path, home: Path | None = None) -> Index | None:
    """Of everything in the file, if there is one already."""
    found = _usable(home or path.with_name(f"{path.name}.sheaf-index"), path, None)
    return None if found is None else _opened(*found)

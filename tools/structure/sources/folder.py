"""`folder:PATH` or `folder:PATH/**/*.html`: every file below a folder, or those of a pattern.

Promise: a file is named by its path as the job sees it, whatever bytes its name has. Nothing
outside of the folder is read, whatever links lead there. Limit: links to folders, and names that
begin with a dot, are left out.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

from ...base.text import plain
from ...errors import GiveUp, RetryLater, UsageError
from .source import Item, too_large

logger = logging.getLogger(__name__)

MAGIC = re.compile(r"[*?\[]")
NOT_TEXT = "//"  # no path begins so: the rest of it is escaped
YOUNG_S = 2.0  # within one tick of the disk's clock a file can change twice
PIECES = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
PIECE = re.compile(r"\*\*/|\*\*|\*|\?|\[[^\]/]+\]")


class FolderSource:
    is_whole = True

    def __init__(self, uri: str, said: str, folder: Path, max_bytes: int) -> None:
        """`said` is a path, seen from `folder`, perhaps with a pattern behind it."""
        self.uri = uri
        parts = said.split("/")
        fixed = next((at for at, each in enumerate(parts) if MAGIC.search(each)), len(parts))
        self._said = "/".join(parts[:fixed]).rstrip("/")
        pattern = "/".join(parts[fixed:]) or "**"
        self._wanted = _compiled(pattern, uri)
        self._depth = None if "**" in pattern else pattern.count("/")
        base = (folder / (self._said or ("/" if said.startswith("/") else "."))).resolve()
        self._base = os.fsencode(base).rstrip(b"/") + b"/"
        self._max_bytes = max_bytes
        self._told: set[bytes] = set()
        self._shown = plain(str(base))
        if not base.is_dir():
            raise UsageError(f"{plain(uri)}: there is no folder {self._shown}")

    def items(self, position: str) -> Iterator[tuple[Item, str]]:
        if not Path(os.fsdecode(self._base)).is_dir():
            raise GiveUp(f"the folder {self._shown} is not there any more")
        young = time.time_ns() - int(YOUNG_S * 1e9)
        for path, facts in self._files(b"", _bytes_of(position), 0):
            place = _text_of(path)
            version = f"{facts.st_mtime_ns} {facts.st_size}" if facts.st_mtime_ns < young else ""
            yield Item(self._name(place), version, place), place

    def _name(self, place: str) -> str:
        if place.startswith(NOT_TEXT):
            return f"{NOT_TEXT}{self._said}/{place[len(NOT_TEXT) :]}"
        return f"{self._said}/{place}" if self._said else place

    def _files(
        self, below: bytes, after: bytes, depth: int
    ) -> Iterator[tuple[bytes, os.stat_result]]:
        """By the bytes of their paths, so that a path is a position."""
        for key, entry in self._entries(below):
            path = below + key
            if key.endswith(b"/"):
                is_past = path < after[: len(path)]  # all of it was before
                if not is_past and (self._depth is None or depth < self._depth):
                    yield from self._files(path, after, depth + 1)
            elif path > after and self._wanted.fullmatch(path.decode("utf-8", "surrogateescape")):
                facts = self._facts(entry)
                if facts is not None:
                    yield path, facts

    def _entries(self, below: bytes) -> list[tuple[bytes, os.DirEntry[bytes]]]:
        try:
            with os.scandir(self._base + below) as found:
                kept = [each for each in found if not each.name.startswith(b".")]
        except OSError as error:
            if below not in self._told:
                self._told.add(below)
                name = plain(self._name(_text_of(below)))
                logger.warning("the folder %s is left out: %s", name, error.strerror)
            return []
        keyed = [
            (each.name + b"/" if each.is_dir(follow_symlinks=False) else each.name, each)
            for each in kept
        ]
        return sorted(keyed, key=lambda each: each[0])

    def _facts(self, entry: os.DirEntry[bytes]) -> os.stat_result | None:
        """None for what is no file, leads elsewhere or has just gone."""
        try:
            if entry.is_symlink() and not self._is_inside(entry.path):
                return None
            facts = entry.stat()
        except OSError:
            return None
        return facts if stat.S_ISREG(facts.st_mode) else None

    def _is_inside(self, path: bytes) -> bool:
        return os.path.realpath(path).startswith(self._base)

    def read(self, place: str) -> bytes:
        path, name = self._base + _bytes_of(place), plain(place)
        if not self._is_inside(path):
            raise GiveUp(f"{name} leads out of its folder")
        try:
            # A pipe that has this name meanwhile would let us wait for ever.
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                before = os.fstat(file.fileno())
                if not stat.S_ISREG(before.st_mode):
                    raise GiveUp(f"{name} is no file")
                content = file.read(self._max_bytes + 1)
                after = os.fstat(file.fileno())
        except OSError as error:
            raise GiveUp(f"{name} cannot be read: {error.strerror}") from error
        if len(content) > self._max_bytes:
            raise too_large(name, self._max_bytes)
        if _state(before) != _state(after) or len(content) != after.st_size:
            raise RetryLater(f"{name} is just being written")
        return content

    def close(self) -> None:
        pass


def _state(facts: os.stat_result) -> tuple[int, int]:
    return facts.st_mtime_ns, facts.st_size


def _text_of(path: bytes) -> str:
    try:
        return path.decode()
    except UnicodeDecodeError:
        return NOT_TEXT + quote_from_bytes(path)


def _bytes_of(place: str) -> bytes:
    if place.startswith(NOT_TEXT):
        return unquote_to_bytes(place[len(NOT_TEXT) :])
    return place.encode()


def _compiled(pattern: str, uri: str) -> re.Pattern[str]:
    try:
        return re.compile(_expression(pattern), re.DOTALL)
    except re.error as error:
        raise UsageError(f"{plain(uri)}: no pattern of names: {error.msg}") from None


def _expression(pattern: str) -> str:
    """
    >>> re.fullmatch(_expression("**/*.html"), "a/b.html") is not None
    True
    """
    said, last = "", 0
    for piece in PIECE.finditer(pattern):
        said += re.escape(pattern[last : piece.start()])
        said += PIECES.get(piece[0]) or piece[0].replace("\\", r"\\").replace("[!", "[^")
        last = piece.end()
    return said + re.escape(pattern[last:])

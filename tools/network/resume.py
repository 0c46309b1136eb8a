"""A file that is still arriving: PATH.part, and PATH.part.from, which says what it is a part of.

Promise: what has arrived stays, whatever ends the process, and only one process writes it. What a
server sends is put behind it only if that is the next byte of the same version; else it is begun
anew.
Limits: versions are told apart by ETag, Last-Modified and length, as far as a server tells them.
After a power cut the end may be damaged: whoever uses the file proves it with its hash.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import disk_usage
from types import TracebackType
from typing import NamedTuple, Self

import orjson

from ..base.files import publish, write_whole
from ..base.locks import has_name, is_locked_now
from ..errors import AlreadyRunning, GiveUp, ServerTrouble, StopHarvest

FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
RANGE = re.compile(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18}|\*)")

Show = Callable[[int, int], None]
"""Told how many bytes are there, and of how many; 0 if nobody knows."""


class Version(NamedTuple):
    """What the bytes so far are from."""

    address: str  # its hash: what it may hold is nobody's business
    validator: str = ""  # a strong ETag, else a date; empty if the server tells neither
    total: int | None = None

    def may_be(self, other: Version) -> bool:
        """Does nothing speak against it that they are the same?"""
        return all(
            mine == its or not mine or not its for mine, its in zip(self, other, strict=True)
        )


class Part:
    """Takes the body of an answer, or of as many as it takes. `size` is what it must end with."""

    def __init__(self, path: Path, url: str, size: int | None, show: Show) -> None:
        self.path = path.with_name(f"{path.name}.part")
        self.size = 0
        self._target, self._note = path, path.with_name(f"{path.name}.part.from")
        self._expected, self._show = size, show
        self._nothing = self._version = Version(hashlib.sha256(url.encode()).hexdigest())
        self._most = 0
        self._fd = -1

    def __enter__(self) -> Self:
        try:
            self._fd = os.open(self.path, FLAGS, 0o600)
        except OSError as error:
            raise StopHarvest(f"{self.path} cannot be written: {error.strerror}") from error
        try:
            self._lock()
        except BaseException:
            os.close(self._fd)
            raise
        try:
            self._recall()
            self._require_room()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave()

    @property
    def total(self) -> int | None:
        return self._version.total if self._expected is None else self._expected

    @property
    def is_whole(self) -> bool:
        return self.size == self.total

    @property
    def wish(self) -> dict[str, str]:
        """The headers that ask for what is missing."""
        if not self.size:
            return {}
        validator = self._version.validator
        return {"Range": f"bytes={self.size}-"} | ({"If-Range": validator} if validator else {})

    def begin(self, headers: Mapping[str, str]) -> None:
        offset, total = place_of(headers)
        version = self._nothing._replace(validator=validator_of(headers), total=total)
        if None not in (total, self._expected) and total != self._expected:
            raise GiveUp(f"it is another file there, of {total:,} bytes")
        if offset and (offset != self.size or not version.may_be(self._version)):
            self.start_over()
            raise ServerTrouble("it has changed meanwhile")
        if not offset:
            self.start_over()
            self._remember(version)
        self._most = self.size + self._require_room()

    def write(self, chunk: bytes) -> None:
        if self.size + len(chunk) > self._most:
            self.start_over()
            raise GiveUp(f"more than the {self._most:,} bytes that should come")
        while chunk:
            count = os.pwrite(self._fd, chunk, self.size)
            self.size += count
            chunk = chunk[count:]
        self._show(self.size, self.total or 0)

    def start_over(self) -> None:
        os.ftruncate(self._fd, 0)
        self.size, self._version = 0, self._nothing

    def publish(self) -> None:
        """Whole and proven: on the disk, then under its name."""
        try:
            publish(self.path, self._target, durable=True)
        except OSError as error:
            raise StopHarvest(f"{self._target} cannot be written: {error.strerror}") from error
        self._note.unlink(missing_ok=True)

    def set_aside(self) -> Path:
        """It is not what it should be; where it lies now."""
        aside = self._target.with_name(f"{self._target.name}.wrong")
        self.path.replace(aside)
        self._note.unlink(missing_ok=True)
        return aside

    def _leave(self) -> None:
        if not os.fstat(self._fd).st_size:  # nothing worth keeping
            self.path.unlink(missing_ok=True)
            self._note.unlink(missing_ok=True)
        os.close(self._fd)

    def _lock(self) -> None:
        is_ours = is_locked_now(self._fd, str(self._target)) and has_name(self._fd, self.path)
        if not is_ours:  # another process holds it, or has just finished it
            raise AlreadyRunning(f"another process downloads {self._target}")

    def _recall(self) -> None:
        """What an earlier process left is of use only if it came from the same address."""
        try:
            version = Version(*orjson.loads(self._note.read_bytes()))
        except (OSError, ValueError, TypeError):
            version = Version("")
        if version.address == self._nothing.address:
            self.size, self._version = os.fstat(self._fd).st_size, version
        if self.total is not None and self.size > self.total:
            self.start_over()

    def _remember(self, version: Version) -> None:
        write_whole(self._note, orjson.dumps([*version]), durable=False)
        self._version = version

    def _require_room(self) -> int:
        """How many bytes may come: those that are missing, or all there is room for."""
        free = disk_usage(self._target.parent).free
        missing = free if self.total is None else self.total - self.size
        if missing > free:
            raise StopHarvest(
                f"{self._target.parent} has room for {free:,} bytes, but {missing:,} are missing: "
                "make room, or name a path on another disk"
            )
        return missing


def place_of(headers: Mapping[str, str]) -> tuple[int, int | None]:
    """Where the body of an answer begins in the file, and how long the file is.

    >>> place_of({"Content-Range": "bytes 7-9/10"}), place_of({"Content-Length": "10"})
    ((7, 10), (0, 10))
    >>> place_of({"Content-Range": "bytes 7-9/*"}), place_of({"Content-Length": "many"})
    ((7, None), (0, None))
    """
    if found := RANGE.fullmatch(headers.get("Content-Range", "").strip()):
        return int(found[1]), None if found[2] == "*" else int(found[2])
    length = headers.get("Content-Length", "")
    return 0, int(length) if re.fullmatch(r"[0-9]{1,18}", length) else None


def validator_of(headers: Mapping[str, str]) -> str:
    """What If-Range may name: a weak ETag it may not.

    >>> validator_of({"ETag": '"a"'}), validator_of({"ETag": 'W/"a"', "Last-Modified": "today"})
    ('"a"', 'today')
    """
    etag = headers.get("ETag", "")
    return etag if etag.startswith('"') else headers.get("Last-Modified", "")

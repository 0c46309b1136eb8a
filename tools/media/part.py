"""A media file while it arrives.

Promise: it has its name only when all of it is there and on the disk; a failure leaves nothing
behind. What its host forbids, what is text and what is too long is refused before it is stored.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self

from ..base.files import write_all
from ..base.place import gone
from ..errors import (
    NO_FILES,
    NO_ROOM,
    GiveUp,
    HarvestError,
    NoRoom,
    StopHarvest,
    no_more_files,
)
from ..network.robots import forbidden_by
from .formats import HEAD, Format, name_of, sniff
from .offer import Candidate

TEXTS = ("text/", "application/json", "application/xml", "application/xhtml+xml")
MOST_TRIES = 20  # to make a file in a folder that others remove


class Rules(NamedTuple):
    """What an answer must keep to before its bytes are looked at."""

    noun: str
    max_bytes: int
    refuse: Collection[str]


class Part:
    """A file while it arrives: counted, hashed, and gone unless it is published."""

    def __init__(self, root: Path, name: str, rules: Rules, announced: Candidate) -> None:
        self._root = str(root)
        self._name = name
        self._path = f"{root}/{name}.part"
        self._rules = rules
        self._announced = announced
        self._file: BinaryIO | None = None
        self._is_published = False
        self.headers: Mapping[str, str] = {}
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()
            if not self._is_published:
                with suppress(FileNotFoundError):  # with the whole folder
                    os.unlink(self._path)

    def _start_over(self) -> None:
        self.size = 0
        self._sha256 = hashlib.sha256()
        wanted = {"sha1": self._announced.sha1, "md5": self._announced.md5}
        self._others = [
            (hashlib.new(name, usedforsecurity=False), value.lower())
            for name, value in wanted.items()
            if value
        ]

    def begin(self, headers: Mapping[str, str]) -> None:
        check_headers(headers, self._rules)
        self.headers = headers
        self._start_over()
        try:
            if self._file is None:
                self._file = _created(self._root, f"{self._name}.part")
            else:
                os.lseek(self._file.fileno(), 0, os.SEEK_SET)
                os.ftruncate(self._file.fileno(), 0)
        except OSError as error:
            raise self._not_writable(error) from error

    def write(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self.size > self._rules.max_bytes:
            raise GiveUp(f"too many bytes (more than {self._rules.max_bytes})")
        self._sha256.update(chunk)
        for sum_so_far, _ in self._others:
            sum_so_far.update(chunk)
        try:
            write_all(self.file.fileno(), chunk)
        except OSError as error:
            raise self._not_writable(error) from error

    @property
    def file(self) -> BinaryIO:
        if self._file is None:
            raise GiveUp("an empty file")
        return self._file

    @property
    def sha256(self) -> str:
        return self._sha256.hexdigest()

    def check_announced(self) -> None:
        """Size and hashes, as far as its provider knows them."""
        if not self.size:
            raise GiveUp("an empty file")
        size = self._announced.bytes
        if size is not None and self.size != size:
            raise GiveUp(f"another size than announced ({self.size} for {size} bytes)")
        for sum_of_all, announced in self._others:
            if sum_of_all.hexdigest() != announced:
                raise GiveUp(f"another file than announced ({sum_of_all.name})")

    def format_among(self, formats: Collection[Format]) -> Format:
        head = os.pread(self.file.fileno(), HEAD, 0)
        form = sniff(head)
        if form not in formats or form is None:
            raise GiveUp(f"not {self._rules.noun}: {name_of(head)}")
        return form

    def publish(self, extension: str) -> str:
        """On the disk, then under its name; the path of it below the root."""
        name = f"{self._name}.{extension}"
        try:
            os.fsync(self.file.fileno())
            os.replace(self._path, f"{self._root}/{name}")
        except OSError as error:
            raise self._not_writable(error) from error
        self._is_published = True
        return name

    def _not_writable(self, error: OSError) -> HarvestError:
        if error.errno == errno.ENAMETOOLONG:
            return GiveUp("its folder would have too long a name")
        if error.errno == errno.ENOENT:
            return gone(Path(self._root))
        if error.errno in NO_ROOM:
            return NoRoom(f"the media folder {self._root} has no room left")
        if error.errno in NO_FILES:
            return no_more_files(error)
        return StopHarvest(
            f"the media folder {self._root} cannot be written ({error.strerror}):"
            " fix this, then start again"
        )


def _created(root: str, name: str) -> BinaryIO:
    """A new file, to write and to read. What has its name already was left by a crash or leads
    elsewhere: it goes. A folder may be gone as soon as it is made: empty ones are cleared away when
    media are shipped."""
    path = f"{root}/{name}"
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    for _ in range(MOST_TRIES):
        try:
            return os.fdopen(os.open(path, flags, 0o600), "rb")
        except FileNotFoundError:
            with suppress(FileNotFoundError):
                _make_folders(root, os.path.dirname(name))
        except FileExistsError:
            os.unlink(path)
    return os.fdopen(os.open(path, flags, 0o600), "rb")


def _make_folders(root: str, below: str) -> None:
    """Not the root itself: if that is gone, what is kept of it lies elsewhere."""
    for folder in accumulate(below.split("/"), "{}/{}".format):
        with suppress(FileExistsError):
            os.mkdir(f"{root}/{folder}")


def check_headers(headers: Mapping[str, str], rules: Rules) -> None:
    """Refuses what its host forbids to use, what is text, and what is announced as too long."""
    if forbidden := forbidden_by(headers, rules.refuse):
        raise GiveUp(f"its host forbids use ({forbidden})")
    mime = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if mime.startswith(TEXTS):
        raise GiveUp(f"not {rules.noun}: {mime[:40]}")
    length = headers.get("Content-Length", "").strip()
    if length.isdecimal() and int(length[:20]) > rules.max_bytes:
        raise GiveUp(f"too many bytes (more than {rules.max_bytes})")

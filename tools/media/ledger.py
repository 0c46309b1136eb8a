"""The books beside the media, so that a folder of media carries its own credits wherever it goes.

`MEDIA.jsonl` has a line for each file, `ATTRIBUTION.csv` the credit of each in a table, and
`SEARCHES.jsonl` a line for each concept or relation: who was asked, what was refused and why, and
that nothing was found if nothing was.

Promise: what stands in the books is in the graph. Lines are added after the graph's commit and
before the task moves on; what a crash left between the two is taken out by `keep_finished`, which
reads only the end of the books, however long they are.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import orjson

from ..add import Attachment
from ..base.files import whole_file, write_all, write_whole
from ..base.place import Place
from ..base.tail import last_whole_lines
from ..errors import NO_FILES, NO_ROOM, NoRoom, RetryLater, StopHarvest, no_more_files
from .credits import COLUMNS, Credit
from .ledger_lines import (
    BOOKS,
    CREDITS,
    FILES,
    OWNER_IN,
    SEARCHES,
    csv_lines,
    json_line,
    owner_in_json,
)

MARK = "HARVEST"  # says whose folder it is
FLUSH_EVERY_S = 1.0
TAIL = 2**25  # bytes: far more than one batch of finished tasks writes


def node_harvest(harvest: str, node: str) -> str:
    """The id under which a node of a cluster keeps and ships its part of a harvest: its batches are
    counted for themselves. The same for the same two, however often it is asked for.

    >>> node_harvest("3f2a9c10" + "0" * 24, "oak")
    '4615511be32553f385ca121b0f2b3ef9'
    """
    return uuid.uuid5(uuid.UUID(harvest), node).hex


class Ledger:
    """Its files stay open between additions until it is closed, and are flushed every second."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, int] = {}
        self._flushed = 0.0
        self._failure: OSError | None = None  # the first one
        self._place: Place | None = None  # where it must stay, from when it was claimed
        self.bytes = 0  # of the files in the books, as far as they were weighed

    def __bool__(self) -> bool:
        """Is this the folder of a harvest?"""
        return any((self._folder / name).exists() for name in (MARK, SEARCHES))

    @property
    def harvest(self) -> str | None:
        """Whose folder it is."""
        mark = self._folder / MARK
        return mark.read_text(encoding="utf-8", errors="replace").strip() if mark.exists() else None

    def claim(self, harvest: str) -> bool:
        """Make this the folder of a harvest; False if it is another's. It may be moved."""
        mark = self._folder / MARK
        if self and self.harvest != harvest:
            return False
        try:
            if not self:
                self._folder.mkdir(parents=True, exist_ok=True)
                write_whole(mark, harvest.encode(), durable=True)
        except OSError as error:
            raise self._unwritable(error) from error
        self._place = Place(self._folder, mark, name=self._folder)
        return True

    def check_place(self) -> None:
        """Raises StateDamaged if this is not the folder any more that was claimed."""
        if self._place is not None:
            self._place()

    def require(self, attachments: Sequence[Attachment]) -> None:
        """Their files are in the folder that was claimed. One that was made in its place meanwhile
        may hold some of them."""
        self.check_place()
        folder = str(self._folder)
        for file in (file for each in attachments for file in each.media):
            try:
                size = os.stat(f"{folder}/{file.path}").st_size  # noqa: PTH116
            except OSError:
                size = None
            if size != file.bytes:
                raise RetryLater(f"its file {file.path} is not there any more")

    def add(self, attachments: Sequence[Attachment]) -> None:
        files = [Credit(each.owner, file) for each in attachments for file in each.media]
        lines = [json_line({"owner": each.owner, **each.media._asdict()}) for each in files]
        self._check()
        sizes = {name: self._size(name) for name in (SEARCHES, FILES, CREDITS)}
        with self._all_or_nothing(sizes):
            self._append(SEARCHES, b"".join(json_line(each.search) for each in attachments))
            self._append(FILES, b"".join(lines))
            self._append(CREDITS, csv_lines(files, header=bool(files) and not sizes[CREDITS]))
            self._flush()
        self.check_place()  # else they may have been opened anew in another folder
        self.bytes += sum(each.media.bytes for each in files)

    def measure(self) -> None:
        """Count the bytes of what earlier runs wrote down."""
        path = self._folder / FILES
        if path.exists():
            with path.open("rb") as lines:
                whole = (line for line in lines if owner_in_json(line))
                self.bytes = sum(orjson.loads(line)["bytes"] for line in whole)

    def hand_over(self, folder: Path) -> None:
        """The books as they are, into that folder; the next line begins new ones."""
        self._check()
        try:
            self._sync()
            self.close()
            for name in BOOKS:
                _bring(self._folder / name, folder / name)
        except OSError as error:
            raise self._unwritable(error) from error
        self.bytes = 0

    def close(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1])

    def keep_finished(self, is_finished: Callable[[str], bool]) -> None:
        """Only finished owners stay: what the others get is written down when they have it."""
        self.close()
        for name, owner_in in OWNER_IN.items():
            lines = self._tail(name)
            owners = [owner_in(line) for line in lines]
            known = {owner for owner in owners if owner and is_finished(owner)} | {COLUMNS[1]}
            kept = [line for line, owner in zip(lines, owners, strict=True) if owner in known]
            if len(kept) < len(lines):
                self._replace_tail(name, lines, kept)

    def latest(self, count: int) -> list[str]:
        """Concepts that got media last, the last one first."""
        owners = (owner_in_json(line) for line in reversed(self._tail(FILES)))
        concepts = dict.fromkeys(each for each in owners if each and not each.startswith("/a/"))
        return list(concepts)[:count]

    def _tail(self, name: str) -> list[bytes]:
        path = self._folder / name
        return last_whole_lines(path, TAIL) if path.exists() else []

    def _replace_tail(self, name: str, lines: Sequence[bytes], kept: Sequence[bytes]) -> None:
        path = self._folder / name
        try:
            with whole_file(path, durable=True) as part:
                shutil.copyfile(path, part)
                with part.open("r+b") as file:
                    file.truncate(part.stat().st_size - sum(map(len, lines)))
                    file.seek(0, os.SEEK_END)
                    file.writelines(kept)
        except OSError as error:
            raise self._unwritable(error) from error

    def _append(self, name: str, text: bytes) -> None:
        """In one write, so that a kill leaves it whole or not at all."""
        if not text:
            return
        if name not in self._open:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._open[name] = os.open(self._folder / name, flags, 0o600)
        write_all(self._open[name], text)

    @contextmanager
    def _all_or_nothing(self, sizes: Mapping[str, int]) -> Iterator[None]:
        """Whatever goes wrong, the books are as before. Where there was only no room, it comes
        again."""
        try:
            yield
        except OSError as error:
            self._cut_back(sizes)
            if self._failure is None and error.errno in NO_FILES:
                raise no_more_files(error) from error
            if self._failure is None and error.errno in NO_ROOM:
                raise NoRoom(f"{self._folder} has no room left") from error
            self._failure = self._failure or error
            raise self._unwritable(self._failure) from error

    def _cut_back(self, sizes: Mapping[str, int]) -> None:
        try:
            for name, file in self._open.items():
                os.ftruncate(file, sizes[name])
        except OSError as error:
            self._failure = self._failure or error

    def _check(self) -> None:
        """What a disk refused once it may forget, and a second try would seem to succeed."""
        if self._failure is not None:
            raise self._unwritable(self._failure)
        self.check_place()

    def _size(self, name: str) -> int:
        if name in self._open:
            return os.fstat(self._open[name]).st_size
        path = self._folder / name
        return path.stat().st_size if path.exists() else 0

    def _flush(self) -> None:
        """A power cut costs the last second here too, as it does in graph and pools."""
        if time.monotonic() - self._flushed > FLUSH_EVERY_S:
            self._sync()
            self._flushed = time.monotonic()

    def _sync(self) -> None:
        try:
            for file in self._open.values():
                os.fdatasync(file)
        except OSError as error:
            self._failure = error
            raise

    def _unwritable(self, error: OSError) -> StopHarvest:
        return StopHarvest(
            f"{self._folder} cannot be written ({error.strerror}): fix this, then start again"
        )


def _bring(book: Path, to: Path) -> None:
    """Behind what is there, which happens only if a harvest went on over an unfinished handover.
    Lines that stand there twice then do no harm."""
    if not to.exists() and book.exists():
        book.replace(to)
    elif book.exists():
        size = to.stat().st_size
        try:
            with to.open("ab") as file, book.open("rb") as more:
                shutil.copyfileobj(more, file)
                file.flush()
                os.fsync(file.fileno())
        except OSError:  # torn, its last line would spoil the next
            os.truncate(to, size)
            raise
        book.unlink()

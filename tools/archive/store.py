"""The folder of WARC files: one writer, a file for each domain that grows until it is full.

Promise: after any kill each file ends with the last record that the table knows. Records are
appended before the table's commit, and what a crash left behind it is cut off at the next start. A
file that is shorter than the table says is told, so that its pages can be asked for again.

Limit: one writer; whoever packs records does so elsewhere (see `record`).
"""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from ..base import files, place
from ..base.text import amount
from ..errors import (
    NO_FILES,
    HarvestError,
    StateDamaged,
    StopHarvest,
    no_more_files,
)
from .flusher import Flusher
from .names import ENDING, file_name, folder_of, label, number_of
from .origin import Origin
from .record import Packed, Place
from .recovery import Recovery, cut_back, our_files
from .warc_file import Closed, Growing

MARK = "HARVEST"  # says whose folder it is
MAX_FILE_BYTES, MOST_OPEN = 10**9, 64


class Archive:
    """`claim` it, `cut_back`, then append."""

    def __init__(
        self,
        folder: Path,
        origin: Origin,
        *,
        max_file_bytes: int = MAX_FILE_BYTES,
        most_open: int = MOST_OPEN,
    ) -> None:
        self._folder = folder
        self._origin = origin
        self._max_file_bytes = max_file_bytes
        self._most_open = most_open
        self._open: OrderedDict[str, Growing] = OrderedDict()  # by label, the latest last
        self._flusher = Flusher()
        self._not_to_grow: set[str] = set()  # full, or strange
        self._failure: OSError | None = None  # the first one
        self._place: place.Place | None = None
        self._numbers: dict[str, int] = {}  # the last one of each domain, as far as it is known
        self.full: list[str] = []  # since the start, for `close_file`

    # --- whose it is -----------------------------------------------------------------------

    def __bool__(self) -> bool:
        """Is this the archive of a harvest?"""
        return (self._folder / MARK).exists() or any(our_files(self._folder))

    def claim(self, *, known: int) -> None:
        """Make this the archive of our harvest, in which the table knows so many files. One that
        is another's or was lost is never made anew."""
        mark = self._folder / MARK
        if self and self._owner() != self._origin.harvest:
            raise StateDamaged(
                f"{self._folder} holds the archive of a harvest that this state knows nothing of: "
                "give its --state, or another --archive, or --fresh to set it aside"
            )
        if known and not self:
            raise StateDamaged(
                f"{self._folder} is gone or empty, though {amount(known, 'file')} of the crawl "
                "should be there: bring it back, or give its --archive, or begin anew with --fresh"
            )
        with self._told():
            if not self:
                self._folder.mkdir(parents=True, exist_ok=True)
                files.write_whole(mark, self._origin.harvest.encode(), durable=True)
        self._place = place.Place(self._folder, mark, name=self._folder)

    def _owner(self) -> str | None:
        try:
            return (self._folder / MARK).read_text("utf-8", "replace").strip()
        except FileNotFoundError:
            return None

    # --- the start -------------------------------------------------------------------------

    def cut_back(
        self,
        ends: Mapping[str, int],
        closed: Collection[str] = (),
        shipped: Collection[str] = (),
    ) -> Recovery:
        """Each file to where its last record in the table ends; see `recovery`. Those in `closed`
        are not appended to, and of those in `shipped` none is needed here."""
        self.close()
        with self._told():
            found = cut_back(self._folder, self._origin, ends, frozenset(shipped))
        self._not_to_grow = {*closed, *found.strange}
        self._note_numbers(ends)
        self.full = [name for name, end in ends.items() if self._is_full(name, end, closed)]
        return found

    def _is_full(self, name: str, size: int, closed: Collection[str]) -> bool:
        """A kill came before it was closed."""
        is_long = size >= self._max_file_bytes and name not in closed
        return is_long and (self._folder / name).exists()

    def _note_numbers(self, names: Iterable[str]) -> None:
        """Of files that may have been shipped and erased: no other gets their name."""
        for name in names:
            if (number := number_of(name)) is not None:
                of = PurePosixPath(name).parent.name
                self._numbers[of] = max(number, self._numbers.get(of, -1))

    # --- while it grows --------------------------------------------------------------------

    def append(self, domain: str, packed: Packed) -> list[Place]:
        """Where each of its records is now. All of them, or an error and none."""
        self._require_writable()
        folder = label(domain)
        with self._told():
            growing = self._open.get(folder) or self._opened(folder)
            try:
                files.write_all(growing.fd, packed.content)
            except OSError:
                self._take_back(growing)
                raise
        places = [
            Place(growing.name, growing.size + part.offset, part.length) for part in packed.parts
        ]
        growing.size += len(packed.content)
        self._open.move_to_end(folder)
        self._flusher.add(growing.path)
        if growing.size >= self._max_file_bytes:
            self._retire(folder)
        return places

    def take_back(self, places: Iterable[Place]) -> None:
        """What was appended last, if the table would not have it."""
        starts: dict[str, int] = {}
        for file, offset, _ in places:
            starts[file] = min(offset, starts.get(file, offset))
        self.close()
        with self._told():
            for file, start in starts.items():
                os.truncate(self._folder / file, start)
        self.full = [file for file in self.full if file not in starts]
        self._not_to_grow -= starts.keys()

    def sync(self, *, durable: bool) -> None:
        """Before the table's commit. Durable: all that was appended is on the disk when this
        returns. Else it is at least every second, and after a power cut `cut_back` tells what was
        lost; a kill loses nothing either way."""
        self._require_writable()
        self._require_place()  # else the table would name records that are elsewhere
        if durable:
            self._flusher.finish()
        else:
            self._flusher.begin()
        self._require_writable()

    def close_file(self, name: str) -> Closed:
        """A full one, for the table: it may be shipped from then on."""
        with self._told(), (self._folder / name).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
        self._flusher.finish(self._folder / name)
        self._require_writable()
        if name in self.full:
            self.full.remove(name)
        return Closed(name, size, digest)

    def retire(self, names: Collection[str]) -> None:
        """These count as full from now on, whatever their size."""
        self.close()
        self._not_to_grow.update(names)
        self.full += [name for name in names if name not in self.full]

    def close(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1].fd)

    def _opened(self, domain: str) -> Growing:
        self._require_place()
        while len(self._open) >= self._most_open:
            os.close(self._open.popitem(last=False)[1].fd)
        name = self._latest(domain) or self._begun(domain)
        flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self._folder / name, flags)
        self._open[domain] = Growing(name, self._folder / name, fd, os.fstat(fd).st_size)
        return self._open[domain]

    def _latest(self, domain: str) -> str | None:
        """The one with room, if there is one."""
        numbered = self._numbered(domain)
        if not numbered:
            return None
        name = numbered[max(numbered)]
        if name in self._not_to_grow:  # it may be shipped and erased at this very moment
            return None
        has_room = (self._folder / name).stat().st_size < self._max_file_bytes
        return name if has_room else None

    def _begun(self, domain: str) -> str:
        """A new file, which has its first record from the first moment on."""
        now = datetime.now(UTC)
        number = 1 + max(self._numbers.get(domain, -1), *self._numbered(domain), -1)
        name = file_name(domain, now, number)
        self._note_numbers([name])
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_whole(path, self._origin.record(path.name, now), durable=False)
        self._flusher.add(path, path.parent, path.parent.parent, self._folder)
        return name

    def _numbered(self, domain: str) -> dict[int, str]:
        folder = self._folder / folder_of(domain)
        names = [f"{folder_of(domain)}/{path.name}" for path in folder.glob(f"*{ENDING}")]
        return {number: name for name in names if (number := number_of(name)) is not None}

    def _retire(self, domain: str) -> None:
        growing = self._open.pop(domain)
        os.close(growing.fd)
        self._not_to_grow.add(growing.name)
        self.full.append(growing.name)

    # --- trouble ---------------------------------------------------------------------------

    def _take_back(self, growing: Growing) -> None:
        """What was written of it. If that fails, too, nothing more is appended: the file would hold
        half a record in its middle."""
        try:
            os.ftruncate(growing.fd, growing.size)
        except OSError as error:
            self._failure = error

    def check(self) -> None:
        """Is it still the one we began with, and has it taken all so far?"""
        self._require_writable()
        self._require_place()

    def _require_writable(self) -> None:
        self._failure = self._failure or self._flusher.failure
        if self._failure is not None:
            raise self._unwritable(self._failure)

    def _require_place(self) -> None:
        if self._place is not None:
            self._place()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Files that are open elsewhere are closed some time; whatever else it is, a full disk too,
        somebody must see to it."""
        try:
            yield
        except OSError as error:
            raise self._trouble(error) from error

    def _trouble(self, error: OSError) -> HarvestError:
        if self._failure is None and error.errno in NO_FILES:
            return no_more_files(error)
        self._failure = self._failure or error
        return self._unwritable(self._failure)

    def _unwritable(self, error: OSError) -> StopHarvest:
        return StopHarvest(
            f"{self._folder} cannot be written ({error.strerror}): fix this, then start again"
        )

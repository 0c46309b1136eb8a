"""The full files of an archive, on their way to the receiving node.

Each goes with its part of the index, a file that is made for that and erased when it has arrived.

Promise: only files that nobody writes any more are in a batch. One is marked as shipped in the
table after the node has proven it, and erased here, if that is wanted, after the mark: so a file
that is gone and marked is no damage, and one that is neither can be sent again.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable
from pathlib import Path

from ..archive.names import piece_name
from ..pages.archived import write_piece
from ..pages.page import ArchiveFile, moment
from ..pages.table import PageTable
from .batch import ARCHIVE, Batch
from .outbox import Outbox
from .volume import Member

logger = logging.getLogger(__name__)


class ArchiveStock:
    """`closed_now` are the bytes of files that this run has closed so far."""

    def __init__(
        self,
        outbox: Outbox,
        table: PageTable,
        folder: Path,
        harvest: str,
        erases: bool,
        closed_now: Callable[[], int] = lambda: 0,
    ) -> None:
        self.outbox = outbox
        self.frees_room = erases
        self._table = table
        self._folder = folder
        self._harvest = harvest
        self._closed_now = closed_now
        self._bytes, self._counted = 0, 0
        self._left: set[str] = set()  # damaged, and told

    @property
    def bytes(self) -> int:
        return self._bytes + self._closed_now() - self._counted

    def complete(self) -> None:
        self.outbox.tidy()
        for file in self._table.files():
            if file.shipped_at:
                self._erase(file.name)
                self._erase_piece(file.name)
        self._count(self.waiting_bytes())

    def close(self) -> None:
        wanted = [each for each in self._waiting() if self._is_whole(each)]
        members = [member for each in wanted for member in (each, self._piece(each))]
        self.outbox.add(self._harvest, ARCHIVE, members)
        self._count(0)

    def arrived(self, batch: Batch) -> None:
        now, known = moment(time.time()), {each.name: each for each in self._table.files()}
        members = [member for volume in batch.volumes for member in volume.members]
        marked = [
            ArchiveFile(name=each.path, bytes=each.bytes, shipped_at=now)
            for each in members
            if each.path in known and known[each.path].sha256 == each.sha256
        ]
        self._table.write(marked)
        for file in marked:
            self._erase(file.name)
            self._erase_piece(file.name)
        self._left.update(each["path"] for each in batch.lost)

    def waiting_bytes(self) -> int:
        """Of what would become a batch now."""
        return sum(each.bytes for each in self._waiting())

    def _waiting(self) -> list[Member]:
        """Full, and neither shipped nor in a batch."""
        batches = [self.outbox.summary_of(name)[1] for name in self.outbox.names()]
        volumes = [volume for batch in batches if batch is not None for volume in batch.volumes]
        taken = {member.path for volume in volumes for member in volume.members}
        return [
            Member(each.name, each.bytes, each.sha256)
            for each in self._table.files()
            if each.closed_at and each.sha256 and not each.shipped_at and each.name not in taken
        ]

    def _is_whole(self, file: Member) -> bool:
        """As far as a look can tell; its hash is compared while it is sent."""
        path = self._folder / file.path
        if path.is_file() and path.stat().st_size == file.bytes and file.path not in self._left:
            return True
        if file.path not in self._left:
            logger.error("%s stays behind: it is not the file that was closed", path)
            self._left.add(file.path)
        return False

    def _piece(self, file: Member) -> Member:
        """Its part of the index, the same each time it is made."""
        name = write_piece(self._table, self._folder, file.path)
        with (self._folder / name).open("rb") as piece:
            digest = hashlib.file_digest(piece, "sha256").hexdigest()
            return Member(name, piece.tell(), digest)

    def _erase_piece(self, file: str) -> None:
        (self._folder / piece_name(file)).unlink(missing_ok=True)

    def _erase(self, name: str) -> None:
        if self.frees_room:
            (self._folder / name).unlink(missing_ok=True)

    def _count(self, waiting: int) -> None:
        self._bytes, self._counted = waiting, self._closed_now()

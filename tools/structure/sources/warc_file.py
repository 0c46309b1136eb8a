"""`warc:FILE`: the bodies of good answers (2xx) in a WARC file, ours or anybody's, packed or not.

Promise: what was added to the file is read on from where it was. A record that is damaged is told,
and the next one that can be found is read. Limit: a body kept elsewhere (a revisit) is left out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from ...archive.reader import Damaged, Kept, read, records
from ...archive.record import RESPONSE, Place
from ...archive.salvage import next_record
from ...base.text import plain
from ...errors import GiveUp
from .mark import Position, existing_file, gone, resume
from .source import Item, too_large

logger = logging.getLogger(__name__)


class WarcSource:
    is_whole = False

    def __init__(self, uri: str, said: str, folder: Path, max_bytes: int) -> None:
        self.uri = uri
        self._path = existing_file(uri, folder / said)
        self._max_bytes = max_bytes
        self._told: set[str] = set()

    def items(self, position: str) -> Iterator[tuple[Item, str]]:
        try:
            with self._path.open("rb") as file:
                at = resume(file, position)
            for kept in self._records(at.offset):
                if is_document(kept):
                    after = Position(kept.place.offset + kept.place.length, 0, at.mark)
                    yield self._item(kept), after.as_text()
        except OSError as error:
            raise gone(self._path, error) from error

    def _records(self, offset: int) -> Iterator[Kept]:
        begin: int | None = offset
        while begin is not None:
            try:
                for kept in records(self._path, self._max_bytes, begin):
                    begin = kept.place.offset + kept.place.length
                    yield kept
                return
            except Damaged as error:
                self._tell(error)
                begin = next_record(self._path, begin + 1)

    def _tell(self, error: Damaged) -> None:
        """Once; the record is tried again, should it only not be finished yet."""
        if str(error) not in self._told:
            self._told.add(str(error))
            logger.warning("%s; what follows is read", plain(str(error)))

    def _item(self, kept: Kept) -> Item:
        place = f"{kept.place.offset} {kept.place.length}"
        try:
            raw = None if kept.is_cut else kept.body(self._max_bytes)
        except GiveUp:
            raw = None  # whoever reads it is told why
        return Item(kept.address or place, "", place, kept.mime, None, raw)

    def read(self, place: str) -> bytes:
        offset, _, length = place.partition(" ")
        where = Place(self._path.name, int(offset), int(length))
        kept = read(self._path.parent, where, self._max_bytes)
        if kept.is_cut:
            raise too_large(plain(kept.address), self._max_bytes)
        return kept.body(self._max_bytes)

    def close(self) -> None:
        pass


def is_document(kept: Kept) -> bool:
    """An answer with a body that is no error and leads nowhere else."""
    is_good = kept.status is None or 200 <= kept.status < 300
    return kept.kind == RESPONSE and is_good and bool(kept.payload or kept.is_cut)

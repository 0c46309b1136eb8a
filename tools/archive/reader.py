"""Records found again: one by its place, or all of a file, ours or anybody's, packed or not.

Promise: a file from outside costs bounded memory, whatever it claims and however tightly it is
packed; what cannot be read is told as Damaged. What a revisit refers to is the caller's to find:
its digest, address and time are given.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import ChunkedDataReader, DecompressingBufferedReader
from warcio.exceptions import ArchiveLoadFailed
from warcio.timeutils import iso_date_to_datetime

from ..errors import GiveUp
from .record import REVISIT, Place, mime_of

MOST_HEAD = 2**23  # bytes of all headers of one record
MOST_PAYLOAD = 2**26


class Damaged(GiveUp):
    """The archive has this record no more."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A record as it was kept."""

    kind: str
    address: str
    time: datetime
    place: Place
    status: int | None  # of an HTTP answer
    headers: tuple[tuple[str, str], ...]
    payload: bytes = field(repr=False)  # as it was sent; empty in a revisit
    is_cut: bool  # its payload is longer than whoever reads wants it, and left out
    digest: str | None
    refers_to: tuple[str, str] | None  # of a revisit: address, and time as it is written

    def header(self, name: str) -> str | None:
        """The first of that name."""
        found = (value for key, value in self.headers if key.lower() == name.lower())
        return next(found, None)

    @property
    def mime(self) -> str | None:
        """As the index has it."""
        if self.kind == REVISIT:
            return "warc/revisit"
        return mime_of(self.headers)

    def body(self, limit: int = MOST_PAYLOAD) -> bytes:
        """The payload unpacked, as `network` would have given it. GiveUp if it is larger than the
        limit, Damaged if it cannot be unpacked."""
        import urllib3  # takes its time to load, and many look at records without their bodies

        from ..network.body import Memory, read_into

        coding = self.header("Content-Encoding") or ""
        headers = {"Content-Encoding": coding}
        sent = urllib3.HTTPResponse(BytesIO(self.payload), headers, preload_content=False)
        memory = Memory(limit)
        try:
            for _ in read_into(sent, memory):
                pass
        except (urllib3.exceptions.HTTPError, zlib.error) as error:
            raise Damaged(f"the body of {self.address} cannot be unpacked: {error}") from error
        return bytes(memory.body)


def read(folder: Path, place: Place, most_bytes: int = MOST_PAYLOAD) -> Kept:
    """The record at that place in the archive."""
    try:
        with (folder / place.file).open("rb") as file:
            file.seek(place.offset)
            content = file.read(place.length)
    except OSError as error:
        raise _damaged(folder / place.file, place.offset, error.strerror) from error
    if len(content) == place.length:
        for kept in _records(BytesIO(content), folder / place.file, place, most_bytes):
            return kept
    raise _damaged(folder / place.file, place.offset, "the file ends before it")


def record_in(content: bytes, most_bytes: int = MOST_PAYLOAD) -> Kept:
    """The one that these bytes begin with, before they are anywhere."""
    nowhere = Place("", 0, len(content))
    for kept in _records(BytesIO(content), Path(), nowhere, most_bytes):
        return kept
    raise Damaged("there is no record")


def records(path: Path, most_bytes: int = MOST_PAYLOAD, begin: int = 0) -> Iterator[Kept]:
    """All of a file from this byte on, one after the other. A payload larger than that is left
    out."""
    with path.open("rb") as file:
        file.seek(begin)
        while begin and file.read(1) in (b"\r", b"\n"):  # between two that are not packed
            begin += 1
        file.seek(begin)
        yield from _records(file, path, Place(path.name, 0, 0), most_bytes)


def _records(file: IO[bytes], path: Path, start: Place, most_bytes: int) -> Iterator[Kept]:
    records = _Records(file)
    while True:
        try:
            records.reader.left = MOST_HEAD
            found = next(records, None)
            if found is None:
                return
            payload = found.raw_stream.read(most_bytes + 1)
            offset, length = records.get_record_offset(), records.get_record_length()
            if getattr(found.raw_stream, "limit", 0):
                raise ArchiveLoadFailed("the file ends in the middle of it")
            kept = _kept(
                found, payload, Place(start.file, start.offset + offset, length), most_bytes
            )
        except (ArchiveLoadFailed, zlib.error, ValueError, TypeError, AttributeError) as error:
            raise _damaged(path, start.offset + records.offset, error) from error
        yield kept


def _kept(found: Any, payload: bytes, place: Place, most_bytes: int) -> Kept:
    about, http = found.rec_headers, found.http_headers
    is_cut = len(payload) > most_bytes
    earlier = about.get_header("WARC-Refers-To-Target-URI")
    status = http.get_statuscode() if http and found.rec_type != "request" else ""
    return Kept(
        kind=found.rec_type or "",
        address=about.get_header("WARC-Target-URI") or "",
        time=iso_date_to_datetime(about.get_header("WARC-Date")).replace(tzinfo=UTC),
        place=place,
        status=int(status) if status.isdecimal() and len(status) < 10 else None,
        headers=tuple(http.headers) if http else (),
        payload=b"" if is_cut else _without_chunks(payload, http),
        is_cut=is_cut,
        digest=about.get_header("WARC-Payload-Digest"),
        refers_to=(earlier, about.get_header("WARC-Refers-To-Date") or "") if earlier else None,
    )


def _without_chunks(payload: bytes, http: Any) -> bytes:
    """Other programs keep them."""
    coding = (http.get_header("Transfer-Encoding") or "") if http else ""
    if coding.strip().lower() != "chunked":
        return payload
    whole: bytes = ChunkedDataReader(BytesIO(payload)).read()
    return whole


def _damaged(path: Path, offset: int, why: object) -> Damaged:
    return Damaged(f"{path} cannot be read at byte {offset:,}: {why}")


class _Bounded(DecompressingBufferedReader):  # type: ignore[misc]  # warcio has no types
    """Headers have an end, and what does not unpack is an error instead of a line on the screen."""

    left = MOST_HEAD

    def readline(self, length: int | None = None) -> bytes:
        most = self.left if length is None else min(length, self.left)
        if not most and length != 0:
            raise ArchiveLoadFailed(f"more than {MOST_HEAD:,} bytes of headers")
        line: bytes = super().readline(most)
        self.left -= len(line)
        return line

    def _decompress(self, data: bytes) -> bytes:
        if self.decompressor and self.num_block_read and data:
            unpacked: bytes = self.decompressor.decompress(data)
            return unpacked
        plain: bytes = super()._decompress(data)
        return plain


class _Records(ArchiveIterator):  # type: ignore[misc]
    """Stricter than warcio's: what stands between two records is an error."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        self.reader = _Bounded(self.fh)

    def _consume_blanklines(self) -> tuple[bytes | None, int]:
        empty = 0
        while line := self.reader.readline():
            if line.strip():
                return line, empty
            empty += len(line)
        return None, empty

"""Where the body of an answer goes while it arrives, in pieces of at most 64 KiB.

Promise: memory stays flat however long a body is and however tightly it is packed, and trouble with
our own files is never taken for trouble of the network.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeVar, cast

import urllib3
from isal import isal_zlib
from urllib3.response import GzipDecoderState

from ..errors import GiveUp, StopHarvest
from .arrival import Arrival
from .head import FieldsByName

CHUNK = 65536
GZIP = ("gzip", "x-gzip")
GZIP_HEADER = 31  # as zlib numbers it
ISAL_ERROR = cast(type[Exception], isal_zlib.error)
MOST_UNREAD = 4 * CHUNK  # of a body nobody wants: to keep a connection is worth no more

T = TypeVar("T")


class Sink(Protocol):
    """Takes the body of an answer while it arrives."""

    def begin(self, headers: Mapping[str, str]) -> None:
        """A 2xx answer begins; again at each further try. GiveUp refuses its body unread."""

    def write(self, chunk: bytes) -> None:
        """At most 64 KiB of it. GiveUp ends it here."""


class Memory:
    """A sink that keeps what fits."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.body = bytearray()

    def begin(self, headers: Mapping[str, str]) -> None:
        self.body = bytearray()

    def write(self, chunk: bytes) -> None:
        self.body += chunk
        if len(self.body) > self._limit:
            raise GiveUp(f"the answer is larger than {self._limit:,} bytes")


class Packed(io.RawIOBase):
    """A body while it arrives, as a file; its first bytes are here."""

    def __init__(self, first: bytes, arrival: Arrival) -> None:
        self._first = first
        self._arrival = arrival

    def read(self, size: int = -1) -> bytes:
        piece, self._first = self._first[:size], self._first[size:]
        return piece or self._arrival.read(size)


def read_body(arrival: Arrival, into: Sink) -> Iterator[int]:
    """Hand the body over, unpacked; how many bytes, again and again."""
    headers = FieldsByName(arrival.head.fields)
    _hand(into.begin, headers)
    coding = ", ".join(headers.all("content-encoding"))
    chunk: bytes | None = (first := arrival.read(CHUNK))
    if coding:
        chunk = _small(first, coding) if arrival.is_over else None
    if chunk is None:
        packed, how = Packed(first, arrival), {"Content-Encoding": coding}
        yield from _unpack(urllib3.HTTPResponse(packed, how, preload_content=False), into)
    while chunk:
        yield len(chunk)
        _hand(into.write, chunk)
        chunk = arrival.read(CHUNK)


def _small(payload: bytes, coding: str) -> bytes | None:
    """Most packed bodies are small; None if this one is not, or is anything but plain gzip."""
    body = one_member(payload, CHUNK) if coding.lower() in GZIP else None
    return None if body is None or len(body) > CHUNK else body


def one_member(payload: bytes, most: int) -> bytes | None:
    """None if it is anything but one whole gzip member: others know what to do about that. If it
    unpacks to more than so much, that much and a byte."""
    unpacker = isal_zlib.decompressobj(wbits=GZIP_HEADER)
    try:
        body: bytes = unpacker.decompress(payload, most + 1)
    except ISAL_ERROR:
        return None
    return body if len(body) > most or (unpacker.eof and not unpacker.unused_data) else None


def read_into(response: urllib3.BaseHTTPResponse, into: Sink) -> Iterator[int]:
    """The same for an answer that is here."""
    _hand(into.begin, response.headers)
    yield from _unpack(response, into)


def _unpack(response: urllib3.BaseHTTPResponse, into: Sink) -> Iterator[int]:
    is_empty = True
    for chunk in response.stream(CHUNK, decode_content=True):
        yield len(chunk)
        _hand(into.write, chunk)
        is_empty = False
    if not is_empty and _lacks_its_end(response):
        raise urllib3.exceptions.DecodeError("the packed body is cut short")


def _lacks_its_end(response: urllib3.BaseHTTPResponse) -> bool:
    """urllib3 takes a packed body without its end for a whole one; it does tell rubbish behind one,
    which other clients bear too."""
    decoder = getattr(response, "_decoder", None)
    stream = getattr(decoder, "_obj", None)  # zlib's or Brotli's, if it was packed
    if stream is None or getattr(decoder, "_state", None) == GzipDecoderState.SWALLOW_DATA:
        return False
    return not (stream.eof if hasattr(stream, "eof") else stream.is_finished())


def read_raw_body(arrival: Arrival, into: Sink) -> Iterator[int]:
    """The same for a body that is kept as it was sent, each piece as soon as it is here."""
    _hand(into.begin, FieldsByName(arrival.head.fields))
    while chunk := arrival.some(CHUNK):
        yield len(chunk)
        _hand(into.write, chunk)


def _hand(take: Callable[[T], None], what: T) -> None:
    """What goes wrong with our own files is no trouble of the network."""
    try:
        take(what)
    except OSError as error:
        raise StopHarvest(f"cannot keep what arrives: {error.strerror or error}") from error


def drain(arrival: Arrival) -> Iterator[int]:
    """Nobody wants this body, but a connection can be used again only after it."""
    left = MOST_UNREAD
    while left >= 0 and (chunk := arrival.some(CHUNK)):
        yield len(chunk)
        left -= len(chunk)

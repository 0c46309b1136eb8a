"""Where the body of an answer goes while it arrives, in pieces of at most 64 KiB.

Promise: memory stays flat however long a body is and however tightly it is packed, and trouble with
our own files is never taken for trouble of the network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeVar

import urllib3
from urllib3.response import GzipDecoderState

from ..errors import GiveUp, StopHarvest

CHUNK = 65536
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


def read_into(response: urllib3.BaseHTTPResponse, into: Sink) -> Iterator[int]:
    """Hand the body over; how many bytes, again and again."""
    _hand(into.begin, response.headers)
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


def read_raw_into(response: urllib3.BaseHTTPResponse, into: Sink) -> Iterator[int]:
    """The same for a body that is kept as it was sent, each piece as soon as it is here."""
    _hand(into.begin, response.headers)
    while chunk := response.read1(CHUNK, decode_content=False):
        yield len(chunk)
        _hand(into.write, chunk)


def _hand(take: Callable[[T], None], what: T) -> None:
    """What goes wrong with our own files is no trouble of the network."""
    try:
        take(what)
    except OSError as error:
        raise StopHarvest(f"cannot keep what arrives: {error.strerror or error}") from error


def drain(response: urllib3.BaseHTTPResponse) -> Iterator[int]:
    """Nobody wants this body, but a connection can be used again only after it."""
    left = MOST_UNREAD
    for chunk in response.stream(CHUNK, decode_content=False):
        yield len(chunk)
        left -= len(chunk)
        if left < 0:
            response.close()
            return

"""All that came back from a host, whatever it says: for those who keep it as it was sent.

Promise: neither the bytes that were sent nor those they unpack to are more than the caller allows,
however tightly they are packed.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

import urllib3
from urllib3.util.request import ACCEPT_ENCODING

from ..base.why import Why
from ..errors import GiveUp
from .body import GZIP, Memory, one_member, read_into
from .head import Fields
from .trouble import NoUse

READABLE = frozenset({*GZIP, "deflate"} | ({"br"} & set(ACCEPT_ENCODING.split(","))))
UNREADABLE = frozenset({"br", "zstd", "compress", "x-compress"}) - READABLE


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    reason: str
    version: str  # HTTP/1.1
    headers: Fields  # as they were sent, in their order
    payload: bytes  # as it was sent, without the marks between its chunks
    body: bytes  # unpacked
    url: str
    ip: str | None  # whose answer it is; None if a proxy stands between
    request: bytes  # its line and headers as they were sent, but for what was meant for a proxy

    def header(self, name: str) -> str:
        """The first of this name; "" if there is none."""
        return next(iter(self.all(name)), "")

    def all(self, name: str) -> list[str]:
        name = name.lower()
        return [value for each, value in self.headers if each.lower() == name]


def unpacked(payload: bytes, codings: Sequence[str], most: int) -> bytes:
    """What was packed; NoUse if that is too much, or cannot be had."""
    chain = [each.strip().lower() for value in codings for each in value.split(",")]
    if unknown := UNREADABLE & set(chain):
        raise NoUse(f"the answer is packed by {min(unknown)}, which was not asked for", Why.SPOILT)
    chain = [each for each in chain if each in READABLE]  # "utf-8" and the like pack nothing
    if not chain or not payload:
        return _within(payload, most)
    if len(chain) == 1 and chain[0] in GZIP and (quick := one_member(payload, most)) is not None:
        return _within(quick, most)
    return _step_by_step(payload, ", ".join(chain), most)


def _step_by_step(payload: bytes, codings: str, most: int) -> bytes:
    headers = {"Content-Encoding": codings}
    packed = urllib3.HTTPResponse(io.BytesIO(payload), headers=headers, preload_content=False)
    into = Memory(most)
    try:
        for _ in read_into(packed, into):
            pass
    except urllib3.exceptions.HTTPError as error:
        raise NoUse("the packed answer cannot be unpacked", Why.SPOILT) from error
    except GiveUp:
        raise _too_large(most) from None
    return bytes(into.body)


def _within(body: bytes, most: int) -> bytes:
    if len(body) > most:
        raise _too_large(most)
    return body


def _too_large(most: int) -> NoUse:
    return NoUse(f"the answer unpacks to more than {most:,} bytes", Why.LARGE)

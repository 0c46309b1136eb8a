"""One request and its answer as WARC records, packed where the answer arrived.

Promise: whatever a server sends as headers, the records are valid and other tools read them. The
body stays as it was sent (only the chunks of its transfer are undone), and its digest with it.
Packing is most of the work, so it is done here, by whoever asked: the one writer only appends.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b32encode
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote
from uuid import uuid4

from isal import isal_zlib

LEVEL = 2  # of isal: a third of the time that a level higher takes buys three bytes of a hundred
GZIP = 16 + 15  # a gzip member with the largest window

RESPONSE, REVISIT, REQUEST = "response", "revisit", "request"
METADATA, WARCINFO = "metadata", "warcinfo"
SAME_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
HTTP_ANSWER = "application/http; msgtype=response"
HTTP_REQUEST = "application/http; msgtype=request"
FIELDS = "application/warc-fields"

BREAKS = re.compile(r"[\r\n\0]+[ \t]*")  # would end a header, or the reading of it
NOT_IN_A_NAME = re.compile(r"[^!#$%&'*+\-.^_`|~0-9A-Za-z]")
TYPE_ENDS = re.compile(r"[;\s]")
OF_THE_TRANSFER = frozenset({"transfer-encoding", "content-length"})
IN_AN_ADDRESS = "!#$%&'()*+,/:;=?@[]~"  # the rest is escaped; `<` and `>` are brackets to some

Headers = Sequence[tuple[str, str]]
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was asked, and what came back."""

    address: str
    time: datetime  # when it was asked, with its zone
    status: int
    headers: Headers  # of the answer, each as it came and as often
    payload: bytes  # packed as the server packed it, without chunks
    reason: str = ""
    version: str = "HTTP/1.1"
    request: str = ""  # its first line, such as "GET /index.html HTTP/1.1"
    request_headers: Headers = ()
    ip: str | None = None


class Earlier(NamedTuple):
    """The record that has the same payload already."""

    address: str
    time: datetime
    digest: str


class Part(NamedTuple):
    """Where a record is in what was packed."""

    kind: str
    offset: int
    length: int


class Place(NamedTuple):
    """Where a record is in the archive; the file is named from the archive's folder on."""

    file: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Packed:
    """Records one after the other, a gzip member each; the answer is the first."""

    content: bytes = field(repr=False)
    parts: tuple[Part, ...]
    digest: str  # of the payload
    mime: str | None  # as the index has it

    @property
    def kind(self) -> str:
        return self.parts[0].kind


def pack(
    exchange: Exchange,
    *,
    digest: str | None = None,
    earlier: Earlier | None = None,
    notes: Mapping[str, str] = NOTHING,
) -> Packed:
    """Its answer, its request and, if there are `notes`, a record with these. `digest` is that of
    the payload, if known. With `earlier` the answer is a revisit: the payload is not kept again,
    either because it is the same or because the server says so (304)."""
    digest = digest or (earlier.digest if earlier else payload_digest(exchange.payload))
    date, address = warc_date(exchange.time), target(exchange.address)
    shared = [("WARC-Date", date), ("WARC-Target-URI", address)]
    about = [*shared, ("WARC-IP-Address", exchange.ip)] if exchange.ip else shared
    name = _record_id()
    records = [_answer(exchange, name, about, digest, earlier)]
    with_it = ("WARC-Concurrent-To", name)
    if exchange.request:
        block = http_head(exchange.request, exchange.request_headers)
        records.append((REQUEST, record(REQUEST, HTTP_REQUEST, [*about, with_it], block)))
    if notes:
        records.append((METADATA, record(METADATA, FIELDS, [*shared, with_it], fields(notes))))
    mime = "warc/revisit" if earlier else mime_of(exchange.headers)
    return _joined(records, digest, mime)


def record(
    kind: str,
    content_type: str,
    headers: Iterable[tuple[str, str]],
    head: bytes,
    payload: bytes = b"",
    name: str | None = None,
) -> bytes:
    """One record as a gzip member. `head` and `payload` are its block."""
    lines = [
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {name or _record_id()}\r\n",
        *[f"{key}: {value}\r\n" for key, value in headers],
        f"WARC-Block-Digest: {payload_digest(head, payload)}\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(head) + len(payload)}\r\n\r\n",
    ]
    # In one go: each step would let go of the interpreter, and wait to get it back.
    whole = b"".join(("".join(lines).encode(), head, payload, b"\r\n\r\n"))
    packed: bytes = isal_zlib.compress(whole, LEVEL, GZIP)
    return packed


def payload_digest(*parts: bytes) -> str:
    """The digest that the records and the index carry.

    >>> payload_digest(b"")
    'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    hashed = hashlib.sha1(usedforsecurity=False)
    for part in parts:
        hashed.update(part)
    return f"sha1:{b32encode(hashed.digest()).decode('ascii')}"


def mime_of(headers: Headers) -> str | None:
    """The first type they name, without parameters, as whoever reads the record decodes it.

    >>> mime_of([("content-type", " text/html; charset=utf-8")])
    'text/html'
    """
    for name, value in headers:
        if name.lower() == "content-type":
            with suppress(UnicodeError):
                value = value.encode("latin-1").decode("utf-8")
            return TYPE_ENDS.split(_line(value).strip(), maxsplit=1)[0]
    return None


def http_head(first_line: str, headers: Headers) -> bytes:
    """The first line and the headers as they would be sent, whatever is in them."""
    lines = [_line(first_line), *[f"{_name(name)}: {_line(value)}" for name, value in headers]]
    text = "\r\n".join(lines) + "\r\n\r\n"
    try:
        return text.encode("latin-1")  # as they were decoded: the bytes that came
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def fields(values: Mapping[str, str]) -> bytes:
    """Those of a `warcinfo` or `metadata` record."""
    lines = [f"{_name(name)}: {_line(value)}\r\n" for name, value in values.items()]
    return "".join(lines).encode("utf-8", "replace")


def warc_date(time: datetime) -> str:
    """
    >>> warc_date(datetime(2026, 5, 4, 3, 2, 1, 5, tzinfo=UTC))
    '2026-05-04T03:02:01.000005Z'
    """
    return f"{time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def _answer(
    exchange: Exchange,
    name: str,
    about: list[tuple[str, str]],
    digest: str,
    earlier: Earlier | None,
) -> tuple[str, bytes]:
    first_line = f"{exchange.version} {exchange.status} {exchange.reason}"
    head = http_head(first_line, _corrected(exchange))
    about = [*about, ("WARC-Payload-Digest", digest)]
    if earlier is None:
        return RESPONSE, record(RESPONSE, HTTP_ANSWER, about, head, exchange.payload, name)
    about += [
        ("WARC-Profile", NOT_MODIFIED if exchange.status == 304 else SAME_PAYLOAD),
        ("WARC-Refers-To-Target-URI", target(earlier.address)),
        ("WARC-Refers-To-Date", warc_date(earlier.time)),
    ]
    return REVISIT, record(REVISIT, HTTP_ANSWER, about, head, name=name)


def _corrected(exchange: Exchange) -> list[tuple[str, str]]:
    """Its headers, with the length that the payload has now. A 304 has none, and speaks of that of
    another answer."""
    kept = [each for each in exchange.headers if each[0].strip().lower() not in OF_THE_TRANSFER]
    if exchange.status != 304:
        kept.append(("Content-Length", str(len(exchange.payload))))
    return kept


def _joined(records: Sequence[tuple[str, bytes]], digest: str, mime: str | None) -> Packed:
    parts, offset = [], 0
    for kind, content in records:
        parts.append(Part(kind, offset, len(content)))
        offset += len(content)
    return Packed(b"".join(content for _, content in records), tuple(parts), digest, mime)


def target(address: str) -> str:
    """Without brackets around it, and without what a header cannot hold."""
    return quote(address, safe=IN_AN_ADDRESS, errors="replace")


def _name(name: str) -> str:
    return NOT_IN_A_NAME.sub("_", name) or "_"


def _line(value: str) -> str:
    return BREAKS.sub(" ", value) if BREAKS.search(value) else value


def _record_id() -> str:
    return f"<urn:uuid:{uuid4()}>"

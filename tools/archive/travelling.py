"""Records that were packed on another machine, as JSON, and back.

Promise: what comes is looked at as a stranger's: each record is one gzip member with a WARC record
of its kind, of no more than so many bytes, and they follow each other without a gap. Of an answer
its address, moment, status and digest are those that its record has, and the digest is that of the
bytes.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64decode, b64encode
from datetime import datetime
from typing import Any

from ..errors import GiveUp
from .answer import Answered
from .reader import Kept, record_in
from .record import METADATA, REQUEST, RESPONSE, REVISIT, Packed, Part, payload_digest, target

KINDS = (RESPONSE, REVISIT, REQUEST, METADATA)
DIGEST = re.compile(r"sha1:[A-Z2-7]{32}")
MIME = re.compile(r"[\x20-\x7e]{0,200}")
GZIP = 16 + 15
MOST_PARTS = 10
HEAD_BYTES = 1_000_000  # of a record, beside its payload
LONGEST_TIME = 40  # characters
NOT_MODIFIED = 304


def answered_said(answered: Answered) -> dict[str, Any]:
    """As it travels; its domain is known where it comes."""
    return {
        "address": answered.address,
        "time": answered.time,
        "status": answered.status,
        "mime": answered.mime,
        "packed": packed_said(answered.packed),
    }


def answered_of(said: Any, domain: str, most: int) -> Answered:
    """What a stranger says was answered, in at most so many bytes; ValueError if that cannot be
    right. Whether it is an answer to what was asked, the caller knows."""
    try:
        address, moment, status, mime = (said[key] for key in ("address", "time", "status", "mime"))
        packed = packed_of(said["packed"], most)
    except (TypeError, KeyError):
        raise ValueError("no answer") from None
    if not isinstance(address, str):
        raise ValueError("an answer without an address")
    if not isinstance(moment, str) or len(moment) > LONGEST_TIME:
        raise ValueError("an answer without its time")
    if datetime.fromisoformat(moment).tzinfo is None:
        raise ValueError("an answer without its time")
    if type(status) is not int or not 100 <= status <= 999 or not is_mime(mime):
        raise ValueError("an answer without its status or type")
    return Answered(domain, address, moment, status, mime, packed)


def record_of(answered: Answered, most: int) -> Kept:
    """The record of an answer; ValueError unless it says the same."""
    packed = answered.packed
    try:
        kept = record_in(packed.content[: packed.parts[0].length], most)
    except GiveUp as error:
        raise ValueError(f"a record that cannot be read: {error}") from None
    late_s = (kept.time - datetime.fromisoformat(answered.time)).total_seconds()
    if kept.is_cut or kept.address != target(answered.address) or not -1 < late_s < 1:
        raise ValueError("the record of another answer")
    told = answered.status, packed.digest, packed.mime
    if told != (kept.status, kept.digest, kept.mime):
        raise ValueError("a record with another status, digest or type")
    is_whole = kept.kind == RESPONSE and kept.status != NOT_MODIFIED
    if is_whole and payload_digest(kept.payload) != packed.digest:
        raise ValueError("a record whose digest is not that of its bytes")
    return kept


def packed_said(packed: Packed) -> dict[str, Any]:
    return {
        "content": b64encode(packed.content).decode("ascii"),
        "parts": [[*each] for each in packed.parts],
        "digest": packed.digest,
        "mime": packed.mime,
    }


def packed_of(said: Any, most: int) -> Packed:
    """ValueError unless it is what `pack` makes; `most` bytes has an answer."""
    try:
        content = b64decode(said["content"], validate=True)
        parts = tuple(Part(*each) for each in said["parts"][: MOST_PARTS + 1])
        digest, mime = said["digest"], said["mime"]
    except (TypeError, KeyError):
        raise ValueError("no packed records") from None
    if not isinstance(digest, str) or not DIGEST.fullmatch(digest) or not is_mime(mime):
        raise ValueError("packed records without a digest or a type")
    _check_parts(content, parts, most)
    return Packed(content, parts, digest, mime)


def is_mime(value: object) -> bool:
    return value is None or (isinstance(value, str) and MIME.fullmatch(value) is not None)


def _check_parts(content: bytes, parts: tuple[Part, ...], most: int) -> None:
    end = 0
    for part in parts:
        if type(part.length) is not int or part.offset != end or part.length <= 0:
            raise ValueError("packed records with a gap")
        if type(part.offset) is not int or part.kind not in KINDS:
            raise ValueError("a packed record of no kind")
        end += part.length
        _check_record(content[part.offset : end], str(part.kind), most + HEAD_BYTES)
    if not 0 < len(parts) <= MOST_PARTS or end != len(content):
        raise ValueError("packed records with a gap")
    if parts[0].kind not in (RESPONSE, REVISIT):
        raise ValueError("packed records without an answer")


def _check_record(member: bytes, kind: str, most: int) -> None:
    reader = zlib.decompressobj(GZIP)
    try:
        record = reader.decompress(member, most)
    except zlib.error:
        raise ValueError("a record that cannot be unpacked") from None
    if not reader.eof or reader.unused_data:
        raise ValueError("a record that is too large, or not one")
    if not record.startswith(f"WARC/1.1\r\nWARC-Type: {kind}\r\n".encode()):
        raise ValueError("a record of another kind")

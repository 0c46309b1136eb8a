"""Records that were packed on another machine, as JSON, and back.

Promise: what comes is looked at as a stranger's: each record is one gzip member with a WARC record
of its kind, of no more than so many bytes, and they follow each other without a gap.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64decode, b64encode
from typing import Any

from .record import METADATA, REQUEST, RESPONSE, REVISIT, Packed, Part

KINDS = (RESPONSE, REVISIT, REQUEST, METADATA)
DIGEST = re.compile(r"sha1:[A-Z2-7]{32}")
MIME = re.compile(r"[\x20-\x7e]{0,200}")
GZIP = 16 + 15
MOST_PARTS = 10
HEAD_BYTES = 1_000_000  # of a record, beside its payload


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

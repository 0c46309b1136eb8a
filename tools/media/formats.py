"""What a file is, by its first bytes alone.

Promise: a format is named only if the bytes begin as that format must; nothing that a server says
and no name of a file counts. Whether the rest is whole is for a decoder to say.
"""

from __future__ import annotations

from typing import NamedTuple

HEAD = 512  # bytes that are enough to know the format


class Format(NamedTuple):
    name: str
    mime: str
    extension: str


class Facts(NamedTuple):
    """What a decoder found out about a whole file."""

    width: int | None = None
    height: int | None = None
    duration: float | None = None  # seconds
    phash: str | None = None


JPEG = Format("jpeg", "image/jpeg", "jpg")
PNG = Format("png", "image/png", "png")
WEBP = Format("webp", "image/webp", "webp")
GIF = Format("gif", "image/gif", "gif")
WAV = Format("wav", "audio/wav", "wav")
OGG = Format("ogg", "audio/ogg", "ogg")
FLAC = Format("flac", "audio/flac", "flac")
MP3 = Format("mp3", "audio/mpeg", "mp3")

BEGINNINGS = {
    b"\xff\xd8\xff": JPEG,
    b"\x89PNG\r\n\x1a\n": PNG,
    b"GIF87a": GIF,
    b"GIF89a": GIF,
    b"fLaC": FLAC,
    b"ID3": MP3,
}
RIFF_TYPES = {b"WEBP": WEBP, b"WAVE": WAV}
OGG_CODECS = (b"\x01vorbis", b"OpusHead", b"\x7fFLAC")
OTHERS = {  # what comes in their place, for the reason that is given
    b"<!doctype html": "HTML",
    b"<html": "HTML",
    b"<head": "HTML",
    b"<script": "HTML",
    b"<svg": "SVG",
    b"<?xml": "XML",
    b"{": "JSON",
    b"[": "JSON",
    b"%pdf": "PDF",
    b"pk\x03\x04": "ZIP",
    b"\x1f\x8b": "GZIP",
    b"oggs": "another OGG",
    b"riff": "another RIFF",
    b"bm": "BMP",
    b"ii*\x00": "TIFF",
    b"mm\x00*": "TIFF",
}


def sniff(head: bytes) -> Format | None:
    """The format of a file that begins like this, if it is one of ours.

    >>> sniff(b"GIF89a...").mime
    'image/gif'
    >>> sniff(b"<html>GIF89a") is None
    True
    """
    for beginning, found in BEGINNINGS.items():
        if head.startswith(beginning):
            return found
    if head.startswith(b"RIFF"):
        return RIFF_TYPES.get(head[8:12])
    if head.startswith(b"OggS"):
        return OGG if _first_packet(head).startswith(OGG_CODECS) else None
    return MP3 if is_mp3_frame(head) else None


def name_of(head: bytes) -> str:
    """A word for what begins like this, ours or not.

    >>> name_of(b"\\n<!DOCTYPE html><title>")
    'HTML'
    """
    if found := sniff(head):
        return found.name
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if text[4:8] == b"ftyp":
        return "MP4"
    known = (name for beginning, name in OTHERS.items() if text.startswith(beginning))
    return next(known, "bytes of no known format")


def _first_packet(head: bytes) -> bytes:
    """The first page of an Ogg stream holds the codec's name and nothing else."""
    return head[27 + head[26] :] if len(head) > 26 else b""


def is_mp3_frame(head: bytes) -> bool:
    """Sync, a known version, layer III, a bit rate and a sample rate that exist."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE6 != 0xE2 or head[1] & 0x18 == 0x08:
        return False
    return head[2] & 0xF0 not in (0x00, 0xF0) and head[2] & 0x0C != 0x0C

"""The frames of an MP3: whether all of them are there.

Promise: the last frame is whole, and there are as many as the header (Xing, Info or VBRI) says;
where there is none, nothing but tags follows the last one. Limit: of a file without such a header a
cut exactly between two frames is not seen.
"""

from __future__ import annotations

import os
from typing import BinaryIO, NamedTuple

from ..errors import GiveUp
from .formats import is_mp3_frame

CUT_SHORT, DAMAGED = "cut short", "damaged or cut short"
MPEG1 = 3
RATES = {MPEG1: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}
KILOBITS = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
FEWER_KILOBITS = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)  # of MPEG 2
PROMISE_WITHIN = 60  # bytes of the first frame; where exactly depends on its channels
LARGEST_TAGS = 2**22
ID3V1, APE = 128, 32  # bytes of a tag, of the end of one


class Frame(NamedTuple):
    size: int
    samples: int


class Frames(NamedTuple):
    number: int  # without the one that holds the header
    samples: int  # in each
    is_promised: bool  # exactly so many, by the header


def frames_of(file: BinaryIO) -> Frames:
    """All frames of the file; raises GiveUp if something is missing."""
    end = file.seek(0, os.SEEK_END)
    begin = at = _after_tags(file)
    head, samples, count = _read(file, at, PROMISE_WITHIN), 0, 0
    while frame := frame_at(_read(file, at, 4)):
        if at + frame.size > end:
            raise GiveUp(CUT_SHORT)
        count, samples, at = count + 1, samples or frame.samples, at + frame.size
    if not count:
        raise GiveUp(DAMAGED)
    if (promise := _promise(head)) is None:
        if not _are_tags(_read(file, at, LARGEST_TAGS)):
            raise GiveUp(DAMAGED)
        return Frames(count, samples, False)
    size, announced = promise
    # Some count the frame of the header as well; then the number of bytes decides.
    if announced > count or (announced == count and size != at - begin):
        raise GiveUp(CUT_SHORT)
    if announced < count - 1:
        raise GiveUp("longer than its header says")
    return Frames(count - 1, samples, announced == count - 1)


def frame_at(head: bytes) -> Frame | None:
    """
    >>> frame_at(bytes.fromhex("fffb9064"))
    Frame(size=417, samples=1152)
    """
    if not is_mp3_frame(head):
        return None
    version = head[1] >> 3 & 3
    rate = RATES[version][head[2] >> 2 & 3]
    bits = 1000 * (KILOBITS if version == MPEG1 else FEWER_KILOBITS)[head[2] >> 4]
    samples = 1152 if version == MPEG1 else 576
    return Frame(samples // 8 * bits // rate + (head[2] >> 1 & 1), samples)


def _promise(head: bytes) -> tuple[int, int] | None:
    """How many bytes and frames there are, by the first frame; bytes are 0 if it does not say."""
    if (at := max(head.find(b"Xing"), head.find(b"Info"))) >= 0:
        flags, *numbers = (_number(head, at + each) for each in (4, 8, 12))
        return (numbers[1] if flags & 2 else 0, numbers[0]) if flags & 1 else None
    if (at := head.find(b"VBRI")) >= 0:
        return _number(head, at + 10), _number(head, at + 14)
    return None


def _number(head: bytes, at: int) -> int:
    return int.from_bytes(head[at : at + 4], "big")


def _after_tags(file: BinaryIO) -> int:
    """Where the first frame begins: behind ID3v2."""
    at = 0
    while (head := _read(file, at, 10)).startswith(b"ID3") and len(head) == 10:
        size = sum(byte << shift for byte, shift in zip(head[6:], (21, 14, 7, 0), strict=True))
        at += size + (20 if head[5] & 0x10 else 10)
    return at


def _are_tags(rest: bytes) -> bool:
    """Nothing, or what players read at the end of a file: APE and ID3v1."""
    if len(rest) >= ID3V1 and rest[-ID3V1:].startswith(b"TAG"):
        rest = rest[:-ID3V1]
    if rest[-APE:].startswith(b"APETAGEX"):
        size = int.from_bytes(rest[-20:-16], "little")
        has_head = rest[-size - APE :].startswith(b"APETAGEX")
        rest = rest[: max(0, len(rest) - size - (APE if has_head else 0))]
    return not rest


def _read(file: BinaryIO, at: int, size: int) -> bytes:
    file.seek(at)
    return file.read(size)

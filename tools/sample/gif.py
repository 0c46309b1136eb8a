"""Pictures one after the other as one gif.

Promise: all share one palette; the first is as large as the gif, others may be parts of it.
Pillow's own way compares each with the one before it, which takes longer than to compress it.
"""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image

BITS = 6  # of a pixel: no more than 64 colours
_LOOP = b"!\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"


def moving(
    shown: Sequence[tuple[Image.Image, tuple[int, int]]], colours: bytes, frame_ms: int
) -> bytes:
    """Each picture with the place of its upper left corner."""
    first, _ = shown[0]
    about = bytes((0x80 | (BITS - 1) << 4 | (BITS - 1), 0, 0))  # one palette for all
    head = b"GIF89a" + _numbers(*first.size) + about + colours.ljust(3 * 2**BITS, b"\0")
    pause = b"!\xf9\x04\x04" + _numbers(frame_ms // 10) + b"\0\0"
    frames = (pause + _frame(image, corner) for image, corner in shown)
    return head + (_LOOP if len(shown) > 1 else b"") + b"".join(frames) + b";"


def _frame(image: Image.Image, corner: tuple[int, int]) -> bytes:
    place = b"," + _numbers(*corner, *image.size) + b"\0"
    return place + bytes([BITS]) + image.tobytes("gif", "P", BITS, 0) + b"\0"


def _numbers(*values: int) -> bytes:
    return b"".join(value.to_bytes(2, "little") for value in values)

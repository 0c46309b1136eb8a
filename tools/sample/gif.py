"""Pictures one after the other as one gif, by joining files that are made already.

Promise: all share the palette of the first, which is as large as the gif; others may be parts of
it. Pillow's own way compares each with the one before it, which takes longer than to compress it.
"""

from __future__ import annotations

from collections.abc import Sequence

_HEAD = 13  # bytes before the palette
_FOREVER = b"!\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"
_IMAGE = b","
_END = b";"


def moving(stills: Sequence[tuple[bytes, tuple[int, int]]], frame_ms: int) -> bytes:
    """Each picture, a gif itself, with the place of its upper left corner."""
    first, _ = stills[0]
    start = _HEAD + 3 * 2 ** ((first[10] & 7) + 1)
    pause = b"!\xf9\x04\x04" + (frame_ms // 10).to_bytes(2, "little") + b"\x00\x00"
    frames = (pause + _moved(still[still.index(_IMAGE, start) :], place) for still, place in stills)
    return b"GIF89a" + first[6:start] + _FOREVER + b"".join(frames) + _END


def _moved(image: bytes, place: tuple[int, int]) -> bytes:
    corner = b"".join(each.to_bytes(2, "little") for each in place)
    return _IMAGE + corner + image[5:].removesuffix(_END)

"""Pictures and animations that say what they show: the words, on a pattern made from their name.

Promise: the same words and look give the same bytes in every process with the same Pillow, in a
millisecond or two. Another look is another picture, for people and for perceptual hashes.

>>> lines_of("dog can bark"), lines_of("grasshopper")
(['dog can', 'bark'], ['grasshopper'])
"""

from __future__ import annotations

import io
from functools import lru_cache
from hashlib import blake2b
from typing import Any
from zlib import compress, crc32

from PIL import Image, ImageDraw, ImageFont
from PIL.ImageFont import FreeTypeFont

PICTURE = (360, 270)  # searches often leave out what is smaller than 300 x 300
COPY = (352, 264)
ANIMATION = (128, 104)
FRAMES = 4
FRAME_MS = 150
BOMB_SIDE = 30_000

_TILES = (9, 8)  # as many as a difference hash compares, so that each changes it
_LONGEST_LINE = 9
_SHADES = 6  # in the pattern of an animation
_STEP = 5  # pixels its words move from frame to frame
_WRITERS: dict[str, dict[str, Any]] = {
    "jpg": {"format": "JPEG"},
    "png": {"format": "PNG", "compress_level": 1},
    "webp": {"format": "WEBP", "method": 0},
}


def picture(
    words: str, look: str, extension: str = "jpg", size: tuple[int, int] = PICTURE
) -> bytes:
    """The words, large, on a pattern of the look."""
    kind, height, *tint_and_tiles = _seed(words, look, 5 + 3 * _TILES[0] * _TILES[1])
    tiles = Image.frombytes("RGB", _TILES, _dark(tint_and_tiles[3:], tint_and_tiles[:3]))
    is_smooth = kind % 3 == 0 and extension == "jpg"  # others would take long to compress
    image = tiles.resize(size, Image.Resampling.BILINEAR if is_smooth else Image.Resampling.NEAREST)
    text, font = _fitted(words, *size)
    place = (size[0] / 2, size[1] * (0.42 + 0.16 * height / 255))
    draw = ImageDraw.Draw(image)
    draw.multiline_text(place, text, "white", font, "mm", align="center")
    return _saved(image, **_WRITERS[extension])


def worse_copy(body: bytes, extension: str) -> bytes:
    """The same picture as somebody passes it on: smaller, and compressed once more."""
    with Image.open(io.BytesIO(body)) as image:
        smaller = image.resize(COPY, Image.Resampling.BICUBIC)
    return _saved(smaller, quality=40, **_WRITERS[extension])


def animation(words: str, look: str, frames: int = FRAMES) -> bytes:
    """The words, moving down a pattern of the look, as a gif."""
    seed = _seed(words, look, 3 * _SHADES + _TILES[0] * _TILES[1])
    tiles = Image.frombytes("P", _TILES, bytes(each % _SHADES for each in seed[3 * _SHADES :]))
    background = tiles.resize(ANIMATION, Image.Resampling.NEAREST)
    background.putpalette(_dark(seed[: 3 * _SHADES], seed[:3]) + b"\xff\xff\xff")
    stencil = _stencil(words)
    shown = [background.copy() for _ in range(frames)]
    for number, image in enumerate(shown):
        image.paste(_SHADES, (0, _STEP * number), stencil)
    rest = {
        "save_all": True,
        "append_images": shown[1:],
        "duration": FRAME_MS,
        "loop": 0,
        "optimize": False,
    }
    return _saved(shown[0], format="GIF", **(rest if frames > 1 else {}))


def bomb() -> bytes:
    """A small PNG that claims a side of 30,000 pixels."""
    size = BOMB_SIDE.to_bytes(4) * 2
    chunks = ((b"IHDR", size + b"\x08\x02\x00\x00\x00"), (b"IDAT", compress(b"\0" * 9_000)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*each) for each in (*chunks, (b"IEND", b"")))


def lines_of(words: str) -> list[str]:
    """Short lines, so that letters can be large; a long word has a line for itself."""
    lines: list[str] = []
    for word in words.split():
        if lines and len(lines[-1]) + len(word) < _LONGEST_LINE:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _seed(words: str, look: str, length: int) -> bytes:
    name = f"{look} {words}".encode()
    parts = (blake2b(name, key=bytes([part])).digest() for part in range(-(-length // 64)))
    return b"".join(parts)[:length]


def _dark(colours: bytes | list[int], tint: bytes | list[int]) -> bytes:
    """Tiles of one tint, dark enough for white letters."""
    strength = [60 + each // 3 for each in tint]
    return bytes(each * strength[place % 3] >> 8 for place, each in enumerate(colours))


def _stencil(words: str) -> Image.Image:
    """Where the letters are, before they move."""
    width, height = ANIMATION[0], ANIMATION[1] - _STEP * FRAMES
    text, font = _fitted(words, width, height)
    stencil = Image.new("1", (width, height))
    draw = ImageDraw.Draw(stencil)
    draw.multiline_text((width / 2, height / 2), text, 1, font, "mm", align="center")
    return stencil


def _fitted(words: str, width: int, height: int) -> tuple[str, FreeTypeFont]:
    lines = lines_of(words)
    widest = max(map(len, lines))
    size = min(width / (0.6 * widest), height / (1.3 * len(lines)), width / 4)
    return "\n".join(lines), _font(int(size))


@lru_cache(maxsize=256)
def _font(size: int) -> FreeTypeFont:
    font = ImageFont.load_default(size)
    if not isinstance(font, FreeTypeFont):
        raise RuntimeError("this Pillow cannot draw letters: it was built without FreeType")
    return font


def _saved(image: Image.Image, **how: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, **how)
    return file.getvalue()


def _chunk(name: bytes, content: bytes) -> bytes:
    return len(content).to_bytes(4) + name + content + crc32(name + content).to_bytes(4)

"""Opening and decoding pictures that strangers made, and finding those that look alike.

Promise: every frame is decoded within the limits or the file is refused with GiveUp, whatever its
bytes are. Sizes are checked before memory is taken for them.
"""

from __future__ import annotations

import itertools
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import BinaryIO

from PIL import Image, ImageFile
from PIL.GifImagePlugin import GifImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.WebPImagePlugin import WebPImageFile

from ..errors import GiveUp, HarvestError, ServerTrouble
from .formats import GIF, JPEG, PNG, WEBP, Format
from .settings import MediaSettings

READERS: dict[Format, type[ImageFile.ImageFile]] = {
    JPEG: JpegImageFile,
    PNG: PngImageFile,
    WEBP: WebPImageFile,
    GIF: GifImageFile,
}
MOST_SCANS = 100  # of a progressive JPEG, each a pass over all pixels; encoders make about ten
HASHED_FROM = (256, 192)  # from fewer pixels the same picture in two sizes hashes too differently
DAMAGED = "damaged or cut short"

# Filters of warnings belong to the process and not to a thread, so they are set once. What Pillow
# has to say about a strange file is noise, except that its own limit on pixels is passed.
warnings.filterwarnings("ignore", module=r"PIL\.")
warnings.simplefilter("error", Image.DecompressionBombWarning)
logging.getLogger("PIL").setLevel(logging.INFO)  # it has a line for each chunk of a PNG


def limit_pixels(number: int) -> None:
    """Pillow's own limit, one for the process: it holds where a GIF grows while it is read."""
    Image.MAX_IMAGE_PIXELS = number


@contextmanager
def opened(file: BinaryIO, form: Format, settings: MediaSettings) -> Iterator[ImageFile.ImageFile]:
    """The picture, nothing of it decoded yet; whatever goes wrong with it becomes GiveUp."""
    with refusing():
        file.seek(0)
        with READERS[form](file) as picture:
            check_size(*picture.size, settings)
            if picture.info.get("progressive"):
                check_scans(_scans_in(file))
            yield picture


@contextmanager
def refusing() -> Iterator[None]:
    """Whatever goes wrong with a picture becomes GiveUp."""
    try:
        yield
    except HarvestError:
        raise
    except MemoryError as error:  # it may be a good one
        raise ServerTrouble("there is not enough memory to look at it") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise GiveUp("too many pixels") from error
    except Exception as error:  # decoders raise anything on hostile bytes
        raise GiveUp(DAMAGED) from error


def reduce_decoding(picture: ImageFile.ImageFile) -> None:
    """Let a JPEG be decoded in grey and no larger than its hash needs; others are as they are.

    Its decoder still reads every code word of every scan, so what is damaged or missing is found
    as before, in a third of the time.
    """
    picture.draft("L", HASHED_FROM)


def frames(picture: ImageFile.ImageFile, settings: MediaSettings) -> Iterator[ImageFile.ImageFile]:
    """The picture at each of its frames, decoded; stops at the first that is too much."""
    pixels = 0
    for number in itertools.count():
        try:
            picture.seek(number)
        except EOFError:
            return
        if number >= settings.max_frames:
            raise GiveUp(f"too many frames (more than {settings.max_frames})")
        if number:  # the first was checked when it was opened, and may be decoded smaller
            check_size(*picture.size, settings)
        pixels += picture.width * picture.height
        if pixels > settings.max_frame_pixels:
            raise GiveUp(f"too many pixels in its frames (more than {settings.max_frame_pixels})")
        picture.load()
        yield picture


def check_size(width: int, height: int, settings: MediaSettings) -> None:
    if width * height > settings.max_pixels:
        raise GiveUp(f"too many pixels ({width}x{height})")
    if min(width, height) < settings.min_side:
        raise GiveUp(f"too small ({width}x{height})")


def check_scans(scans: int) -> None:
    if scans > MOST_SCANS:
        raise GiveUp(f"too many scans ({scans})")


def _scans_in(file: BinaryIO) -> int:
    place = file.tell()
    file.seek(0)
    scans = sum(chunk.count(b"\xff\xda") for chunk in iter(partial(file.read, 2**20), b""))
    file.seek(place)
    return scans


def dhash(picture: Image.Image) -> str:
    """16 hexadecimal digits: for each of 8 x 8 places whether it gets brighter to the right."""
    mode = "F" if picture.mode.startswith("I") else "L"  # 16 bits do not fit into L
    # A smaller gap is quicker, but then the same picture in another size has another hash.
    grey_one = picture if picture.mode == mode else picture.convert(mode)
    small = grey_one.resize((9, 8), Image.Resampling.BOX, reducing_gap=24.0)
    grey = memoryview(small.tobytes()).cast("f" if mode == "F" else "B")
    bits = 0
    for row in range(0, 72, 9):
        for place in range(row, row + 8):
            bits = bits << 1 | (grey[place] < grey[place + 1])
    return f"{bits:016x}"


def differing_bits(one: str, other: str) -> int:
    """How unlike two hashes are, from 0 to 64.

    >>> differing_bits("00000000000000ff", "000000000000000f")
    4
    """
    return (int(one, 16) ^ int(other, 16)).bit_count()

"""What a good sound is: WAV, Ogg, FLAC or MP3, whole, to be heard, neither too short nor too long.

Every sample that its header or its pages promise is decoded. Limits: an MP3 whose header does not
say how long it is may have been cut between two of its frames, unless its provider knows its
length; if its bit rate varies as well it is refused, because the decoder stops where it guesses the
end.
"""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any, BinaryIO

from .errors import GiveUp, HarvestError, ServerTrouble
from .media.formats import FLAC, MP3, OGG, WAV, Facts, Format
from .media.mpeg import Frames, frames_of
from .media.ogg import check_pages
from .media.settings import MediaSettings

NOUN = "a sound"
ACCEPT = "audio/ogg, audio/mpeg, audio/flac, audio/wav"
FORMATS = frozenset({WAV, OGG, FLAC, MP3})
CONTAINERS = {"WAV": WAV, "WAVEX": WAV, "OGG": OGG, "FLAC": FLAC, "MP3": MP3, "MPEG": MP3}
BLOCK = 2**17  # samples decoded at once
MOST_CHANNELS = 8
HIGHEST_RATE = 192_000
QUIETEST = 1 / 2**15  # a sample below has no bit in 16
CUT_SHORT = "cut short"
DROPPED = 2  # frames of an MP3 that a decoder may leave out at the ends of a sound


def max_bytes(settings: MediaSettings) -> int:
    return settings.sound_max_bytes


def prove(file: BinaryIO, form: Format, settings: MediaSettings) -> Facts:
    """Decodes all of it, a block at a time."""
    try:
        frames = _check_container(file, form)
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        with library().SoundFile(file.fileno(), closefd=False) as sound:
            return Facts(duration=round(_listen(sound, form, frames, settings), 3))
    except HarvestError:
        raise
    except MemoryError as error:  # it may be a good one
        raise ServerTrouble("there is not enough memory to look at it") from error
    except Exception as error:  # decoders raise anything on hostile bytes
        raise GiveUp("damaged or cut short") from error


@functools.cache
def library() -> Any:
    """Imported where sounds are wanted: with NumPy it costs a fifth of a second. Not as late as the
    first sound comes: what is lacking then, memory or open files, would be taken for its fault."""
    import soundfile

    _silence_c_libraries()
    return soundfile


def _silence_c_libraries() -> None:
    """mpg123 writes to C's stderr about every odd file, into our bars.

    Python writes to the descriptor behind it and is heard as before.
    """
    try:
        libc = ctypes.CDLL(None)
        stderr = ctypes.c_void_p.in_dll(libc, "stderr")
        libc.fopen.restype = ctypes.c_void_p
        stderr.value = libc.fopen(os.devnull.encode(), b"w") or stderr.value
    except (AttributeError, OSError, ValueError):
        return  # another C library: then it is not silent


def _listen(sound: Any, form: Format, mp3: Frames | None, settings: MediaSettings) -> float:
    """Its seconds, all of them decoded."""
    rate, channels = sound.samplerate, sound.channels
    if CONTAINERS.get(sound.format) != form:
        raise GiveUp(f"another sound inside ({sound.format})")
    if rate > HIGHEST_RATE or channels > MOST_CHANNELS:
        raise GiveUp(f"a strange sound ({channels} channels, {rate} Hz)")
    _check_seconds(sound.frames / rate, settings)
    frames = _decode(sound, round(settings.max_seconds * rate))
    if sound.frames < (promised := _promised(sound, mp3)):
        raise GiveUp("no header says how long it is")
    if frames < promised:
        raise GiveUp(CUT_SHORT)
    _check_seconds(frames / rate, settings)
    return float(frames / rate)


def _promised(sound: Any, mp3: Frames | None) -> int:
    """How many there must be; of an MP3 without a header the decoder only guesses."""
    if mp3 is None or mp3.is_promised:
        return int(sound.frames)
    return (mp3.number - DROPPED) * mp3.samples


def _decode(sound: Any, most: int) -> int:
    """How many frames there are, or a few more than `most`."""
    import numpy

    block = numpy.empty((BLOCK // sound.channels, sound.channels), numpy.float32)
    frames, heard = 0, False
    while frames <= most and (count := sound.buffer_read_into(block, "float32")):
        frames += count
        heard = heard or bool(numpy.abs(block[:count]).max() >= QUIETEST)
    if frames and not heard:
        raise GiveUp("silence")
    return frames


def _check_seconds(seconds: float, settings: MediaSettings) -> None:
    if seconds < settings.min_seconds:
        raise GiveUp(f"too short ({seconds:.2f} s)")
    if seconds > settings.max_seconds:
        raise GiveUp(f"too long (more than {settings.max_seconds:g} s)")


def _check_container(file: BinaryIO, form: Format) -> Frames | None:
    """The decoder takes these as they end; only the container shows that something is missing."""
    if form == MP3:
        return frames_of(file)
    if form == WAV:
        _check_riff(file)
    elif form == OGG:
        check_pages(file)
    return None


def _check_riff(file: BinaryIO) -> None:
    file.seek(4)
    promised = 8 + int.from_bytes(file.read(4), "little")
    if promised > file.seek(0, os.SEEK_END):
        raise GiveUp(CUT_SHORT)

"""Sounds that say what they are of: the words in Morse code.

Promise: the same words and look give the same bytes in every process with the same libsndfile; a
dot lasts 25 ms, a dash three dots, and the pitch comes from the look. Long words end early.
"""

from __future__ import annotations

import io
from functools import lru_cache
from hashlib import blake2b
from struct import pack
from typing import NamedTuple
from zlib import crc32

import numpy as np
import soundfile

RATE = 8_000
DOT_S = 0.025
MOST_LETTERS = 24
_TABLE = """
    a .- b -... c -.-. d -.. e . f ..-. g --. h .... i .. j .--- k -.- l .-.. m -- n -. o ---
    p .--. q --.- r .-. s ... t - u ..- v ...- w .-- x -..- y -.-- z --..
    0 ----- 1 .---- 2 ..--- 3 ...-- 4 ....- 5 ..... 6 -.... 7 --... 8 ---.. 9 ----.
    . .-.-.- , --..-- ' .----. - -....-
"""
_PARTS = _TABLE.split()
CODES = dict(zip(_PARTS[::2], _PARTS[1::2], strict=True))

_DOT = round(RATE * DOT_S)
_FORMATS = {
    "flac": ("FLAC", "PCM_S8"),
    "ogg": ("OGG", "VORBIS"),
    "mp3": ("MP3", "MPEG_LAYER_III"),
}
_LOWEST_HZ, _PITCHES = 400, 12
_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))

Samples = np.ndarray[tuple[int], np.dtype[np.int16]]


class Sound(NamedTuple):
    content: bytes
    seconds: float


def voiced(words: str) -> str:
    """What of the words is heard.

    >>> voiced("washington, d.c united states"), voiced("a_b")
    ('washington, d.c united s', 'ab')
    """
    return "".join(each for each in words.lower() if each in CODES or each == " ")[:MOST_LETTERS]


def morse(words: str, look: str, extension: str) -> Sound:
    pitch = blake2b(look.encode(), digest_size=1).digest()[0] % _PITCHES
    pause = _silence(4)
    samples = np.concatenate([pause, *(_letter(each, pitch) for each in voiced(words)), pause])
    return Sound(_saved(samples, extension), len(samples) / RATE)


def _saved(samples: Samples, extension: str) -> bytes:
    if extension == "wav":
        return _wav_head(len(samples)) + ((samples >> 8) + 128).astype(np.uint8).tobytes()
    container, coding = _FORMATS[extension]
    file = io.BytesIO()
    soundfile.write(file, samples, RATE, format=container, subtype=coding)
    content = file.getvalue()
    return _with_fixed_serial(content) if extension == "ogg" else content


def _wav_head(length: int) -> bytes:
    """Of one channel, a byte for each sample."""
    about = pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, RATE, RATE, 1, 8)
    return pack("<4sI4s", b"RIFF", 36 + length, b"WAVE") + about + pack("<4sI", b"data", length)


@lru_cache(maxsize=_PITCHES * (len(CODES) + 1))
def _letter(letter: str, pitch: int) -> Samples:
    """The signs of a letter and the pause behind it; a space makes that pause longer."""
    if letter == " ":
        return _silence(4)
    signs = [part for sign in CODES[letter] for part in (_tone(sign, pitch), _silence(1))]
    return np.concatenate([*signs, _silence(2)])


def _tone(sign: str, pitch: int) -> Samples:
    times = np.arange(_DOT if sign == "." else 3 * _DOT)
    wave = np.sin(times * (2 * np.pi * (_LOWEST_HZ + 50 * pitch) / RATE))
    edges = np.minimum(1.0, np.minimum(times, times[::-1]) / (_DOT / 8))  # without a click
    tone: Samples = (wave * edges * 16_000).astype(np.int16)
    return tone


def _silence(dots: int) -> Samples:
    return np.zeros(dots * _DOT, np.int16)


def _with_fixed_serial(ogg: bytes) -> bytes:
    """libsndfile gives each Ogg stream a random number; the same sound must be the same bytes."""
    pages, start = [], 0
    while start < len(ogg):
        segments = ogg[start + 26]
        lengths = ogg[start + 27 : start + 27 + segments]
        end = start + 27 + segments + sum(lengths)
        head, rest = ogg[start : start + 14], ogg[start + 18 : start + 22]
        tail = ogg[start + 26 : end]
        checksum = _ogg_checksum(head + bytes(4) + rest + bytes(4) + tail)
        pages.append(head + bytes(4) + rest + checksum + tail)
        start = end
    return b"".join(pages)


def _ogg_checksum(page: bytes) -> bytes:
    """Ogg's CRC is zlib's with every bit order turned round, and without its inversions."""
    mirrored = crc32(page.translate(_MIRRORED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return mirrored.to_bytes(4, "big").translate(_MIRRORED)

"""Sounds that belong to what they are of: each letter a note, each kind of thing an instrument.

Promise: the same words and look give the same bytes in every process with the same libsndfile. A
name has the same tune wherever it is heard, in the key of the look: a relation is the tune of its
start, a pause, and the tune of its end. A number is struck as often as it says. Long names end
early, short ones are heard twice.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import lru_cache
from struct import pack
from typing import NamedTuple
from zlib import crc32

import numpy as np
import soundfile

from .chance import chance
from .subject import motif_of, subject

RATE = 8_000
STEP_S = 0.125  # from note to note
MOST_NOTES = 12  # of a name
SCALE = (0, 2, 4, 7, 9, 12, 14, 16, 19, 21)  # half tones: five to the octave, any two sound well
PAUSE = -1
KEYS = 7
LONGEST_S = 0.6  # of a note


class Instrument(NamedTuple):
    """Its tones above the note, each with how loud it is, and how long it rings."""

    tones: Sequence[tuple[float, float]]
    ring_s: float


INSTRUMENTS = {
    "marimba": Instrument(((1, 1.0), (4, 0.22)), 0.16),
    "harp": Instrument(((1, 1.0), (2, 0.4), (3, 0.16)), 0.18),
    "flute": Instrument(((1, 1.0), (2, 0.12)), 0.18),
    "bell": Instrument(((1, 1.0), (2.76, 0.3), (5.4, 0.1)), 0.18),
}
_LIVING = "dog cat rodent rabbit mammal hoofed bird fish insect reptile frog paw"
_GROWN = "tree flower plant herb fruit vegetable water sky cold fire place"
_HUMAN = "person body feeling talk sleep idea music eat"
_PLAYED = {
    **dict.fromkeys(_LIVING.split(), "marimba"),
    **dict.fromkeys(_GROWN.split(), "harp"),
    **dict.fromkeys(_HUMAN.split(), "flute"),
}
_USUAL = "bell"
_SHORT = 6  # notes
_LOWEST_HZ = 196.0
_LOUD = 8_000
_STEP, _LONGEST = round(RATE * STEP_S), round(RATE * LONGEST_S)
_FORMATS = {
    "flac": ("FLAC", "PCM_16"),
    "ogg": ("OGG", "VORBIS"),
    "mp3": ("MP3", "MPEG_LAYER_III"),
}
_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))

Samples = np.ndarray[tuple[int], np.dtype[np.int16]]


class Sound(NamedTuple):
    content: bytes
    seconds: float


def tune(name: str) -> list[int]:
    """The places of its notes in the scale; vowels are the higher ones, and none comes twice in a
    row.

    >>> tune("dog"), tune("three"), tune("a bee")
    ([3, 9, 1], [9, 8, 9], [5, -1, 1, 9, 8])
    """
    letters = "o" * _number(name) or name.lower()
    notes: list[int] = []
    for letter in letters[:MOST_NOTES]:
        note = _note(letter) if letter.isalnum() else PAUSE
        is_again = notes and note == notes[-1] != PAUSE
        notes.append(abs(note - 1) if is_again else note)
    return notes


def _number(name: str) -> int:
    return int(motif_of(name).partition(" ")[2] or 0)


def _note(letter: str) -> int:
    place = ord(letter) % 97 % 5
    return 5 + place if letter in "aeiou" else place


def score(words: str) -> list[tuple[int, str]]:
    """Each note of a text, and the instrument that plays it."""
    _, start, end = subject(words)
    first, *others = [
        [(note, instrument(name)) for note in tune(name)] for name in (start, end) if name
    ]
    if not others and len(first) < _SHORT and not _number(start):
        others = [first]
    return first + [note for other in others for note in [(PAUSE, ""), *other]]


def instrument(name: str) -> str:
    return _PLAYED.get(motif_of(name), _USUAL)


def hertz(note: int, key: int) -> float:
    return float(_LOWEST_HZ * 2 ** ((key + SCALE[note]) / 12))


def key_of(look: str) -> int:
    return chance("key", look) % KEYS


def played(words: str, look: str, extension: str) -> Sound:
    notes, key = score(words), key_of(look)
    samples = np.zeros(len(notes) * _STEP + _LONGEST, np.int16)
    for at, (note, by) in enumerate(notes):
        if note != PAUSE:
            samples[at * _STEP :][:_LONGEST] += _sound(note, by, key)
    return Sound(_saved(samples, extension), len(samples) / RATE)


@lru_cache(maxsize=KEYS * len(SCALE) * len(INSTRUMENTS))
def _sound(note: int, by: str, key: int) -> Samples:
    """One note, from a soft beginning until it is not heard any more."""
    times = np.arange(_LONGEST) / RATE
    tones, ring_s = INSTRUMENTS[by]
    wave = np.zeros(_LONGEST)
    for above, loud in tones:
        frequency = above * hertz(note, key)
        if frequency < RATE / 2:
            wave += loud * np.sin(2 * np.pi * frequency * times) * np.exp(-times * above / ring_s)
    edges = np.minimum(1.0, np.minimum(times, times[::-1]) / 0.008)  # without a click
    sound: Samples = (wave * edges * _LOUD).astype(np.int16)
    return sound


def _saved(samples: Samples, extension: str) -> bytes:
    if extension == "wav":
        return _wav_head(len(samples)) + samples.astype("<i2").tobytes()
    container, coding = _FORMATS[extension]
    file = io.BytesIO()
    soundfile.write(file, samples, RATE, format=container, subtype=coding)
    content = file.getvalue()
    return _with_fixed_serial(content) if extension == "ogg" else content


def _wav_head(length: int) -> bytes:
    """Of one channel, two bytes for each sample."""
    about = pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, RATE, 2 * RATE, 2, 16)
    size = 2 * length
    return pack("<4sI4s", b"RIFF", 36 + size, b"WAVE") + about + pack("<4sI", b"data", size)


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

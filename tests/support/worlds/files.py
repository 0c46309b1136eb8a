"""Media files, good and bad, and a server that sends them as badly as one likes."""

from __future__ import annotations

import functools
import io
import itertools
import socket
import struct
import zlib
from typing import NamedTuple

import numpy as np
import soundfile
from numpy.typing import NDArray
from PIL import Image

from tests.support.worlds.faults import FaultServer, Request

RATE = 44_100
SOUNDS = {
    "wav": ("WAV", "PCM_16"),
    "float.wav": ("WAV", "FLOAT"),
    "ogg": ("OGG", "VORBIS"),
    "opus": ("OGG", "OPUS"),
    "flac": ("FLAC", "PCM_16"),
    "mp3": ("MP3", "MPEG_LAYER_III"),
}


# ---- pictures


@functools.cache
def photo(seed: int = 1, width: int = 512, height: int = 384) -> Image.Image:
    """Smooth patches with grain; another seed looks quite different."""
    random = np.random.default_rng(seed)
    patches = Image.fromarray(random.integers(0, 256, (6, 8, 3), dtype=np.uint8))
    smooth = np.asarray(patches.resize((width, height), Image.Resampling.BICUBIC)).astype(int)
    grainy = smooth + random.integers(-20, 20, smooth.shape)
    return Image.fromarray(grainy.clip(0, 255).astype(np.uint8))


def encoded(picture: Image.Image, form: str, **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, form, **options)
    return file.getvalue()


@functools.cache
def image(form: str = "jpeg", seed: int = 1, width: int = 512, height: int = 384) -> bytes:
    return encoded(photo(seed, width, height), form)


@functools.cache
def animation(form: str = "gif", count: int = 4, seed: int = 1, width: int = 200) -> bytes:
    """Frames of 80 ms; those of a GIF have few colours."""
    frames = [photo(seed + number, width, width * 3 // 4) for number in range(count)]
    if form == "gif":
        frames = [each.quantize(64) for each in frames]
    return encoded(frames[0], form, save_all=True, append_images=frames[1:], duration=80)


@functools.cache
def png_bomb(width: int, height: int) -> bytes:
    """A whole black PNG of one bit a pixel: a thousandth of the memory it asks for."""
    packer = zlib.compressobj(9)
    row = bytes(1 + (width + 7) // 8)
    rows = [packer.compress(row * 100) for _ in range(height // 100)]
    rows.append(packer.compress(row * (height % 100)) + packer.flush())
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", b"".join(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_png_chunk(*each) for each in chunks)


def _png_chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


class GifFrame(NamedTuple):
    """One black pixel, whatever size it claims to have."""

    left: int = 0
    top: int = 0
    width: int = 1
    height: int = 1
    disposal: int = 0

    def bytes(self) -> bytes:
        control = struct.pack("<BBBBHBB", 0x21, 0xF9, 4, self.disposal << 2, 5, 0, 0)
        place = struct.pack("<BHHHHB", 0x2C, self.left, self.top, self.width, self.height, 0)
        return control + place + b"\x02\x02\x44\x01\x00"


def gif_of(width: int, height: int, *frames: GifFrame) -> bytes:
    """A GIF written by hand, as no encoder would."""
    screen = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 1, 0) + b"\0\0\0\xff\xff\xff"
    return screen + b"".join(each.bytes() for each in frames) + b";"


# ---- sounds


def tone(seconds: float = 1.0, rate: int = RATE) -> NDArray[np.float32]:
    moments = np.arange(round(seconds * rate)) / rate
    return (0.3 * np.sin(2 * np.pi * 440 * moments)).astype(np.float32)


def as_sound(samples: NDArray[np.float32], form: str, rate: int = RATE) -> bytes:
    container, codec = SOUNDS[form]
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format=container, subtype=codec)
    return file.getvalue()


@functools.cache
def sound(form: str = "wav", seconds: float = 1.0, rate: int = RATE) -> bytes:
    rate = 48_000 if form == "opus" else rate
    return as_sound(tone(seconds, rate), form, rate)


@functools.cache
def silence(form: str = "wav", seconds: float = 1.0) -> bytes:
    rate = 48_000 if form == "opus" else RATE
    return as_sound(np.zeros(round(seconds * rate), np.float32), form, rate)


# ---- their server


class Offer(NamedTuple):
    body: bytes
    mime: str
    headers: tuple[tuple[str, str], ...]
    sent: int  # bytes of the body, then the connection ends
    tells_length: bool
    only_from_hit: int


class FileServer(FaultServer):
    """A fault server that has files, too."""

    def __init__(self) -> None:
        super().__init__()
        self._offers: dict[str, Offer] = {}
        self._numbers = itertools.count()

    def offer(
        self,
        body: bytes,
        mime: str = "application/octet-stream",
        *headers: tuple[str, str],
        sent: int | None = None,
        tells_length: bool = True,
        only_from_hit: int = 1,
    ) -> str:
        """Its address. Before hit number `only_from_hit` comes more than it, but not all of it."""
        path = f"/file/{next(self._numbers)}"
        sent = len(body) if sent is None else sent
        self._offers[path] = Offer(body, mime, headers, sent, tells_length, only_from_hit)
        return self.url + path

    def _fault(self, connection: socket.socket, request: Request, steps: list[str]) -> bool:
        offer = self._offers.get(request.path)
        if offer is None:
            return super()._fault(connection, request, steps)
        if self.hits[request.path] < offer.only_from_hit:
            longer = offer.body + bytes(300_000)
            offer = offer._replace(body=longer, sent=len(longer) - 1)
        headers = [("Content-Type", offer.mime), *offer.headers]
        if offer.tells_length:
            headers.append(("Content-Length", str(len(offer.body))))
        lines = ["HTTP/1.1 200 OK", *(f"{name}: {value}" for name, value in headers), "", ""]
        connection.sendall("\r\n".join(lines).encode("latin-1") + offer.body[: offer.sent])
        return offer.tells_length and offer.sent == len(offer.body)

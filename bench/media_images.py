"""The images of `bench/media.py`, and a server that has them in memory.

python -m bench.media_images FOLDER
"""

from __future__ import annotations

import asyncio
import io
import random
import sys
import time
from pathlib import Path

from PIL import Image

from bench.server import Connection, Served, answer

FOR_EACH = 5  # images of a concept
SIZE = (512, 384)
GRID = (9, 8)  # places whose colours make two images look different


def make_images(folder: Path, count: int) -> int:
    """How many bytes they are together."""
    folder.mkdir()
    width, height = SIZE
    grain = Image.frombytes(
        "RGB", (2 * width, 2 * height), random.Random(0).randbytes(12 * width * height)
    )
    return sum((folder / image_path(n)[1:]).write_bytes(made_up(n, grain)) for n in range(count))


def made_up(number: int, grain: Image.Image) -> bytes:
    """Patches of colour under grain: 40 to 80 KB, and none looks like another."""
    chance = random.Random(number)
    width, height = SIZE
    patches = Image.frombytes("RGB", GRID, chance.randbytes(3 * GRID[0] * GRID[1]))
    x, y = chance.randrange(width), chance.randrange(height)
    part = grain.crop((x, y, x + width, y + height))
    smooth = patches.resize(SIZE, Image.Resampling.BICUBIC)
    written = io.BytesIO()
    Image.blend(smooth, part, chance.uniform(0.15, 0.35)).save(written, "JPEG", quality=80)
    return written.getvalue()


def image_path(number: int) -> str:
    return f"/{number}.jpg"


def image_url(url: str, number: int) -> str:
    return f"{url}{image_path(number)}"


# --- the server ------------------------------------------------------------------------------


class Counted(Served):
    """Tells its processor's time too."""

    def __init__(self) -> None:
        super().__init__()
        self.cpu = time.process_time()

    def take(self) -> bytes:
        told = {"pages": self.pages, "cpu": time.process_time() - self.cpu}
        self.__init__()  # type: ignore[misc]
        return answer(told)


async def serve(folder: Path) -> None:
    """Like the server of `fetch`, for as many connections as somebody opens."""
    paths = sorted(folder.glob("*.jpg"))
    images = {f"/{path.name}".encode(): as_answer(path.read_bytes()) for path in paths}
    served, ended = Counted(), asyncio.Event()
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(
        lambda: Connection(images, 0.0, served), "127.0.0.1", 0, backlog=2048
    )
    print(listening.sockets[0].getsockname()[1], flush=True)
    loop.add_reader(sys.stdin, ended.set)
    await ended.wait()
    listening.close()


def as_answer(image: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nContent-Length: {len(image)}\r\n"
    return head.encode() + b"\r\n" + image


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))

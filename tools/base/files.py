"""Files that appear whole or not at all.

Promise: whatever ends the process, there is the old content under a name or the new one, never a
part of it. Whoever writes decides whether it is durable: then the bytes are on the disk before they
have the name, and the name is on the disk before anybody goes on, so that a power cut takes back
nothing either. That costs milliseconds; what can be made again does without.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole_file(path: Path, *, durable: bool, part: Path | None = None) -> Iterator[Path]:
    """Where to write what appears at `path` if all goes well. Else nothing is left behind: it may
    hold the room that is lacking. Those who may write the same file together bring their `part`."""
    part = part or path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)  # left by a kill
    try:
        yield part
        publish(part, path, durable=durable)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def write_whole(
    path: Path, content: bytes | Iterable[bytes], *, durable: bool, part: Path | None = None
) -> None:
    with whole_file(path, durable=durable, part=part) as unfinished, unfinished.open("wb") as file:
        file.writelines([content] if isinstance(content, bytes) else content)


def publish(part: Path, path: Path, *, durable: bool) -> None:
    """Give a finished file its name."""
    if durable:
        sync(part)
    part.replace(path)
    if durable:
        sync(path.parent)


def sync(path: Path) -> None:
    """A file's bytes, or the names in a folder, are on the disk when this returns."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_all(fd: int, content: bytes) -> None:
    """The system may take a part of what it is given."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]

"""What a server that runs has in the state folder for programs of its owner: its token, and the
way in for a browser.

Promise: nobody else can read such a file, no link that somebody put there is followed, it is whole
when it is seen, and it goes with its server unless another one has written its own since.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..base.files import whole_file


@contextmanager
def own_file(file: Path, text: str) -> Iterator[str]:
    """As long as the `with` lasts. What keeps it from being written is told; empty if it is."""
    trouble = ""
    try:
        _write(file, text.encode())
    except OSError as error:
        trouble = f"{file} cannot be written ({error.strerror})"
    try:
        yield trouble
    finally:
        with suppress(OSError):
            if file.read_bytes() == text.encode():
                file.unlink()


def _write(file: Path, content: bytes) -> None:
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    with (
        whole_file(file, durable=False, part=part),
        open(part, "xb", opener=lambda path, how: os.open(path, how, 0o600)) as opened,
    ):
        opened.write(content)

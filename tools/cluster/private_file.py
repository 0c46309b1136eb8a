"""Files that only their owner can read, from their first byte on."""

from __future__ import annotations

import os
from pathlib import Path

from ..base.files import whole_file, write_all

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_private(path: Path, text: str) -> None:
    """Durable: a key that is lost with the power is a node that has to be added again."""
    with whole_file(path, durable=True) as part:
        fd = os.open(part, _FLAGS, 0o600)
        try:
            write_all(fd, text.encode())
        finally:
            os.close(fd)

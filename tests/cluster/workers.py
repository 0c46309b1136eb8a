"""The processes that tests of this room have started: others of the same run have some, too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tools.base.resident import descendants

ANY = "tests.cluster."


def workers(program: str = ANY) -> Iterator[int]:
    for pid in descendants(os.getpid()):
        with suppress(OSError):  # it has just ended
            if program.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                yield pid

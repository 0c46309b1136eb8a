"""Which node it is, however often its process is begun anew."""

from __future__ import annotations

import uuid
from pathlib import Path

from ..base.files import write_whole

FILE = "NODE"


def home_of(state: Path) -> str:
    """A name that no other folder has: who comes with it again is the same node."""
    file = state / FILE
    if not file.exists():
        write_whole(file, uuid.uuid4().hex.encode(), durable=True)
    return file.read_text(encoding="ascii", errors="replace")[:64]

"""What a running harvest is asked to do by other processes: put failed URIs back to work.

A wish is a file in the state folder. Whoever holds the folder takes it; one that came too late is
taken by the next start.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

FOLDER = "wishes"


def leave_wish(state: Path, reason: str) -> None:
    folder = state / FOLDER
    folder.mkdir(exist_ok=True)
    wish = folder / f"{time.time_ns()}.retry"
    part = wish.with_suffix(".part")
    part.write_text(reason, encoding="utf-8")
    part.replace(wish)


def take_wishes(state: Path, revive: Callable[[str], int]) -> int:
    """Do what was asked for, then forget it; how many URIs go back to work."""
    revived = 0
    for wish in sorted((state / FOLDER).glob("*.retry")):
        revived += revive(wish.read_text(encoding="utf-8"))
        wish.unlink(missing_ok=True)
    return revived

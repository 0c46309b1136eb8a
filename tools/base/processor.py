"""How many cores we may use."""

from __future__ import annotations

import os


def cores() -> int:
    """Only Linux tells which of the computer's are ours."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

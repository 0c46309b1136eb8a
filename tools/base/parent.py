"""A process that does not outlive the one that started it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

DIE_WITH_PARENT, ADOPT_ORPHANS = 1, 36  # as prctl numbers them


def belong_to(parent: int, adopts: bool = False) -> None:
    """End with it, however it ends. 0: it is in another namespace, and its end is seen to. Limit:
    the system means the thread that started us, so that has to live as long."""
    if sys.platform != "linux":
        return  # it ends when nobody is at the other end of its link
    control = ctypes.CDLL(None).prctl
    control(DIE_WITH_PARENT, int(signal.SIGKILL), 0, 0, 0)
    if adopts:
        control(ADOPT_ORPHANS, 1, 0, 0, 0)
    if parent and os.getppid() != parent:
        os._exit(1)

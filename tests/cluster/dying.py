"""The program of a node that is killed at a step of its work, between any two things that it
writes: python -m tests.cluster.dying STEP PYTHON main.py node ..."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from tools.cluster.engagement import Engagement
from tools.cluster.pending import Pending
from tools.media.ledger import Ledger

STEPS: dict[str, tuple[type[Any], str, bool]] = {
    "before its files are written down": (Pending, "keep", False),
    "before anybody is told": (Pending, "keep", True),
    "before the verdict is obeyed": (Engagement, "judged", False),
    "before files are booked": (Ledger, "add", False),
    "before what is booked is struck off": (Ledger, "add", True),
    "after all of it": (Pending, "forget", True),
}
SURVIVED = 1  # so often it goes well before


def dies(kind: type[Any], name: str, is_after: bool) -> None:
    known: Callable[..., Any] = getattr(kind, name)
    calls = 0

    def dying(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > SURVIVED and not is_after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = known(*arguments)
        if calls > SURVIVED:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(kind, name, dying)


if __name__ == "__main__":
    dies(*STEPS[sys.argv[1]])
    sys.argv = sys.argv[3:]
    from main import main

    sys.exit(main(sys.argv[1:]))

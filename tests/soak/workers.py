"""The worker processes of a harvest, seen from outside: who is there, and who stayed behind."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Event

from tools.cluster.worker import FIRST_TO_GO

PROGRAM = b"conceptnet_processes"
GONE_S = 10.0
FEW_LOOKS = 15


def impatient(*arguments: object, folder: Path | None = None) -> list[str]:
    """main.py that misses a worker which stands still after some seconds, not after half a minute;
    its workers look for modules in that folder first."""
    path = f"sys.path.insert(0, {str(folder)!r}); " if folder else ""
    code = f"import sys; {path}from tools.cluster import crew; crew.SILENT_LOOKS = {FEW_LOOKS}; "
    code += "from tools.commands.line import main; sys.exit(main())"
    return [sys.executable, "-c", code, *map(str, arguments)]


def workers_of(pid: int) -> list[int]:
    """Also when that harvest is no more: each of them was told whose it is."""
    return [each for each, words in _commands() if words[-1] == str(pid).encode()]


def has_begun(pid: int) -> bool:
    """Python itself has been loaded: from then on it ends with its harvest, whatever it does."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == FIRST_TO_GO
    return False


def stayed_behind(pid: int, seconds: float = GONE_S) -> list[int]:
    """Those that are still there so long after their harvest."""
    deadline = time.monotonic() + seconds
    while (left := workers_of(pid)) and time.monotonic() < deadline:
        Event().wait(0.01)
    return left


def _commands() -> list[tuple[int, list[bytes]]]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has just ended
            words = path.read_bytes().rstrip(b"\0").split(b"\0")
            if any(word.endswith(PROGRAM) for word in words):
                found.append((int(path.parent.name), words))
    return found

"""Runs a command and prints what it cost, as JSON: seconds of the processor, MB of memory.

A small process, because the system counts the memory of whoever starts a process as that process's.
What the command leaves behind when it ends comes to this one, and its time counts too.

    python bench/usage.py COMMAND...
"""

import ctypes
import json
import os
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = 1.0


def main(command: list[str]) -> int:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    started = os.spawnvp(os.P_NOWAIT, command[0], command)
    _, status, usage = os.wait4(started, 0)
    cpu = usage.ru_utime + usage.ru_stime + of_orphans()
    print(json.dumps({"cpu": cpu, "mb": usage.ru_maxrss / 1024}), flush=True)
    return os.waitstatus_to_exitcode(status)


def of_orphans() -> float:
    """Seconds of those whose parent has ended before them; a daemon is not waited for."""
    cpu, until = 0.0, time.monotonic() + PATIENCE_S
    try:
        while time.monotonic() < until:
            process, _, usage = os.wait4(-1, os.WNOHANG)
            cpu += usage.ru_utime + usage.ru_stime if process else 0.0
            time.sleep(0 if process else 0.02)
    except ChildProcessError:
        pass
    return cpu


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Runs a command and prints what it cost, as JSON: seconds of the processor, MB of memory.

A small process, because the system counts the memory of whoever starts a process as that process's.

    python bench/usage.py COMMAND...
"""

import json
import os
import sys


def main(command: list[str]) -> int:
    started = os.spawnvp(os.P_NOWAIT, command[0], command)
    _, status, usage = os.wait4(started, 0)
    spent = {"cpu": usage.ru_utime + usage.ru_stime, "mb": usage.ru_maxrss / 1024}
    print(json.dumps(spent), flush=True)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""One way out for every script: what a command raises becomes an exit code and a sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from ..base.say import say
from ..errors import HarvestError

INTERRUPTED = 130


def entry(name: str, run: Callable[[], int]) -> int:
    """`name` begins the sentence. What the command writes is closed to other users."""
    os.umask(0o077)
    try:
        return run()
    except HarvestError as error:
        say(f"{name}: {error}", sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # whoever reads what we print has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED

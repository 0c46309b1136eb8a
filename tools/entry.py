"""The command `sheaf`: what main.py, history.py and clear.py together are in a clone."""

from __future__ import annotations

from .base import start  # noqa: F401  # before whatever may be missing

# isort: split
import sys
from collections.abc import Sequence

from .base import extras
from .base.say import say
from .commands import line
from .errors import UsageError


def main(argv: Sequence[str] | None = None) -> int:
    try:
        with extras.named():
            return line.main(argv)
    except UsageError as error:
        say(f"sheaf: {error}", sys.stderr)
        return error.exit_code

"""How this program is called and how it calls itself: from a clone, or installed as `sheaf`.

Nothing that Python 3.8 cannot read may stand here: `start` needs it.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

PACKAGE = __name__.partition(".")[0]
IS_INSTALLED = PACKAGE == "sheaf"
"""The same folder is the package `tools` in a clone."""

_SCRIPT = re.compile(r"python (main|history|clear)\.py")
_COMMANDS = {"main": "sheaf", "history": "sheaf history", "clear": "sheaf clear"}


def as_typed_here(text: str, is_installed: bool = IS_INSTALLED) -> str:
    """A text for a user with the commands that this user can type.

    >>> as_typed_here("`python main.py stop` ends it; python history.py shows", is_installed=True)
    '`sheaf stop` ends it; sheaf history shows'
    """
    return _SCRIPT.sub(lambda found: _COMMANDS[found[1]], text) if is_installed else text


def module_command(name: str) -> list[str]:
    """Runs a module of ours in a process; it needs `module_environment`."""
    return [sys.executable, "-P", "-m", f"{PACKAGE}{name}"]


def module_environment() -> dict[str, str]:
    """The process finds the modules that we find, be they a clone's or installed ones, and no
    others: `-P` leaves out the folder it is started in."""
    folders = os.pathsep.join(str(Path(folder).resolve()) for folder in sys.path)
    return {**os.environ, "PYTHONPATH": folders}

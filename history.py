"""How far the harvest is."""

from __future__ import annotations

import tools.start  # noqa: F401  # before whatever may be missing

# isort: split
import sys

from tools.commands.history import main, parser

__all__ = ["main", "parser"]

if __name__ == "__main__":
    sys.exit(main())

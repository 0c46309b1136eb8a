"""Empties the graph, after its user typed its name."""

from __future__ import annotations

import tools.start  # noqa: F401  # before whatever may be missing

# isort: split
import sys

from tools.commands.clear import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())

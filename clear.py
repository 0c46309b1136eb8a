"""Empties the graph, after its user typed its name."""

from __future__ import annotations

import tools.base.start  # noqa: F401  # before whatever may be missing

# isort: split
import sys
from functools import partial

from tools.commands.line import script

main = partial(script, "clear")

if __name__ == "__main__":
    sys.exit(main())

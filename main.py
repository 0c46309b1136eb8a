"""Starts, resumes and steers a harvest: tools/commands has what each command does."""

from __future__ import annotations

import tools.base.start  # noqa: F401  # before whatever may be missing

# isort: split
import sys

from tools.commands.line import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())

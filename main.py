"""Starts, resumes and steers a harvest."""

from __future__ import annotations

import tools.start  # noqa: F401  # before whatever may be missing

# isort: split
import sys

from tools.commands.line import COMMANDS, load_settings, main, parser, sheets_of

__all__ = ["COMMANDS", "load_settings", "main", "parser", "sheets_of"]

if __name__ == "__main__":
    sys.exit(main())

"""Where chance begins: elsewhere each time, and where changes are judged always at one place."""

from __future__ import annotations

import os
from random import Random


def any_seed() -> int:
    """Whoever uses it prints it."""
    return 1 if os.environ.get("CI") == "true" else Random().randrange(1_000_000)

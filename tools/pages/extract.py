"""A user's own function, named in the settings as module:function, that keeps more of each page."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import UsageError


def extract_named(name: str) -> Callable[..., Any] | None:
    """None if there is no name. What the user wrote is looked for where the command was typed."""
    if not name:
        return None
    module, colon, function = name.partition(":")
    if not colon or not module or not function:
        raise UsageError(f"pages.extract must be like module:function, not {name!r}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, SyntaxError) as error:
        raise UsageError(f"pages.extract {name!r} cannot be loaded: {error}") from error
    if not callable(found):
        raise UsageError(f"pages.extract {name!r} is no function")
    return found  # type: ignore[no-any-return]

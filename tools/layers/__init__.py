"""One page of a site by a task's rules -> rows of its tables and what to ask next."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..errors import GiveUp, RetryLater
    from ..tables.rows import Row
    from .form import Form
    from .page import Page
    from .request import Request
    from .task import LayerOptions, Limits, Refill, Skipped, Task

__all__ = [
    "Form",
    "GiveUp",
    "LayerOptions",
    "Limits",
    "Page",
    "Refill",
    "Request",
    "RetryLater",
    "Row",
    "Skipped",
    "Task",
]
_HOMES = {
    **dict.fromkeys(("GiveUp", "RetryLater"), "..errors"),
    **dict.fromkeys(("LayerOptions", "Limits", "Refill", "Skipped", "Task"), ".task"),
    "Form": ".form",
    "Page": ".page",
    "Request": ".request",
    "Row": "..tables.rows",
}


def __getattr__(name: str) -> Any:
    """What a user's class needs, loaded when it is: whoever reads the settings needs none of it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)

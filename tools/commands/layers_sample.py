"""`python main.py layers --sample`: both tasks of the built-in shop, and whether their rows are
those the shop knows of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..base.say import say
from ..errors import Fatal
from ..jobs.layers_stored import counts_in
from ..sample.shop import TRUTH
from .harvest import load_settings

TASKS = ("shop", "brands")


def run_sample(run: Callable[[Any], int], options: Any) -> int:
    """The declared one and the class, one after the other."""
    found: dict[str, int] = {}
    typed = options.typed
    for name in TASKS:
        options.task, options.typed = name, [*typed, name]
        run(options)
        if options.dry_run:
            continue
        counts = counts_in(load_settings(options)) or {}
        found |= {table: count.rows for table, count in counts.items()}
    options.task = TASKS[0]  # the one to look at afterwards
    return 0 if options.dry_run else _verdict(found, options.quiet)


def _verdict(found: Mapping[str, int], quiet: bool) -> int:
    if found != TRUTH:
        raise Fatal(f"the built-in shop has {_said(TRUTH)}, but the tables have {_said(found)}")
    if not quiet:
        say(f"as the shop knows of itself: {_said(found)}")
        say("`python main.py layers shop --sample --status` shows more; docs/layers.md goes on")
    return 0


def _said(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in rows.items())

"""The tables that a job has filled: which there are, and the rows of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import UsageError
from .site import Site

PAGE = 100


class NotThere(UsageError):
    """Whoever asks for it by this name gets none, today or tomorrow."""


def tables(site: Site, name: str, after: str) -> dict[str, Any]:
    """The first one, if none is named."""
    counts = _counts(site)
    shown = name or next(iter(counts), "")
    rows = site.job.listing(site.sources.settings, shown, after, PAGE) if shown else None
    if name and rows is None:
        raise NotThere(f"this harvest has no table {name!r}: {', '.join(counts) or 'none yet'}")
    return {
        "tables": counts,
        "table": shown,
        "columns": rows.columns if rows else (),
        "rows": rows.rows if rows else (),
        "next": rows.after if rows else None,
    }


def _counts(site: Site) -> Mapping[str, int | None]:
    """None of a table whose rows have not been counted yet."""
    counted = site.stored()
    known = (counted.value if counted else None) or {}
    return {name: known.get(name) for name in site.job.table_names(site.sources.settings)}

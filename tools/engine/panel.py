"""What a job shows of itself, as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

Cell = str | int


class Panel(NamedTuple):
    """A view of a job's own, as data: whoever shows it decides how.

    A table has rows of cells, and a head if its columns need names; bars are names with a number
    each; a curve is the same where its course is worth drawing, a cloud where there are too many
    names for bars.
    """

    title: str
    kind: Literal["table", "bars", "curve", "cloud"]
    rows: Sequence[tuple[Cell, ...]]
    head: Sequence[str] = ()

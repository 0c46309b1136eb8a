"""What is written down of a run every minute or so: how fast it goes is worked out from these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Sample(NamedTuple):
    """How far the harvest was; `elapsed` since the start of the run by a clock that never jumps."""

    run: int
    elapsed: float
    time: float
    counts: Mapping[str, int]
    requests: int
    bytes: int

"""How many records of each kind, for a person."""

from __future__ import annotations

from ..add import Counts


def counted(counts: Counts) -> str:
    """
    >>> counted(Counts(1888, 1824, 0))
    '1,888 entities, 1,824 relations, 0 media'
    """
    return ", ".join(f"{number:,} {name}" for name, number in counts._asdict().items())

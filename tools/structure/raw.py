"""What a document's note says of its raw bytes: whose they are, and where they are found again."""

from __future__ import annotations

import json
from typing import NamedTuple


class Raw(NamedTuple):
    source: str
    of: str  # the source it comes from, as the job names it
    place: str  # by which that source finds it
    type: str | None
    length: int
    parser: str

    def as_note(self) -> str:
        """Only ASCII: a name may hold what is no text."""
        return json.dumps(self)


def raw_of(note: str) -> Raw:
    return Raw(*json.loads(note))

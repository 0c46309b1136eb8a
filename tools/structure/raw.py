"""What is known of a raw document before anybody has parsed it: the note that goes with its URI."""

from __future__ import annotations

import json
from typing import NamedTuple


class Raw(NamedTuple):
    """`of` is the source it was found in, `place` where it stands there, `parser` that of its
    rule."""

    source: str
    of: str
    place: str
    type: str | None
    length: int
    parser: str

    def as_note(self) -> str:
        """Only ASCII: a file's name may hold what is no text."""
        return json.dumps(self)


def raw_of(note: str) -> Raw:
    """
    >>> raw_of(Raw("a.html", "folder:raw", "a.html", None, 12, "html").as_note()).source
    'a.html'
    """
    return Raw(*json.loads(note))

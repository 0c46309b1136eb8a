"""What a source of raw documents can do.

Promise: whoever goes on from a position misses nothing that came before it, and `read` gives the
bytes of a place or says why not, never more than the source's `max_bytes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from ...base.text import size
from ...errors import GiveUp


class Item(NamedTuple):
    """One document of a source, as far as it costs little to say."""

    source: str  # its name, which no other document of the job has
    version: str  # another one if its bytes may be others; "" = only its bytes tell
    place: str  # by which its bytes are found again
    type: str | None = None
    priority: int | None = None
    raw: bytes | None = None  # if they were read anyway


class Source(Protocol):
    uri: str
    """As the job names it, without secrets."""

    @property
    def is_whole(self) -> bool:
        """Does each round read it from its beginning, because old ones may have changed?"""

    def items(self, position: str) -> Iterator[tuple[Item, str]]:
        """Those after a position, "" being the beginning, each with the position after it.

        Raises Unavailable if whoever should answer is away, GiveUp if there is no such source."""

    def read(self, place: str) -> bytes:
        """GiveUp if it is gone or too large, RetryLater if it is just being written, Unavailable if
        whoever should answer is away."""

    def close(self) -> None: ...


def too_large(name: str, max_bytes: int) -> GiveUp:
    return GiveUp(f"{name} is larger than {size(max_bytes)}")

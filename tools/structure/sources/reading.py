"""A source read on from a position, some items ahead of those that are taken."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ...errors import HarvestError
from .source import Item, Source


class Reading:
    """`position` is the one after what was taken. What goes wrong behind items that are ahead is
    raised when those are taken; the reading is of no use after that."""

    def __init__(self, source: Source, position: str) -> None:
        self.position = position
        self._items = source.items(position)
        self._ahead: deque[tuple[Item, str]] = deque()
        self._bytes = 0
        self._error: HarvestError | None = None
        self._has_more = True

    def ahead(self, most: int, most_bytes: int) -> Sequence[Item]:
        """The next ones; none at the end."""
        while self._has_more and len(self._ahead) < most and self._bytes < most_bytes:
            self._fetch()
        if self._error is not None and not self._ahead:
            raise self._error
        return [item for item, _ in self._ahead]

    def _fetch(self) -> None:
        try:
            found = next(self._items, None)
        except HarvestError as error:
            self._error, found = error, None
        if found is None:
            self._has_more = False
        else:
            self._ahead.append(found)
            self._bytes += len(found[0].raw or b"")

    def take(self, number: int) -> None:
        for _ in range(number):
            item, self.position = self._ahead.popleft()
            self._bytes -= len(item.raw or b"")

    @property
    def is_ended(self) -> bool:
        return not self._has_more and not self._ahead and self._error is None

"""What there is to ship: how it becomes batches, and what becomes of it when one has arrived."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ..media.ledger import Ledger
from .batch import Batch
from .outbox import Outbox

OnArrived = Callable[[Sequence[str]], None]
"""Is told the owners of a batch that has arrived: the node has proven all of their files in it. It
comes before the batch is forgotten, so that a crash in between makes it come again. It should be
quick; what it raises ends this shipping, and it comes again with the next."""


class Stock(Protocol):
    @property
    def outbox(self) -> Outbox: ...

    @property
    def frees_room(self) -> bool:
        """Is the disk here emptier when something has arrived?"""

    @property
    def bytes(self) -> int:
        """Of what is in no batch yet."""

    def complete(self) -> None:
        """What a crash interrupted, before anybody writes again."""

    def close(self) -> None:
        """What can be shipped now is in batches afterwards."""

    def arrived(self, batch: Batch) -> None:
        """The node has proven it. May come twice for the same batch."""


class MediaStock:
    """The files that the books list; a batch takes both along."""

    frees_room = True

    def __init__(
        self,
        outbox: Outbox,
        ledger: Ledger,
        at_quiet_point: Callable[[Callable[[], None]], None],
        on_arrived: OnArrived | None = None,
    ) -> None:
        """`at_quiet_point` does something while nobody writes into the books."""
        self.outbox = outbox
        self._ledger = ledger
        self._at_quiet_point = at_quiet_point
        self._on_arrived = on_arrived

    @property
    def bytes(self) -> int:
        return self._ledger.bytes

    def complete(self) -> None:
        self.outbox.complete(self._ledger)
        self._ledger.measure()

    def close(self) -> None:
        """While it is done nothing finishes, so it must not take long."""
        self._at_quiet_point(lambda: self.outbox.close(self._ledger))
        self.outbox.divide()

    def arrived(self, batch: Batch) -> None:
        """Its files were its own: they are erased with it."""
        if self._on_arrived is not None:
            self._on_arrived(batch.owners())

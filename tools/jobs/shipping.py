"""The way to the receiving node, for a job that keeps media or an archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from threading import Event
from typing import Protocol

from ..archive.origin import Origin
from ..archive.store import MARK, Archive
from ..base.credentials import hidden
from ..engine.pools import Pools
from ..errors import StateDamaged
from ..media.ledger import Ledger
from ..pages.open_table import open_table, visit_table
from ..pages.table import PageTable
from ..settings import Settings
from ..shipping.archives import ArchiveStock
from ..shipping.outbox import Outbox
from ..shipping.stock import MediaStock, OnArrived
from ..transport import Transport
from .ownership import ID, check_media


def transport_of(
    settings: Settings,
    ledger: Ledger,
    at_quiet_point: Callable[[Callable[[], None]], None],
    stop: Event,
    on_arrived: OnArrived | None = None,
) -> Transport:
    stock = MediaStock(outbox_of(settings), ledger, at_quiet_point, on_arrived)
    return Transport(settings.transport, stock, stop)


def archive_transport_of(
    settings: Settings,
    table: PageTable,
    harvest: str,
    stop: Event,
    closed_now: Callable[[], int] = lambda: 0,
) -> Transport:
    folder, erases = settings.pages.archive, settings.transport.erase_archives
    outbox = outbox_of(settings, folder)
    stock = ArchiveStock(outbox, table, folder, harvest, erases, closed_now)
    return Transport(settings.transport, stock, stop)


def outbox_of(settings: Settings, folder: Path | None = None) -> Outbox:
    """In the folder of what is shipped; that of the media if no other is named."""
    return Outbox(folder or settings.media, int(settings.transport.volume_mb * 1e6))


# --- by hand -----------------------------------------------------------------------------------


class Shipping(Protocol):
    """What of a job goes to the node. It is false where there is no such thing yet."""

    noun: str
    folder: Path
    outbox: Outbox

    def __bool__(self) -> bool: ...

    def bytes(self) -> int:
        """Of what is in no batch yet."""

    def opened(self, pools: Pools, stop: Event) -> AbstractContextManager[Transport]:
        """While nobody else works in its state; StateDamaged if something is not its own."""


class MediaShipping:
    noun = "media"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.folder = settings.media
        self.outbox = outbox_of(settings)

    def __bool__(self) -> bool:
        return bool(Ledger(self.folder))

    def bytes(self) -> int:
        ledger = Ledger(self.folder)
        ledger.measure()
        return ledger.bytes

    @contextmanager
    def opened(self, pools: Pools, stop: Event) -> Iterator[Transport]:
        with closing(Ledger(self.folder)) as ledger:
            check_media(pools, ledger, self._settings)
            transport = transport_of(self._settings, ledger, lambda work: work(), stop)
            transport.complete()
            yield transport


class ArchiveShipping:
    noun = "archives"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.folder = settings.pages.archive
        self.outbox = outbox_of(settings, self.folder)

    def __bool__(self) -> bool:
        return (self.folder / MARK).exists()

    def _table(self) -> PageTable | None:
        pages = self._settings.pages
        return visit_table(pages.database, self._settings.state, pages.password_file)

    def _require_table(self, harvest: str) -> None:
        """Before it is opened, which would make one that is not there."""
        if (table := self._table()) is not None:
            with closing(table):
                if harvest and table.owner() == harvest:
                    return
        raise StateDamaged(
            f"the table of {hidden(self._settings.pages.database)} is gone or another crawl's: "
            "bring back the one that this crawl went into"
        )

    def bytes(self) -> int:
        if (table := self._table()) is None:
            return 0
        with closing(table):
            stock = ArchiveStock(self.outbox, table, self.folder, "", erases=False)
            return stock.waiting_bytes()

    @contextmanager
    def opened(self, pools: Pools, stop: Event) -> Iterator[Transport]:
        settings, harvest = self._settings, pools.remembered().get(ID, "")
        self._require_table(harvest)
        pages = settings.pages
        with closing(open_table(pages.database, settings.state, pages.password_file)) as table:
            Archive(self.folder, Origin(harvest)).claim(known=len(table.ends_of_files()))
            transport = archive_transport_of(settings, table, harvest, stop)
            transport.complete()
            yield transport

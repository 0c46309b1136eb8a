"""The way to the receiving node, for a job that keeps media or an archive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event

from ..media.ledger import Ledger
from ..pages.table import PageTable
from ..settings import Settings
from ..shipping.archives import ArchiveStock
from ..shipping.outbox import Outbox
from ..shipping.stock import MediaStock
from ..transport import Transport


def transport_of(
    settings: Settings,
    ledger: Ledger,
    at_quiet_point: Callable[[Callable[[], None]], None],
    stop: Event,
) -> Transport:
    stock = MediaStock(outbox_of(settings), ledger, at_quiet_point)
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

"""The way to the receiving node, for whatever job keeps media."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

from ..media.ledger import Ledger
from ..settings import Settings
from ..shipping.outbox import Outbox
from ..transport import Transport


def transport_of(
    settings: Settings,
    ledger: Ledger,
    at_quiet_point: Callable[[Callable[[], None]], None],
    stop: Event,
) -> Transport:
    return Transport(settings.transport, outbox_of(settings), ledger, at_quiet_point, stop)


def outbox_of(settings: Settings) -> Outbox:
    return Outbox(settings.media, int(settings.transport.volume_mb * 1e6))

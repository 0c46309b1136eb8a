"""What `python main.py ship` does: what the clock does every few hours, by hand."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import closing
from threading import Event

from tools.batch import Batch
from tools.belongings import check_media
from tools.columns import Row, table
from tools.errors import AlreadyRunning, HarvestError, UsageError
from tools.instance import only_instance
from tools.jobs.conceptnet import stages
from tools.ledger import Ledger
from tools.outbox import Outbox
from tools.pools import Pools
from tools.progress import bar
from tools.settings import Settings
from tools.sftp import Node
from tools.transport import RAW, Transport
from tools.wishes import wish_for_shipping

LATEST = 10  # of the batches that have arrived are listed


def ship(settings: Settings, arguments: argparse.Namespace) -> int:
    if not settings.transport.host:
        raise UsageError("no host is set under [transport], so media stay here: docs/shipping.md")
    if arguments.list:
        return list_batches(outbox_of(settings))
    if arguments.dry_run:
        return try_out(settings)
    if not settings.pools_file.exists() and not Ledger(settings.media):
        print("nothing to ship")
        return 0
    try:
        with only_instance(settings.state), closing(opened(settings)) as pools:
            return ship_here(settings, pools, arguments)
    except AlreadyRunning:
        wish_for_shipping(settings.state, arguments.batch)
        print("the harvest that runs ships them, beginning within a minute")
    return 0


def opened(settings: Settings) -> Pools:
    if not settings.pools_file.exists():
        raise UsageError(
            f"{settings.media} holds the media of a harvest that {settings.state} knows nothing of:"
            " give its --state"
        )
    return Pools(settings.pools_file, stages(settings))


def ship_here(settings: Settings, pools: Pools, arguments: argparse.Namespace) -> int:
    """Nobody else works in this state folder now."""
    with closing(Ledger(settings.media)) as ledger:
        check_media(pools, ledger, settings)
        transport = transport_of(settings, ledger, lambda errand: errand(), Event())
        transport.complete()
        with bar("shipped", transport.backlog, arguments.quiet) as show:
            try:
                done = str(transport.ship(arguments.batch, show))
            except HarvestError as error:
                pools.note_chore("transport", time.time(), False, str(error))
                raise
        pools.note_chore("transport", time.time(), True, done)
    if not arguments.quiet:
        print(done)
    return 0


def transport_of(
    settings: Settings,
    ledger: Ledger,
    between: Callable[[Callable[[], None]], None],
    stop: Event,
) -> Transport:
    return Transport(settings.transport, outbox_of(settings), ledger, between, stop)


def outbox_of(settings: Settings) -> Outbox:
    return Outbox(settings.media, int(settings.transport.volume_mb * 1e6))


def list_batches(outbox: Outbox) -> int:
    rows: list[Row] = [waiting_row(*outbox.glance(name)) for name in outbox.names()]
    for each in outbox.shipped()[-LATEST:]:
        number, size = f"{each['files']:,}", f"{each['bytes'] / 1e6:,.1f}"
        rows.append((each["batch"], number, size, f"arrived {each['time']}"))
    if rows:
        print("\n".join(table([("batch", "files", "MB", ""), *rows], left=(0, 3), yielding=3)))
    else:
        print("there is no batch, and none has been shipped yet")
    return 0


def waiting_row(name: str, batch: Batch | None) -> Row:
    if batch is None:
        return (name, "", "", "closed, its files are not gathered yet")
    sent, proven, all_ = len(batch.sent), len(batch.proven), len(batch.volumes)
    text = f"waits: {sent} of {all_} volumes sent, {proven} proven"
    return (name, f"{batch.files:,}", f"{batch.size / 1e6:,.1f}", text)


def try_out(settings: Settings) -> int:
    """What would be sent, and whether the node would take it."""
    ledger = Ledger(settings.media)
    ledger.weigh()
    waiting = outbox_of(settings).names()
    print(f"{ledger.bytes / 1e6:,.1f} MB of media would become a batch; {len(waiting):,} wait")
    with closing(Node(settings.transport)) as node:
        raw = f"{settings.transport.folder.rstrip('/')}/{RAW}"
        if node.size_of(raw) is None:
            raise UsageError(f"{node.place} has no folder {raw}: docs/shipping.md tells how")
        free = node.free(raw)
        room = "does not tell its room" if free is None else f"has room for {free / 1e6:,.0f} MB"
        print(f"{node.place} answers and {room}")
        print(f"proof: {'its own hash' if node.can_hash() else 'the receipts of receive.py'}")
    print("nothing was sent (--dry-run)")
    return 0

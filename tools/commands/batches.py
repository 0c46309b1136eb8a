"""Batches and the receiving node: what the clock does every few hours, by hand."""

from __future__ import annotations

import hashlib
import time
from contextlib import closing, suppress
from dataclasses import replace
from secrets import token_bytes, token_hex
from threading import Event
from typing import NamedTuple

from ..assist.inbox import request_shipping
from ..engine.description import Description
from ..engine.pools import Pools
from ..errors import AlreadyRunning, HarvestError, NoRoom, Unreachable, UsageError
from ..jobs.registry import DEFAULT, job_in, job_named
from ..jobs.shipping import Shipping
from ..journal.instance import only_instance
from ..reports.progress import bar
from ..reports.tables import Row, table
from ..settings import Settings
from ..shipping.batch import Batch
from ..shipping.outbox import Outbox
from ..shipping.sftp import Node
from ..transport import RAW
from .ship import Options

LATEST = 10  # of the batches that have arrived are listed
TRIAL, TRIAL_BYTES = ".sheaf-trial-", 2**16  # no batch has such a name


def ship(settings: Settings, options: Options) -> int:
    if not settings.transport.host:
        raise UsageError("no host is set under [transport], so all stays here: docs/shipping.md")
    if options.archive is not None:
        settings = replace(settings, pages=replace(settings.pages, archive=options.archive))
    job = job_meant(settings, options)
    shipping: Shipping = job.shipping(settings)
    if options.list:
        return list_batches(shipping.outbox)
    if options.dry_run:
        return report_trial(settings, shipping)
    if not settings.pools_file.exists() and not shipping:
        print("nothing to ship")
        return 0
    try:
        with only_instance(settings.state), closing(opened(settings, job, shipping)) as pools:
            return ship_here(shipping, pools, options)
    except AlreadyRunning:
        request_shipping(settings.state, options.batch)
        print("the harvest that runs ships them, beginning within a minute")
    return 0


def job_meant(settings: Settings, options: Options) -> Description:
    file = settings.pools_file
    return job_in(file) if file.exists() else job_named(options.job or DEFAULT)


def opened(settings: Settings, job: Description, shipping: Shipping) -> Pools:
    if not settings.pools_file.exists():
        raise UsageError(
            f"{shipping.folder} holds the {shipping.noun} of a harvest that {settings.state} knows "
            "nothing of: give its --state"
        )
    return Pools(settings.pools_file, job.stages(settings))


def ship_here(shipping: Shipping, pools: Pools, options: Options) -> int:
    """Nobody else works in this state folder now."""
    with shipping.opened(pools, Event()) as transport:
        with bar("shipped", transport.backlog, options.quiet) as show:
            try:
                done = str(transport.ship(options.batch, show))
            except HarvestError as error:
                pools.note_clock_work("transport", time.time(), False, str(error))
                raise
        pools.note_clock_work("transport", time.time(), True, done)
    if not options.quiet:
        print(done)
    return 0


def list_batches(outbox: Outbox) -> int:
    rows: list[Row] = [waiting_row(*outbox.summary_of(name)) for name in outbox.names()]
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


def report_trial(settings: Settings, shipping: Shipping) -> int:
    """What would be sent, and whether the node would take it."""
    size, waiting = shipping.bytes() / 1e6, len(shipping.outbox.names())
    print(f"{size:,.1f} MB of {shipping.noun} would become a batch; {waiting:,} wait")
    trial = try_out(settings)
    free = trial.free
    room = "does not say its room" if free is None else f"has room for {free / 1e6:,.0f} MB"
    print(f"{trial.place} answers and {room}; a file was written there as a trial and removed")
    if not trial.replaces_files:
        print("it knows no posix-rename@openssh.com: what is sent again is removed first")
    print(f"proof: {'its own hash' if trial.can_hash else 'the receipts of receive.py'}")
    print("nothing was sent (--dry-run)")
    return 0


class NodeTrial(NamedTuple):
    """What a node was found to be able to."""

    place: str  # user@host:port
    free: int | None  # bytes; None if it does not say
    can_hash: bool  # else its proof are the receipts of receive.py
    replaces_files: bool  # by a rename, as OpenSSH does


def try_out(settings: Settings) -> NodeTrial:
    """Does all that shipping does to the node of [transport], with a file of a few bytes.

    It logs in, makes a folder in raw/ that receive.py does not look at, writes a file into it,
    renames it, compares it and removes both. Nothing is left there, also if it fails midway.
    What is wrong is raised, as a sentence with its exit code: UsageError (2) without raw/,
    Unreachable, Unavailable or NoRoom (3) otherwise. `transport.host` must be set.
    """
    raw = settings.transport.place(RAW)
    folder = f"{raw}/{TRIAL}{token_hex(4)}"
    with closing(Node(settings.transport)) as node:
        if node.size_of(raw) is None:
            raise UsageError(f"{node.place} has no folder {raw}: docs/shipping.md says how")
        try:
            _write_trial(node, folder)
            _remove_trial(node, folder)
        except HarvestError as error:
            with suppress(HarvestError), closing(Node(settings.transport)) as other:
                _remove_trial(other, folder)  # the first connection may be cut off
            if isinstance(error, NoRoom):
                raise
            why = f"see who may write into {raw} there, and whether a quota is used up"
            raise Unreachable(f"{error}: {why}") from None
        return NodeTrial(node.place, node.free(raw), node.can_hash(), node.replaces_files)


def _write_trial(node: Node, folder: str) -> None:
    path, content = f"{folder}/file", token_bytes(TRIAL_BYTES)
    node.make_folder(folder)
    node.write(path, content)
    found = node.hash_of(path, len(content))
    is_whole = node.holds(path, content)
    if not is_whole or found not in (None, hashlib.sha256(content).hexdigest()):
        raise Unreachable(f"{node.place} does not give back what was written into {path}")


def _remove_trial(node: Node, folder: str) -> None:
    for name in ("file", "file.part"):
        node.remove(f"{folder}/{name}")
    node.remove_folder(folder)

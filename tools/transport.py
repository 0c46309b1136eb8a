"""Brings files to the receiving node: a batch is closed, sent volume by volume, proven, erased.

Promise: no file is erased here before the node has said what its hash is, by itself over SSH or in
a receipt. Every step may be run twice: what the node has is not sent again, a volume that was
half sent is continued. The oldest batch goes first. A node that is away costs nothing but time.
Limit: the node is asked to bring each volume onto its disk, which SFTP cannot ask for its name. A
power cut there within seconds of the hash may cost the name.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from threading import Event
from typing import NamedTuple, TypeVar

from .base.text import amount, size
from .errors import HarvestError, Interrupted, NoRoom, Unavailable, Unreachable, UsageError
from .shipping.batch import Batch
from .shipping.receipts import Quarantined, Receipts, signature
from .shipping.sender import Sender, Show, Tries, Volumes, raise_if_stopped
from .shipping.settings import TransportSettings
from .shipping.sftp import Node
from .shipping.stock import Stock

logger = logging.getLogger(__name__)

T = TypeVar("T")

LOOK_EVERY_S = 0.5  # for a receipt
RAW, RECEIVED, MANIFEST = "raw", "received", "manifest.json"


class Shipped(NamedTuple):
    """What one shipping did."""

    batches: int
    files: int
    bytes: int
    waiting: int  # batches that were sent and not confirmed yet
    seconds: float

    def __str__(self) -> str:
        parts = []
        if self.batches:
            rate = self.bytes / max(self.seconds, 0.001) / 1e6
            parts.append(
                f"{amount(self.files, 'file')} in {_batches(self.batches)} arrived, "
                f"{size(self.bytes)} in {self.seconds:,.0f} s ({rate:,.1f} MB/s)"
            )
        if self.waiting:
            parts.append(f"{_batches(self.waiting)} sent, not confirmed by a receipt yet")
        return "; ".join(parts) or "nothing to ship"


@dataclass(slots=True)
class Round:
    """What has become of the batches of one shipping so far."""

    done: list[Batch] = field(default_factory=list)
    sent: list[Batch] = field(default_factory=list)  # and not confirmed yet
    refused: list[Quarantined] = field(default_factory=list)


class Transport:
    def __init__(self, settings: TransportSettings, stock: Stock, stop: Event) -> None:
        self._settings = settings
        self._raw = settings.place(RAW)
        self._stock = stock
        self._outbox = stock.outbox
        self._stop = stop
        self._receipts = Receipts(settings.place(RECEIVED), settings.secret)

    @property
    def backlog(self) -> int:
        """Bytes that have not arrived yet."""
        return self._stock.bytes + self._outbox.weight

    @property
    def frees_room(self) -> bool:
        """Is the disk here emptier when something has arrived?"""
        return self._stock.frees_room

    def is_batch_waiting(self) -> bool:
        return bool(self._outbox.names())

    def complete(self) -> None:
        """What a crash left half closed, before anybody writes again."""
        self._stock.complete()

    def ship(self, only: str | None = None, show: Show = lambda _: None) -> Shipped:
        """All there is; or one batch, even if the node has refused it before."""
        begun, round_ = time.monotonic(), Round()
        with self._outbox.held(self._settings.timeout_s):
            if only is None:
                self._stock.close()
            elif only not in self._outbox.names():
                raise UsageError(f"there is no batch {only!r}: python main.py ship --list")
            for name in self._outbox.names() if only is None else [only]:
                self._deliver(self._outbox.open(name), round_, show, is_forced=only is not None)
            if round_.sent:
                deadline = time.monotonic() + self._settings.receipt_s
                self._ask(lambda node: self._await_receipts(node, round_, deadline))
        if round_.refused:
            raise round_.refused[0]
        done, waiting = round_.done, len(round_.sent)
        files, bytes_ = sum(each.files for each in done), sum(each.size for each in done)
        return Shipped(len(done), files, bytes_, waiting, time.monotonic() - begun)

    # --- one batch -------------------------------------------------------------------------

    def _deliver(self, batch: Batch, round_: Round, show: Show, is_forced: bool) -> None:
        """Afterwards the node has all of it, or has refused it."""
        try:
            is_proven = self._bring(batch, show, is_forced)
        except Quarantined as error:
            round_.refused.append(error)
        else:
            (round_.done if is_proven else round_.sent).append(batch)

    def _bring(self, batch: Batch, show: Show, is_forced: bool) -> bool:
        """Is it proven that the node has it?"""
        if self._ask(lambda node: self._is_there(node, batch, is_forced)):
            self._finish(batch, "receipt")
            return True
        self._send_volumes(batch, show)
        is_listed = self._ask(lambda node: self._send_manifest(node, batch))
        if is_proven := is_listed and not batch.open_volumes:
            self._finish(batch, "hash")
        return is_proven

    def _is_there(self, node: Node, batch: Batch, is_forced: bool) -> bool:
        """If not, there is a place for it afterwards."""
        if self._receipts.has(node, batch, is_forced):
            return True
        self._prepare(node, batch)
        return False

    def _prepare(self, node: Node, batch: Batch) -> None:
        if node.size_of(self._raw) is None:
            raise Unreachable(f"{node.place} has no folder {self._raw}: docs/shipping.md says how")
        node.make_folder(self._remote(batch))
        free = node.free(self._raw)
        needed = sum(
            each.size - min(each.size, self._already_there(node, batch, each.name))
            for each in batch.open_volumes
        )
        if free is not None and free < needed:
            raise NoRoom(
                f"the disk of {node.place} has {free / 1e6:,.1f} MB left and batch {batch.name} "
                f"needs {needed / 1e6:,.1f} MB: make room there"
            )

    def _already_there(self, node: Node, batch: Batch, volume: str) -> int:
        path = f"{self._remote(batch)}/{volume}"
        return node.size_of(path) or node.size_of(f"{path}.part") or 0

    def _send_volumes(self, batch: Batch, show: Show) -> None:
        volumes = Volumes(batch, self._remote(batch), self._outbox.measure)
        number = min(self._settings.connections, len(batch.open_volumes))
        lanes = [Sender(self._settings, volumes, self._stop, show) for _ in range(number)]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
        errors = sorted((lane.error for lane in lanes if lane.error), key=_weight)
        if any(isinstance(error, NoRoom) for error in errors):
            with suppress(HarvestError):
                self._ask(lambda node: self._give_room_back(node, batch))
        for error in errors:
            raise self._outbox.unusable(error) if isinstance(error, OSError) else error

    def _give_room_back(self, node: Node, batch: Batch) -> None:
        """On a full disk receive.py cannot take in what is complete, which would make room."""
        for volume in batch.open_volumes:
            node.remove(f"{self._remote(batch)}/{volume.name}.part")

    def _send_manifest(self, node: Node, batch: Batch) -> bool:
        """Last of all: what has one is complete. Does the node say that it arrived as it is?"""
        path, content = f"{self._remote(batch)}/{MANIFEST}", batch.manifest()
        if self._settings.secret:  # it may have been another one the last time
            signed = signature(self._settings.secret, content).encode()
            if not node.holds(f"{path}.hmac", signed):
                node.write(f"{path}.hmac", signed)
        if not node.holds(path, content):
            node.write(path, content)
        return node.hash_of(path, len(content)) == hashlib.sha256(content).hexdigest()

    def _finish(self, batch: Batch, how: str) -> None:
        logger.info("batch %s has arrived (%s): %d files", batch.name, how, batch.files)
        self._stock.arrived(batch)
        self._outbox.forget(batch, how)

    def _remote(self, batch: Batch) -> str:
        return f"{self._raw}/{batch.name}"

    # --- receipts --------------------------------------------------------------------------

    def _await_receipts(self, node: Node, round_: Round, deadline: float) -> None:
        """What has none in time is asked for the next time."""
        while True:
            for batch in list(round_.sent):
                self._look_for_receipt(node, batch, round_)
            if not round_.sent or time.monotonic() >= deadline:
                return
            raise_if_stopped(self._stop, LOOK_EVERY_S)

    def _look_for_receipt(self, node: Node, batch: Batch, round_: Round) -> None:
        try:
            if not self._receipts.has(node, batch):
                return
            self._finish(batch, "receipt")
            round_.done.append(batch)
        except Quarantined as error:
            round_.refused.append(error)
        round_.sent.remove(batch)

    def _ask(self, question: Callable[[Node], T]) -> T:
        """Over a connection for this moment. If it is cut off the question is asked again, unless
        nobody answers for a while."""
        tries = Tries(self._stop)
        while True:
            raise_if_stopped(self._stop)
            try:
                with closing(Node(self._settings)) as node:
                    return question(node)
            except Unavailable as error:
                tries.failed(error)


def _batches(number: int) -> str:
    return f"{number:,} {'batch' if number == 1 else 'batches'}"


def _weight(error: Exception) -> bool:
    """An interruption is what the other lanes end with: it comes last."""
    return isinstance(error, Interrupted)

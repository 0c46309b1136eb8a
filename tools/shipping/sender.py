"""One connection to the receiving node that sends volumes of a batch, one after the other.

Promise: a volume that was cut off is continued, on a new connection, for as long as something of it
arrives each time. One that arrives damaged is sent again.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING

from ..base.backoff import pause_after
from ..errors import Interrupted, NoRoom, Unavailable
from .batch import Batch
from .pipeline import CHUNK
from .settings import TransportSettings
from .sftp import Node
from .volume import MemberLost, Volume

if TYPE_CHECKING:
    from hashlib import _Hash

logger = logging.getLogger(__name__)

TRIES = 6  # in a row, without a byte that arrived
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0
Show = Callable[[int], object]


class Tries:
    """Waits a growing while after each failure, and gives up after some without any success."""

    def __init__(self, stop: Event) -> None:
        self._stop = stop
        self._failures = 0

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self, error: Unavailable) -> None:
        self._failures += 1
        if isinstance(error, NoRoom) or self._failures >= TRIES:
            raise error
        pause = pause_after(self._failures, FIRST_WAIT_S, LONGEST_WAIT_S)
        logger.warning("transport waits %.0f s: %s", pause, error)
        raise_if_stopped(self._stop, pause)


def raise_if_stopped(stop: Event, seconds: float = 0.0) -> None:
    if stop.wait(seconds) if seconds else stop.is_set():
        raise Interrupted("stopped: the rest is shipped the next time")


class Volumes:
    """What several lanes have to send together. When one fails, the others end too."""

    def __init__(self, batch: Batch, folder: str, on_sent: Callable[[Batch], None]) -> None:
        self.batch = batch
        self.folder = folder  # on the node
        self.failed = Event()
        self._on_sent = on_sent
        self._queue: SimpleQueue[Volume] = SimpleQueue()
        for volume in batch.open_volumes:
            self._queue.put(volume)

    def next(self) -> Volume | None:
        try:
            return None if self.failed.is_set() else self._queue.get_nowait()
        except Empty:
            return None

    def sent(self, volume: Volume, sha256: str, is_proven: bool) -> None:
        if is_proven or self.batch.sent.get(volume.name) != sha256:
            self.batch.note_sent(volume, sha256, is_proven)
            self._on_sent(self.batch)


class Sender(Thread):
    def __init__(
        self, settings: TransportSettings, volumes: Volumes, stop: Event, show: Show
    ) -> None:
        super().__init__(name="transport lane", daemon=True)
        self.error: Exception | None = None
        self._settings = settings
        self._volumes = volumes
        self._stopping = stop
        self._show = show
        self._shown = 0
        self._tries = Tries(stop)
        self._begun: tuple[str, int] = ("", 0)  # the volume of the last try, and where it began
        self._node: Node | None = None

    def run(self) -> None:
        try:
            while (volume := self._volumes.next()) is not None:
                self._bring(volume)
        except Exception as error:
            self.error = error
            self._volumes.failed.set()
        finally:
            self._hang_up()

    def _bring(self, volume: Volume) -> None:
        """Until it is there, or nothing helps."""
        while True:
            try:
                self._send(volume)
                return
            except MemberLost as lost:
                volume = self._volumes.batch.drop(volume, lost)
                self._opened().remove(self._part(volume))
            except Unavailable as error:
                self._hang_up()
                self._tries.failed(error)
            finally:
                self._show_again()

    def _send(self, volume: Volume) -> None:
        node, path = self._opened(), f"{self._volumes.folder}/{volume.name}"
        is_there = node.size_of(path) == volume.size
        sha256 = self._volumes.batch.sent.get(volume.name) if is_there else None
        if sha256 is None:  # else it is not read again: what is here may have got worse since
            sha256 = self._brought(node, volume, path, is_there)
        found = node.hash_of(path, volume.size)
        if found is not None and found != sha256:
            node.remove(path)
            raise Unavailable(f"{volume.name} arrived damaged at {node.place}")
        self._volumes.sent(volume, sha256, is_proven=found is not None)
        self._tries.succeeded()
        self._shown = 0

    def _brought(self, node: Node, volume: Volume, path: str, is_there: bool) -> str:
        """Its hash, as it is here."""
        sha256 = hashlib.sha256()
        if is_there:
            for _ in self._read(volume, volume.size, sha256):
                pass
        else:
            begin = self._begin(node, volume)
            node.send(self._part(volume), self._read(volume, begin, sha256), begin)
            node.rename(self._part(volume), path)
        return sha256.hexdigest()

    def _begin(self, node: Node, volume: Volume) -> int:
        """Where the last attempt ended. That it came further than the one before is a success."""
        there = node.size_of(self._part(volume)) or 0
        if there > volume.size:
            node.remove(self._part(volume))
            there = 0
        if (volume.name, there) > self._begun:
            self._tries.succeeded()
        self._begun = (volume.name, there)
        return there - there % CHUNK

    def _read(self, volume: Volume, begin: int, sha256: _Hash) -> Iterator[bytes]:
        """All of it is hashed; what comes after the beginning is given out."""
        at = 0
        for chunk in volume.chunks(self._volumes.batch.content, CHUNK):
            raise_if_stopped(self._stopping)
            raise_if_stopped(self._volumes.failed)
            sha256.update(chunk)
            if at >= begin:
                yield chunk
            at += len(chunk)
            self._shown += len(chunk)
            self._show(len(chunk))

    def _show_again(self) -> None:
        """What did not get through in the end does not count."""
        self._show(-self._shown)
        self._shown = 0

    def _part(self, volume: Volume) -> str:
        return f"{self._volumes.folder}/{volume.name}.part"

    def _opened(self) -> Node:
        if self._node is None:
            self._node = Node(self._settings)
        return self._node

    def _hang_up(self) -> None:
        if self._node is not None:
            self._node.close()
        self._node = None

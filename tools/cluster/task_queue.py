"""Tasks on their way to nodes: a work queue of the server, in its memory.

Promise: what is in it is given to one node at a time, and to another if that falls silent. It may
lose everything: the pools know what is handed out, and send it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nats.js.api import AckPolicy, ConsumerConfig, RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import NotFoundError

from .bus import Bus
from .subjects import STREAM, STREAM_SUBJECTS, at_consumer, at_subject, task_subject

if TYPE_CHECKING:
    from nats.js import JetStreamContext

ACK_WAIT_S = 10.0  # a node that says nothing of a task for so long does not have it any more
ANSWER_S = 10.0


class TaskQueue:
    """The coordinator's side of it; any thread but the bus's may use it."""

    def __init__(self, bus: Bus, stages: Iterable[str]) -> None:
        self._bus = bus
        self._stages = tuple(stages)
        self._nodes: set[str] = set()

    def make(self) -> None:
        """Empty, if it is there already: what an earlier life put into it is handed out anew."""
        self._bus.call(self._make())

    def make_for(self, node: str) -> None:
        """What only this node can do has a queue of its own."""
        if node not in self._nodes:
            self._nodes.add(node)
            self._bus.call(self._consume(at_consumer(node), at_subject(node, "*")))

    def send(self, stage: str, content: bytes, node: str = "") -> None:
        self._bus.say(at_subject(node, stage) if node else task_subject(stage), content)

    def take_back(self, stage: str) -> None:
        """What no node has begun goes."""
        self._bus.call(self._purge(task_subject(stage)))
        self._bus.call(self._purge(at_subject("*", stage)))

    def number(self, stage: str) -> int:
        """Of those that no node has been given."""
        return self._bus.call(self._number(stage))

    # --- in the bus's own thread -----------------------------------------------------------

    @property
    def _stream(self) -> JetStreamContext:
        return self._bus.client.jetstream(timeout=ANSWER_S)

    async def _make(self) -> None:
        config = StreamConfig(
            name=STREAM,
            subjects=list(STREAM_SUBJECTS),
            retention=RetentionPolicy.WORK_QUEUE,
            storage=StorageType.MEMORY,
        )
        try:
            await self._stream.stream_info(STREAM)
            await self._stream.purge_stream(STREAM)
        except NotFoundError:
            await self._stream.add_stream(config)
        for stage in self._stages:
            await self._consume(stage, task_subject(stage))
        for node in self._nodes:
            await self._consume(at_consumer(node), at_subject(node, "*"))

    async def _consume(self, name: str, subject: str) -> None:
        config = ConsumerConfig(
            durable_name=name,
            filter_subject=subject,
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=ACK_WAIT_S,
            max_ack_pending=100_000,
        )
        try:
            await self._stream.consumer_info(STREAM, name)
        except NotFoundError:
            await self._stream.add_consumer(STREAM, config)

    async def _purge(self, subject: str) -> None:
        await self._stream.purge_stream(STREAM, subject=subject)

    async def _number(self, stage: str) -> int:
        info = await self._stream.consumer_info(STREAM, stage)
        return info.num_pending or 0

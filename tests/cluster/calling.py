"""A client of NATS with a join file's key, and what the server said against it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, RetentionPolicy, StorageType, StreamConfig

from tools.cluster.join_file import Join, tls_of
from tools.cluster.subjects import (
    STREAM,
    STREAM_SUBJECTS,
    at_consumer,
    at_subject,
    inbox_prefix,
    task_subject,
)

PATIENCE_S = 10


class Caller(NamedTuple):
    client: Client
    refusals: list[str]
    closed: asyncio.Event

    async def refusal(self) -> str:
        """The first, which must come."""
        until = time.monotonic() + PATIENCE_S  # the client would not let itself be cancelled
        while not self.refusals and time.monotonic() < until:
            await settled(self.client)
        return self.refusals[0]


async def settled(client: Client) -> None:
    """The server has read what this client said. The client's ping may overtake what it has not
    written yet, so there are two."""
    for _ in range(2):
        await client.flush(PATIENCE_S)


@asynccontextmanager
async def calling(join: Join) -> AsyncIterator[Caller]:
    """It does not come back when it is cut off."""
    refusals: list[str] = []
    closed = asyncio.Event()

    async def refused(error: Exception) -> None:
        refusals.append(str(error).lower())

    async def ended() -> None:
        closed.set()

    client = await nats.connect(
        join.url, tls=tls_of(join), inbox_prefix=inbox_prefix(join.name).encode(),
        allow_reconnect=False, connect_timeout=PATIENCE_S, error_cb=refused, closed_cb=ended,
    )  # fmt: skip
    try:
        yield Caller(client, refusals, closed)
    finally:
        if not client.is_closed:
            await client.close()


async def make_stream(coordinator: Client, *nodes: str) -> None:
    """The stream of tasks with a consumer for fetch, and one for each node."""
    js = coordinator.jetstream()
    await js.add_stream(
        StreamConfig(
            name=STREAM, subjects=[*STREAM_SUBJECTS],
            retention=RetentionPolicy.WORK_QUEUE, storage=StorageType.MEMORY,
        )
    )  # fmt: skip
    consumers = {"fetch": task_subject("fetch")}
    consumers |= {at_consumer(node): at_subject(node, "*") for node in nodes}
    for name, subject in consumers.items():
        config = ConsumerConfig(
            durable_name=name, filter_subject=subject, ack_policy=AckPolicy.EXPLICIT
        )
        await js.add_consumer(STREAM, config)


async def answer_all(coordinator: Client) -> list[Msg]:
    """What nodes say, each answered with what it said."""
    heard: list[Msg] = []

    async def hear(message: Msg) -> None:
        heard.append(message)
        if message.reply.startswith("_INBOX_"):
            await message.respond(message.data)

    await coordinator.subscribe("sheaf.>", cb=hear)
    await settled(coordinator)
    return heard

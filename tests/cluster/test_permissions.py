"""What a node's key is good for, and what it is not: a node may be in the hands of a stranger."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from nats.aio.client import Client
from nats.errors import TimeoutError as NoAnswerInTime

from tests.cluster.calling import PATIENCE_S, Caller, answer_all, calling, make_stream, settled
from tests.support.nats_server import VERSIONS, NatsServer, running_nats
from tools.cluster.subjects import STAGES, STREAM

NEXT = f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}"
MAKE = f"$JS.API.CONSUMER.DURABLE.CREATE.{STREAM}"


@pytest.fixture(scope="module", params=VERSIONS)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[NatsServer]:
    with running_nats(tmp_path_factory.mktemp("nats") / "cluster", request.param) as server:
        yield server


@asynccontextmanager
async def both(server: NatsServer) -> AsyncIterator[tuple[Client, Caller]]:
    """The coordinator with a new stream, and alpha."""
    async with calling(server.coordinator) as own, calling(server.join("alpha")) as alpha:
        await make_stream(own.client, "alpha", "beta")
        try:
            yield own.client, alpha
            assert own.refusals == []
        finally:
            await own.client.jetstream().delete_stream(STREAM)


async def messages(coordinator: Client) -> int:
    return (await coordinator.jetstream().stream_info(STREAM)).state.messages


# --- what it can -----------------------------------------------------------------------------


def test_a_node_asks_the_coordinator_and_is_answered(server: NatsServer) -> None:
    async def scene() -> None:
        async with both(server) as (own, alpha):
            heard = await answer_all(own)
            answer = await alpha.client.request("sheaf.from.alpha.turn", b"x", timeout=PATIENCE_S)
            assert answer.data == b"x" and heard[0].subject == "sheaf.from.alpha.turn"
            assert alpha.refusals == []

    asyncio.run(scene())


@pytest.mark.parametrize(("name", "subject"), [("fetch", "task.fetch"), ("at-alpha", "at.alpha.x")])
def test_a_node_takes_tasks_and_acknowledges_them(
    server: NatsServer, name: str, subject: str
) -> None:
    async def scene() -> None:
        async with both(server) as (own, alpha):
            await own.jetstream().publish(f"sheaf.{subject}", b"task")
            tasks = await alpha.client.jetstream().pull_subscribe_bind(name, STREAM)
            (task,) = await tasks.fetch(1, PATIENCE_S)
            assert task.data == b"task" and await messages(own) == 1
            await task.in_progress()
            await task.ack_sync(PATIENCE_S)
            assert await messages(own) == 0
            assert alpha.refusals == []

    asyncio.run(scene())


def test_every_stage_may_be_asked_for_tasks(server: NatsServer) -> None:
    async def scene() -> None:
        async with both(server) as (_, alpha):
            for stage in STAGES:
                await alpha.client.publish(f"{NEXT}.{stage}", b"1", reply="_INBOX_alpha.x")
            await settled(alpha.client)
            assert alpha.refusals == []

    asyncio.run(scene())


@pytest.mark.parametrize("subject", ["sheaf.all", "sheaf.to.alpha"])
def test_a_node_hears_what_is_said_to_it_and_to_all(server: NatsServer, subject: str) -> None:
    async def scene() -> None:
        async with both(server) as (own, alpha):
            heard = await alpha.client.subscribe(subject)
            await settled(alpha.client)
            await own.publish(subject, b"stop")
            assert (await heard.next_msg(PATIENCE_S)).data == b"stop"

    asyncio.run(scene())


def test_the_largest_message_passes(server: NatsServer) -> None:
    async def scene() -> None:
        async with both(server) as (own, alpha):
            await answer_all(own)
            body = bytes(8 * 2**20)
            answer = await alpha.client.request("sheaf.from.alpha.x", body, timeout=PATIENCE_S)
            assert len(answer.data) == len(body)

    asyncio.run(scene())


# --- what it cannot --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "subject",
    [
        *("sheaf.task.fetch", "sheaf.at.alpha.extend", "sheaf.from.beta.done", "sheaf.to.beta"),
        *("sheaf.all", "sheaf.from.alpha", "_INBOX_beta.x", "_INBOX_coordinator.x"),
        *(f"{NEXT}.at-beta", f"$JS.ACK.{STREAM}.at-beta.1.1.1.1.0", f"{MAKE}.mine"),
        *(f"$JS.API.CONSUMER.CREATE.{STREAM}", f"$JS.API.CONSUMER.DELETE.{STREAM}.fetch"),
        *(f"$JS.API.STREAM.{what}.{STREAM}" for what in ("DELETE", "PURGE", "UPDATE", "INFO")),
        *(f"$JS.API.STREAM.MSG.{what}.{STREAM}" for what in ("GET", "DELETE")),
        *("$JS.API.STREAM.CREATE.MINE", "$JS.API.INFO", "$SYS.REQ.SERVER.PING", "anything"),
    ],
)
def test_a_node_may_not_say(server: NatsServer, subject: str) -> None:
    async def scene() -> None:
        async with both(server) as (own, alpha):
            heard = await answer_all(own)
            await alpha.client.publish(subject, b"{}", reply="_INBOX_alpha.x")
            refusal = await alpha.refusal()
            await settled(own)
            assert f'permissions violation for publish to "{subject.lower()}"' in refusal
            assert heard == [] and await messages(own) == 0
            consumers = await own.jetstream().consumers_info(STREAM)
            assert {each.name for each in consumers} == {"fetch", "at-alpha", "at-beta"}

    asyncio.run(scene())


@pytest.mark.parametrize(
    "subject",
    [
        *(">", "*", "*.>", "sheaf.>", "sheaf.from.>", "sheaf.from.alpha.>", "sheaf.task.>"),
        *("_INBOX_beta.>", "_INBOX_beta.x", "_INBOX_coordinator.>", "_INBOX.>", "*.x"),
        *("sheaf.to.beta", "sheaf.to.*", "$JS.>", "$JS.ACK.>", "$SYS.>"),
    ],
)
@pytest.mark.parametrize("queue", ["", "group"])
def test_a_node_may_not_hear(server: NatsServer, subject: str, queue: str) -> None:
    async def scene() -> None:
        async with both(server) as (own, alpha):
            heard = await alpha.client.subscribe(subject, queue=queue)
            assert "permissions violation for subscription" in await alpha.refusal()
            for each in ("sheaf.to.beta", "sheaf.from.beta.done", "sheaf.task.fetch"):
                await own.publish(each, b"for others")
            await settled(own)
            await settled(alpha.client)
            with pytest.raises(NoAnswerInTime):
                await heard.next_msg(0.01)

    asyncio.run(scene())


@pytest.mark.parametrize("what", ["PURGE", "DELETE"])
def test_a_task_sent_to_the_servers_own_subjects_harms_nothing(
    server: NatsServer, what: str
) -> None:
    """A node names where its tasks are delivered, and the server does not ask whether it may speak
    there itself."""

    async def scene() -> None:
        async with both(server) as (own, alpha):
            await own.jetstream().publish("sheaf.task.fetch", b"{}")
            reply = f"$JS.API.STREAM.{what}.{STREAM}"
            await alpha.client.publish(f"{NEXT}.fetch", b"1", reply=reply)
            await settled(alpha.client)
            assert await messages(own) == 1

    asyncio.run(scene())


def test_a_task_sent_elsewhere_does_not_look_like_another_nodes_word(server: NatsServer) -> None:
    """It arrives, but by its own subject: whoever hears it must look at that."""

    async def scene() -> None:
        async with both(server) as (own, alpha):
            heard = await own.subscribe("sheaf.from.*.>")
            await own.jetstream().publish("sheaf.task.fetch", b"{}")
            request = f"{NEXT}.fetch"
            await alpha.client.publish(request, b"1", reply="sheaf.from.beta.done")
            message = await heard.next_msg(PATIENCE_S)
            assert message.subject == "sheaf.task.fetch"

    asyncio.run(scene())

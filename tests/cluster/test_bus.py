"""The connection to the server of a cluster, as it ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.support.nats_server import running_nats
from tools.cluster.bus import Bus


def test_what_runs_at_the_end_comes_to_its_own(tmp_path: Path) -> None:
    """However many turns that takes: the search for a server that is away takes several."""
    turns: list[int] = []

    async def search() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for at in range(50):
                await asyncio.sleep(0)
                turns.append(at)

    async def begin() -> asyncio.Task[None]:
        task = asyncio.create_task(search())
        await asyncio.sleep(0)
        return task

    with running_nats(tmp_path / "nats") as server:
        bus = Bus(server.join("alpha"))
        bus.start({})
        task = bus.call(begin())
        bus.close()
    assert task.cancelled() and len(turns) == 50

"""Parts that are sent again and again, without a server around them."""

from __future__ import annotations

import asyncio

import pytest

from tools.web import streams
from tools.web.streams import Streams


def test_a_page_that_is_loaded_again_and_again_is_made_by_one() -> None:
    """Whoever leaves and comes back within the second finds the one that goes on."""

    async def loaded(times: int) -> int:
        many = Streams()
        for _ in range(times):
            many.end(many.begin("overview", lambda: "made"))
            await asyncio.sleep(0)
        last = many.begin("overview", lambda: "made")
        number = len(many._tasks)
        many.end(last)
        return number

    assert asyncio.run(asyncio.wait_for(loaded(20), 30)) == 1


def test_whoever_comes_when_it_was_about_to_end_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "EVERY_S", 0.0)

    async def come_and_gone() -> str:
        many = Streams()
        for _ in range(20):
            part = many.begin("overview", lambda: "made")
            assert await part.after(0)
            many.end(part)
            while many._tasks:
                await asyncio.sleep(0)
        assert many._parts == {}
        return part.text

    assert asyncio.run(asyncio.wait_for(come_and_gone(), 30)) == "made"

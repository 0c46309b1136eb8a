"""Parts of a page that are sent again whenever they change.

Promise: a part is made once however many look at it, at most once a second and a tenth of the time
at most; while nobody looks it is not made at all. There are so many streams and no more. When the
server ends they end, each with a whole answer.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

logger = logging.getLogger(__name__)

MOST = 64
EVERY_S = 1.0
SHARE = 0.1  # of the time may be spent on one part
ALIVE_S = 15.0  # so often something is said, to learn whether anybody listens
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"x-accel-buffering", b"no"),  # said to a proxy that would wait for more
]
FULL = "Too many pages are open at once: close one.\n"
Render = Callable[[], str]


class Part:
    """What all who look at it see."""

    def __init__(self, render: Render) -> None:
        self._render = render
        self._changed = asyncio.Event()
        self.number = 0
        self.text = ""
        self.listeners = 0
        self.is_made = False  # again and again, by one task

    async def make_again(self) -> None:
        """As long as anybody listens."""
        while self.listeners:
            begun = time.monotonic()
            text = await self._made()
            if text != self.text:
                self.text, self.number = text, self.number + 1
                changed, self._changed = self._changed, asyncio.Event()
                changed.set()
            took = time.monotonic() - begun
            await asyncio.sleep(max(EVERY_S, took / SHARE) - took)

    async def _made(self) -> str:
        try:
            return await run_in_threadpool(self._render)
        except Exception:  # the next second may be better
            logger.exception("a part of the page cannot be made")
            return self.text

    async def after(self, number: int) -> bool:
        """Until it is another one than that; False if that took so long that we should say
        something."""
        if self.number != number:
            return True
        with suppress(TimeoutError):
            async with asyncio.timeout(ALIVE_S):
                await self._changed.wait()
        return self.number != number


class Streams:
    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._parts: dict[str, Part] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._sending: set[asyncio.Task[None]] = set()
        self.is_closed = False

    @property
    def number(self) -> int:
        return sum(part.listeners for part in self._parts.values())

    def answer(self, key: str, render: Render) -> Response:
        """A stream of the part with this key; or that there are too many."""
        if self.is_closed or self.number >= self._most:
            return PlainTextResponse(FULL, 503, {"retry-after": "10"})
        return Stream(self, key, render)

    def begin(self, key: str, render: Render) -> Part:
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = Part(render)
        part.listeners += 1
        if not part.is_made:  # nobody looked; or the last one left a moment ago
            self._start(key, part)
        return part

    def end(self, part: Part) -> None:
        part.listeners -= 1

    def close(self) -> None:
        """Every stream ends now."""
        self.is_closed = True
        for task in self._sending:
            task.cancel()

    def sending(self, task: asyncio.Task[None]) -> None:
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    def _start(self, key: str, part: Part) -> None:
        part.is_made = True
        task = asyncio.get_running_loop().create_task(part.make_again())
        self._tasks.add(task)

        def forget(ended: asyncio.Task[None]) -> None:
            self._tasks.discard(ended)
            part.is_made = False
            if part.listeners and not self.is_closed:  # somebody came in that moment
                self._start(key, part)
            elif self._parts.get(key) is part:
                del self._parts[key]

        task.add_done_callback(forget)


class Stream(Response):
    """One of them, to one client."""

    def __init__(self, streams: Streams, key: str, render: Render) -> None:
        self._streams, self._key, self._render = streams, key, render
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS]})
        part = self._streams.begin(self._key, self._render)
        sending = asyncio.get_running_loop().create_task(self._send_all(part, send))
        self._streams.sending(sending)
        gone = asyncio.get_running_loop().create_task(_gone(receive))
        try:
            await asyncio.wait((sending, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._streams.end(part)
            is_gone = gone.done()
            await _ended(sending, gone)
        if not is_gone:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_all(self, part: Part, send: Send) -> None:
        number = 0
        while True:
            has_news = await part.after(number)
            number = part.number
            body = _message(part.text) if has_news else b":\n\n"
            await send({"type": "http.response.body", "body": body, "more_body": True})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _ended(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _message(text: str) -> bytes:
    return "".join(f"data: {line}\n" for line in text.splitlines()).encode() + b"\n"

"""A connection to the server that carries all messages between machines.

Promise: nothing here waits but `start` and `call`, and those not for ever; a connection that is
lost comes back by itself, however long that takes. What is said meanwhile is not kept: whoever must
be heard says it again.
Limit: its callbacks are called in a thread of its own, and must not wait.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

import nats
import zstandard

from ..errors import Unavailable, Unreachable
from .join_file import Join, host_and_port, tls_of
from .subjects import inbox_prefix
from .wire import LARGEST, Malformed

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

logger = logging.getLogger(__name__)

CONNECT_S, CALL_S = 10.0, 20.0
AGAIN_S = 3.0  # until a server that is not there is looked for again
PING_S = 2
LARGE = 100_000  # bytes: worth packing
LARGEST_UNPACKED = 6 * LARGEST
PLAIN, PACKED = b"\0", b"\1"

T = TypeVar("T")
GivesUp = Callable[[float], bool]


def at_once(_seconds: float) -> bool:
    """Who does not wait for a server."""
    return True


Heard = Callable[["Msg"], None]


class Bus:
    """`lost` and `back` are told when the connection goes and comes."""

    def __init__(
        self,
        join: Join,
        lost: Callable[[], None] = lambda: None,
        back: Callable[[], None] = lambda: None,
    ) -> None:
        self._join = join
        self._lost, self._back = lost, back
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="bus", daemon=True)
        self._unsaid: deque[tuple[str, bytes, str]] = deque()
        self._is_saying = False
        self._client: Client | None = None

    @property
    def is_connected(self) -> bool:
        return self._client is not None and self._client.is_connected

    def start(self, heard: Mapping[str, Heard], gives_up: GivesUp = at_once) -> None:
        """Connect, and hear what is said on these subjects. Unreachable if it does not let us in,
        or if there is no server; but then `gives_up` is asked, which waits so many seconds."""
        logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns of every end by TLS
        self._thread.start()
        while True:
            try:
                self.call(self._connect(heard), CONNECT_S + 5)
                return
            except Exception as error:
                trouble = self._unreachable(error)
                if _is_refusal(error) or gives_up(AGAIN_S):
                    self.close()
                    raise trouble from error
                logger.warning("%s; it is tried again", trouble)

    def _unreachable(self, error: Exception) -> Unreachable:
        place = host_and_port(self._join.address, self._join.port)
        reason = str(error) or type(error).__name__
        return Unreachable(
            f"the cluster's server at {place} cannot be reached ({reason}): start it with "
            "scripts/nats start, and look whether its address and this key are still right"
        )

    def say(self, subject: str, content: bytes, reply: str = "") -> None:
        """From any thread. Those that are said together travel together."""
        self._unsaid.append((subject, content, reply))
        if not self._is_saying:
            self._is_saying = True
            with suppress(RuntimeError):  # it is closed
                self._loop.call_soon_threadsafe(self._say_all)

    def call(self, work: Coroutine[Any, Any, T], seconds: float = CALL_S) -> T:
        """Wait for something that is done there; Unavailable if nobody answers."""
        done: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return done.result(seconds)
        except TimeoutError:
            done.cancel()
            raise Unavailable("the cluster's server does not answer") from None
        except nats.errors.Error as error:
            raise Unavailable(f"the cluster's server: {error}") from error

    def ask(self, subject: str, seconds: float) -> bytes | None:
        """What whoever hears this subject answers; None if nobody hears it. Unavailable if it is
        heard and not answered."""
        return self.call(self._ask(subject, seconds), seconds + 1)

    def hear(self, subject: str, tell: Heard) -> None:
        """From now on."""
        self.call(self._hear(subject, tell))

    @property
    def client(self) -> Client:
        if self._client is None:
            raise Unavailable("the cluster's server was never reached")
        return self._client

    def close(self) -> None:
        if self._loop.is_running():
            if self._client is not None:
                with suppress(Exception):
                    self.call(self._client.close(), 5.0)
            with suppress(Exception):
                self.call(_end_all(), 5.0)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(5.0)
        if not self._loop.is_running():
            self._loop.close()

    # --- its own thread --------------------------------------------------------------------

    async def _connect(self, heard: Mapping[str, Heard]) -> None:
        join = self._join
        self._client = await nats.connect(
            join.url,
            name=join.name,
            tls=tls_of(join),
            inbox_prefix=inbox_prefix(join.name).encode(),
            connect_timeout=int(CONNECT_S),
            reconnect_time_wait=1,
            max_reconnect_attempts=-1,
            ping_interval=PING_S,
            max_outstanding_pings=2,
            allow_reconnect=True,
            error_cb=self._on_error,
            disconnected_cb=self._on_lost,
            reconnected_cb=self._on_back,
            skip_subject_validation=True,
        )
        for subject, tell in heard.items():
            await self._client.subscribe(subject, cb=_callback(tell))
        await self._client.flush(int(CONNECT_S))

    async def _ask(self, subject: str, seconds: float) -> bytes | None:
        try:
            return (await self.client.request(subject, b"", timeout=seconds)).data
        except nats.errors.NoRespondersError:
            return None

    async def _hear(self, subject: str, tell: Heard) -> None:
        await self.client.subscribe(subject, cb=_callback(tell))
        await self.client.flush(int(CONNECT_S))

    def _say_all(self) -> None:
        self._is_saying = False
        if self._unsaid:
            task = self._loop.create_task(self._publish_all())
            task.add_done_callback(_note_failure)

    async def _publish_all(self) -> None:
        client = self._client
        while self._unsaid:
            subject, content, reply = self._unsaid.popleft()
            if client is None or not client.is_connected:
                continue
            try:
                await client.publish(subject, content, reply)
            except nats.errors.Error as error:
                logger.debug("not said: %s", error)

    async def _on_error(self, error: Exception) -> None:
        logger.debug("the bus: %s", error)

    async def _on_lost(self) -> None:
        self._lost()

    async def _on_back(self) -> None:
        self._back()


def packed(content: bytes) -> bytes:
    """As it travels; Malformed if it is too large."""
    message = PLAIN + content
    if len(content) > LARGE:
        message = min(message, PACKED + zstandard.compress(content, 3), key=len)
    if len(message) > LARGEST:
        raise Malformed(f"a message of {len(message):,} bytes")
    return message


def unpacked(message: bytes) -> bytes:
    if message[:1] == PLAIN:
        return message[1:]
    if message[:1] != PACKED:
        raise Malformed("no message of ours")
    try:
        reader = zstandard.ZstdDecompressor().stream_reader(message[1:])
        content = reader.read(LARGEST_UNPACKED + 1)
    except zstandard.ZstdError:
        raise Malformed("a packed message that cannot be unpacked") from None
    if len(content) > LARGEST_UNPACKED:
        raise Malformed(f"a message of {len(content):,} bytes")
    return content


def _callback(tell: Heard) -> Callable[[Msg], Coroutine[Any, Any, None]]:
    async def heard(message: Msg) -> None:
        try:
            tell(message)
        except Exception:  # a bug here would silence the bus
            logger.exception("the bus: %s", message.subject)

    return heard


async def _end_all() -> None:
    """What still runs in this loop, such as a search for a server that is away: a task that goes
    with its loop leaves its connection open."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for each in tasks:
        each.cancel()
    if tasks:
        await asyncio.wait(tasks)
    await asyncio.sleep(0)  # their connections are closed a turn later


def _is_refusal(error: BaseException | None) -> bool:
    """It is there, and does not let us in, or is not the one our key is for."""
    while error is not None:
        if isinstance(error, nats.errors.AuthorizationError | ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _note_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("the bus: %r", error)

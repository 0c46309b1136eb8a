"""A coordinator in this process, with all it has in a real harvest, and nodes that say whatever a
test wants, each with its own key at a real server."""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, Self, cast

from nats.aio.msg import Msg

from tests.support.nats_server import NatsServer
from tools.add import Relation
from tools.base.version import VERSION
from tools.cluster.bus import Bus, packed, unpacked
from tools.cluster.messages import (
    FORMAT,
    Agreed,
    Introduction,
    Judged,
    Message,
    Offer,
    Pulse,
    Refused,
    Result,
    Wait,
    Welcome,
    Work,
)
from tools.cluster.nodes import NodeExecutor
from tools.cluster.program import program_digest
from tools.cluster.settings import ClusterSettings
from tools.cluster.subjects import (
    SAY,
    TO_ALL,
    TURN,
    at_consumer,
    from_node,
    inbox_prefix,
    next_tasks,
    to_node,
)
from tools.cluster.wire import decoded, encoded
from tools.commands.coordinator import executor_of_nodes
from tools.conceptnet.graph import open_graph
from tools.conceptnet.rules import KEPT
from tools.engine.harvest import Harvest
from tools.jobs.conceptnet import ConceptnetJob
from tools.providers.settings import ExtendSettings
from tools.settings import Settings
from tools.uri import assertion

PATIENCE_S = 30.0
NOWHERE = "http://localhost:9"


def until(holds: Callable[[], Any], what: str, seconds: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.01)


class InAThread(Harvest):
    """Signals are for the main thread, which is the test's."""

    def listen_for_pauses(self) -> None: ...

    def _listen_for_stops(self) -> None: ...


class Office:
    """It runs until it is closed, or everything is done."""

    def __init__(self, folder: Path, server: NatsServer, **settings: Any) -> None:
        cluster = ClusterSettings(folder=server.folder)
        given = {"source": NOWHERE, "seeds": ("/c/en/dog",), "depth": 3, "processes": 0, **settings}
        given.setdefault("extend", ExtendSettings(images=1, ground="both"))
        self.settings = Settings(state=folder / "state", media=folder / "m", cluster=cluster)
        self.settings = replace(self.settings, **given)
        self.settings.state.mkdir(parents=True, exist_ok=True)
        self.stop = Event()
        self.graph = open_graph(self.settings.graph_url)
        job = ConceptnetJob(self.settings, self.graph, self.stop, "ConceptNet")
        self.executor: NodeExecutor = executor_of_nodes(job, self.settings, self.stop)
        file, attempts = self.settings.pools_file, self.settings.attempts
        self.harvest = InAThread(job, file, self.stop, attempts, 2.0, self.executor)
        self.executor.begin(self.harvest.pools)  # the source is asked by nodes only
        self._thread = Thread(target=self.harvest.run, name="harvest", daemon=True)
        self._thread.start()
        until(lambda: all(each.is_alive() for each in self.harvest.monitors), "it runs")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        from tools.engine.harvest import Request

        self.harvest.ask(Request("stop"))
        self._thread.join(PATIENCE_S)
        self.harvest.close()
        self.graph.close()

    @property
    def pools(self) -> Any:
        return self.harvest.pools

    def essence(self) -> tuple[dict[str, Any], str]:
        """What is written down, but when and how often it was tried: pools, meta, tally, graph."""
        self.pools.make_durable()
        with closing(sqlite3.connect(self.settings.pools_file)) as db:
            found: dict[str, Any] = {
                name: db.execute(query).fetchall() for name, query in WRITTEN.items()
            }
            ((tally,),) = db.execute("SELECT * FROM tally").fetchall()
        known = json.loads(tally)
        found["tally"] = {name: known[name] for name in known if not name.startswith(TIMES)}
        with closing(sqlite3.connect(self.settings.state / "graph.db")) as db:
            return found, "\n".join(sorted(db.iterdump()))


WRITTEN = {
    "uri": "SELECT uri, pool, depth, attempts, priority, note, lane FROM uri ORDER BY uri",
    "meta": "SELECT * FROM meta WHERE key != 'lease_run' ORDER BY 1",  # written with a first task
    **{name: f"SELECT * FROM {name} ORDER BY 1" for name in ("mark", "custody", "host")},
}
TIMES = ("tasks ", "us ", "up to ")


class Stranger:
    """Whoever has the key of a node."""

    def __init__(self, server: NatsServer, name: str = "alpha", session: str = "") -> None:
        self.name, self.session = name, session or f"session-{name}"
        self.home = f"home of {self.session}"
        self.bus = Bus(server.join(name))
        self.heard: SimpleQueue[Message] = SimpleQueue()
        self.tasks: SimpleQueue[tuple[Work, str]] = SimpleQueue()
        self._pulls = 0
        inbox = f"{inbox_prefix(name)}.p.>"
        self.bus.start({to_node(name): self._told, TO_ALL: self._told, inbox: self._pulled})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.bus.close()

    def _told(self, message: Msg) -> None:
        self.heard.put(decoded(unpacked(message.data)))

    def _pulled(self, message: Msg) -> None:
        if (message.headers or {}).get("Status") is None:
            work = decoded(unpacked(message.data))
            assert isinstance(work, Work)
            self.tasks.put((work, message.reply))

    # --- what it says ----------------------------------------------------------------------

    def say(self, message: Message, what: str = SAY) -> None:
        self.shout(packed(encoded(message, 1 << 30)), what)

    def ask(self, message: Message) -> None:
        self.say(message, TURN)

    def shout(self, content: bytes, what: str = SAY) -> None:
        """Whatever bytes."""
        self.bus.say(from_node(self.name, what), content)

    def introduce(self, **other: Any) -> Message:
        """What it is told."""
        own = Introduction(FORMAT, VERSION, program_digest(), self.session, self.home, {}, 0.0)
        self.say(own._replace(clock=time.time())._replace(**other))
        return self.hear(Welcome, Wait, Refused)

    def join(self, places: int = 4, **by_stage: int) -> Agreed:
        assert isinstance(self.introduce(), Welcome)
        return self.offer(**by_stage or {"fetch": places, "extend": places})

    def offer(self, **by_stage: int) -> Agreed:
        self.say(Offer(self.session, by_stage, {}))
        agreed = self.hear(Agreed)
        assert isinstance(agreed, Agreed)
        return agreed

    def pulse(self, tokens: Sequence[int] = (), **places: int) -> None:
        self.say(Pulse(self.session, list(tokens), dict(places), {}, None))

    def take(self, stage: str, seconds: float = PATIENCE_S) -> Work:
        return self.take_with_reply(stage, seconds)[0]

    def take_with_reply(self, stage: str, seconds: float = PATIENCE_S) -> tuple[Work, str]:
        """`own` is what only this node can do."""
        deadline = time.monotonic() + seconds
        consumer = at_consumer(self.name) if stage == "own" else stage
        while time.monotonic() < deadline:
            self._pulls += 1
            inbox = f"{inbox_prefix(self.name)}.p.{self._pulls}"
            wanted = b'{"batch": 1, "expires": 500000000}'
            self.bus.say(next_tasks(consumer), wanted, inbox)
            try:
                return self.tasks.get(timeout=0.6)
            except Empty:
                continue
        raise AssertionError(f"{self.name} is given nothing of {stage}")

    def ack(self, reply: str) -> None:
        self.bus.say(reply, b"+ACK")

    # --- what it hears ---------------------------------------------------------------------

    def hear(self, *kinds: type[Any], seconds: float = PATIENCE_S) -> Message:
        """The next of these; what comes before it is skipped."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                message = self.heard.get(timeout=left)
            except Empty:
                break
            if isinstance(message, kinds):
                return cast("Message", message)
        raise AssertionError(f"{self.name} hears no {' or '.join(k.__name__ for k in kinds)}")

    def verdict(self, token: int) -> str:
        while True:
            message = self.hear(Judged)
            assert isinstance(message, Judged)
            if message.token == token:
                return message.verdict

    def bring(self, result: Result) -> str:
        self.say(result)
        return self.verdict(result.token)


# --- what nodes bring --------------------------------------------------------------------------


def relation(start: str, end: str, kind: str = "CapableOf") -> Relation:
    uri = assertion(f"/r/{kind}", start, end)
    return Relation(uri, kind, start, end, 2.0, f"{start} is {end}", "cc:by/4.0", "/d/test")


def page_result(token: int, concept: str, *ends: str) -> Result:
    """What an honest node says of a page."""
    kept = [relation(concept, end) for end in ends]
    found = [
        ["fetch", list(ends), 0, None, None, None],
        ["extend", [each.uri for each in kept], 0, None, None, None],
    ]
    tally = {KEPT: len(kept)} if kept else {}
    table = {"to": "to_extend", "found": found, "tally": tally, "reason": None, "facts": {}}
    return Result(token, "fetch", concept, table, None, [list(each) for each in kept], None)


def file_result(token: int, owner: str, *media: Sequence[Any]) -> Result:
    """What an honest node says of files."""
    search = {
        **{"owner": owner, "text": "dog", "time": "2026-01-01T00:00:00Z", "asked": ["x/image"]},
        **{"kept": {"image": len(media), "audio": 0, "visual": 0}, "refused": [], "links": []},
    }
    cargo = {"media": [list(each) for each in media], "search": search}
    table: dict[str, Any] = {"to": "finished", "found": [], "reason": None, "facts": {}}
    table["tally"] = {"media image x": len(media)} if media else {}
    return Result(token, "extend", owner, table, None, cargo, None)


@contextmanager
def quietly() -> Iterator[None]:
    """Thousands of refusals are not worth a line each."""
    known = logging.getLogger("tools")
    before, known.level = known.level, logging.CRITICAL
    try:
        yield
    finally:
        known.setLevel(before)

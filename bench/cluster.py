"""A harvest on nodes: how four compare with one, and what each part of it costs.

The work is fetching: pages of a server that takes its time, so that nobody waits for a processor.
The coordinator keeps pools and embedded graph on disk, as its user does; nodes are processes with
eight places each. Costs are CPU seconds and memory of each process, as the system counts them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import NamedTuple

from bench.fetch import check
from bench.report import RUNS, Bar, Row, Say, shown
from bench.server import SEED, serving
from tests.support.cluster import Cluster
from tests.support.nats_server import NEWEST, NatsServer, running_nats
from tools.base.resident import resident_of
from tools.cluster.bus import Bus, packed, unpacked
from tools.cluster.grants import Grants
from tools.cluster.limits import SharedLimits
from tools.cluster.messages import Again, Ask, Back, Permit, Refusal
from tools.cluster.node import Turns
from tools.cluster.post import Post
from tools.cluster.subjects import TURN, from_node, speaker, to_node
from tools.cluster.wire import decoded, encoded
from tools.network.limits import Limit, Limits

NAMES = ("alpha", "beta", "gamma", "delta")
PLACES, LATENCY_MS = 8, 300.0
CONCEPTS = {1: 700, 4: 2800}  # for rates
MANY, SHORT_MS = 20_000, 50.0  # for costs: a start is spread over them
TICKS = 100.0  # of the system's clock, in a second
TURNS, ASKERS = 2000, 8


class Cost(NamedTuple):
    """`rate` are tasks a second; the others are CPU ms a task, and MB."""

    rate: float
    coordinator: float
    nodes: float
    server: float
    coordinator_mb: float
    node_mb: float


def measure(scale: float, say: Say) -> Iterator[Row]:
    costs: dict[int, list[Cost]] = {1: [], 4: []}
    for number in range(1, RUNS + 1):
        for nodes, found in costs.items():
            say(f"cluster, run {number}: {nodes} nodes")
            pages = max(200, round(CONCEPTS[nodes] * scale))
            found.append(harvest(nodes, pages, LATENCY_MS))
    ratios = [four.rate / one.rate for one, four in zip(costs[1], costs[4], strict=True)]
    ideal = 4 * PLACES / LATENCY_MS * 1000
    rates = f"{shown([each.rate for each in costs[4]])}/s of {ideal:.0f} ideal"
    one = f"{shown([each.rate for each in costs[1]])}/s"
    yield Row("4 nodes / 1 node, 300 ms a page", ratios, "", 2, Bar(">=", 3.6), rates, one)
    many = [spending(round(MANY * scale), number, say) for number in range(1, RUNS + 1)]
    spent, others, bus, ours, theirs = (
        [getattr(each, name) for each in many]
        for name in ("coordinator", "nodes", "server", "coordinator_mb", "node_mb")
    )
    beside = f"nodes {median(others):.2f} ms, server {median(bus):.2f} ms"
    yield Row("coordinator, CPU a task", spent, " ms", 2, Bar("<", 0.8), beside, "")
    yield Row("coordinator", ours, " MB", 0, Bar("<", 150), "", "")
    yield Row("a node that fetches", theirs, " MB", 0, Bar("<", 60), "", "")
    say("cluster: turns of a shared limit")
    turns = [turn_ms() for _ in range(RUNS)]
    yield Row("a turn of a shared limit, median", turns, " ms", 2, Bar("<", 2.0), "", "")


def spending(pages: int, number: int, say: Say) -> Cost:
    say(f"cluster, run {number}: what {pages:,} pages cost")
    return harvest(4, pages, SHORT_MS)


def harvest(nodes: int, concepts: int, latency_ms: float) -> Cost:
    """From the first page to the last, as the coordinator's books say."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="bench-")))
        words = "--concepts", str(concepts), "--latency", f"{latency_ms:g}"
        url = stack.enter_context(serving("bench.server", *words))
        server = stack.enter_context(running_nats(folder / "server", NEWEST, NAMES))
        settings = f'source = "{url}"\nseeds = ["{SEED}"]\nreserve_bytes = 0\n'
        cluster = Cluster(folder, server, settings, "reserve_bytes = 0\n")
        stack.enter_context(cluster)
        for name in NAMES[:nodes]:
            cluster.start_node(name, "--threads", str(PLACES), "-q")
            cluster.wait_until_up(name)
        watch = stack.enter_context(closing(Watch(cluster, server, NAMES[:nodes])))
        begun = time.perf_counter()
        code = cluster.run("--no-media", "-q", seconds=900)
        seconds = time.perf_counter() - begun
        if code:
            raise RuntimeError(cluster.log("coordinator")[-2000:])
        check(cluster.places().state, concepts)
        return watch.cost(concepts, seconds)


class Watch:
    """Looks at processes while they live: of those that have ended nobody tells the memory."""

    def __init__(self, cluster: Cluster, server: NatsServer, nodes: Sequence[str]) -> None:
        self._cluster, self._nodes = cluster, nodes
        self._server = server.pid
        self._stop = Event()
        self._cpu: dict[str, float] = {}
        self._begun: dict[str, float] = {}
        self._mb: dict[str, float] = {}
        for name in nodes:
            self._begun[name] = cpu_of(cluster.processes[name].pid)
        self._begun["server"] = cpu_of(self._server)
        self._thread = Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._stop.wait(0.05):
            pids = {name: self._cluster.processes[name].pid for name in self._nodes}
            if (coordinator := self._cluster.processes.get("coordinator")) is not None:
                pids["coordinator"] = coordinator.pid
            for name, pid in {**pids, "server": self._server}.items():
                if cpu := cpu_of(pid):
                    self._cpu[name] = cpu
                    self._mb[name] = max(self._mb.get(name, 0.0), resident_of(pid, 0) / 1e6)

    def cost(self, tasks: int, seconds: float) -> Cost:
        spent = {name: self._cpu[name] - self._begun.get(name, 0.0) for name in self._cpu}
        nodes = sum(spent[name] for name in self._nodes)
        return Cost(
            tasks / seconds,
            1000 * spent["coordinator"] / tasks,
            1000 * nodes / tasks,
            1000 * spent["server"] / tasks,
            self._mb["coordinator"],
            max(self._mb[name] for name in self._nodes),
        )

    def close(self) -> None:
        self._stop.set()
        self._thread.join(5)


def cpu_of(pid: int) -> float:
    """Seconds; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


# --- turns ---------------------------------------------------------------------------------------


def turn_ms() -> float:
    """A turn and its end over the bus, by eight threads, of a host that is never busy."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="bench-")))
        server = stack.enter_context(running_nats(folder / "server", NEWEST, NAMES))
        limits = Limits({"h": Limit(("1000000/second",))}, Event(), None)
        ours = Bus(server.coordinator)
        grants = Grants(limits, ASKERS, lambda message: None)
        stack.callback(grants.close)

        def asked(message: object) -> None:
            name, content = speaker(message.subject), message.data  # type: ignore[attr-defined]
            heard = decoded(unpacked(content))
            if isinstance(heard, Ask | Again | Back):
                grants.heard(
                    name, heard, lambda said: ours.say(to_node(name), packed(encoded(said)))
                )

        ours.start({from_node("*", TURN): asked})
        stack.callback(ours.close)
        grants.come("alpha", lambda message: None)
        theirs = Bus(server.join("alpha"))
        post = Post(Turns(theirs, "alpha"))

        def told(message: object) -> None:
            heard = decoded(unpacked(message.data))  # type: ignore[attr-defined]
            if isinstance(heard, Permit | Refusal):
                post.heard(heard)

        theirs.start({to_node("alpha"): told})
        stack.callback(theirs.close)
        shared = SharedLimits(post, ["h"])
        return _timed(shared)


def _timed(shared: SharedLimits) -> float:
    times: list[float] = []

    def ask() -> None:
        for _ in range(TURNS // ASKERS):
            begun = time.perf_counter()
            turn = shared.take_turn("h")
            times.append(time.perf_counter() - begun)
            if turn is not None:
                turn.give_back(begun, 0)

    threads = [Thread(target=ask) for _ in range(ASKERS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return 1000 * median(times)

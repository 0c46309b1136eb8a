"""A harvest on nodes in network namespaces, through kills, cuts, stops and full disks; it must end
as an undisturbed one does.

Run as a program it is the whole storm: python -m tests.cluster.storm --node-kills 100 ...
"""

from __future__ import annotations

import argparse
import os
import signal
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

from tests.soak.compare import Essence, Places, differences, essence
from tests.soak.world import SEED, lines
from tests.support.cluster import Cluster, until
from tests.support.command import run
from tests.support.nats_server import NEWEST, NatsServer, running_nats
from tests.support.node import SshdNode
from tests.support.shipped import assert_merged, receive
from tests.support.wires import Namespace, Wire
from tests.support.worlds.conceptnet import World
from tests.support.worlds.media import MediaWorld
from tools.base.resident import descendants
from tools.journal.reader import look

NAMES = ("alpha", "beta", "gamma", "delta")
PLACES = 4  # of each stage on each node
OWN = "reserve_bytes = 0\nprocesses = 0\nstop_grace_s = 5\n"


@dataclass
class Weather:
    """What happens, how often, in what order by chance."""

    node_kills: int = 0
    coordinator_kills: int = 0
    server_kills: int = 0
    stops: int = 0  # SIGSTOP, for longer than anybody waits
    cuts: Sequence[float] = ()  # seconds each
    pause_s: tuple[float, float] = (0.3, 1.2)  # between two events
    stop_s: float = 12.0

    def events(self, chance: Random) -> list[tuple[str, float]]:
        found = [("node", 0.0)] * self.node_kills
        found += [("coordinator", 0.0)] * self.coordinator_kills
        found += [("server", 0.0)] * self.server_kills
        found += [("stop", self.stop_s)] * self.stops
        found += [("cut", seconds) for seconds in self.cuts]
        chance.shuffle(found)
        return found


@dataclass
class Storm:
    folder: Path
    server: NatsServer
    world: World
    media: MediaWorld
    chance: Random
    receiver: SshdNode | None = None
    cluster: Cluster = field(init=False)
    wires: dict[str, Wire] = field(default_factory=dict)
    mending: list[tuple[float, str, str]] = field(default_factory=list)
    happened: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        shipping = "" if self.receiver is None else self._shipping(self.receiver)
        self.cluster = Cluster(self.folder, self.server, self.settings, OWN + shipping)

    def _shipping(self, receiver: SshdNode) -> str:
        """As soon as a little has come together."""
        for name in NAMES:
            (receiver.folder / "raw" / name).mkdir(parents=True)
        return receiver.settings(volume_mb=0.5, receipt_s=0, outbox_mb=1.0)

    @property
    def settings(self) -> str:
        servers = "".join(f'{name} = "{url}"\n' for name, url in self.media.servers.items())
        return (
            f'source = "{self.world.url}"\nseeds = ["{SEED}"]\nprocesses = 0\n'
            "reserve_bytes = 0\nstop_grace_s = 5\nattempts = 1000\n[http]\ntries = 1\n"
            f"[extend]\nimages = 1\nsounds = 1\ngifs = 1\n[extend.servers]\n{servers}"
        )

    def quietly(self) -> Essence:
        """What one machine makes of it."""
        folder = self.folder / "alone"
        folder.mkdir()
        (folder / "sheaf.toml").write_text(self.settings)
        done = run("main.py", "-q", cwd=folder, seconds=600)
        assert done.returncode == 0, done.stderr
        return essence(Places(folder / "state", folder / "m"))

    # --- one run ---------------------------------------------------------------------------

    def lay_wires(self, stack: ExitStack) -> None:
        """Each node has one to the bus and another to the world, so that a cut one may go on."""
        ports = [_port(self.world.url), *map(_port, self.media.servers.values())]
        for name in NAMES:
            there = stack.enter_context(Namespace(name))
            self.wires[name] = there.wire(self.server.port)
            there.wire(*ports, *([self.receiver.port] if self.receiver else []))
            self.cluster.prefixes[name] = there.prefix

    def start_node(self, name: str) -> None:
        self.cluster.start_node(name, "--threads", str(PLACES))

    def through(self, weather: Weather, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        for name in NAMES:
            self.start_node(name)
        self.cluster.start("-q")
        events = weather.events(self.chance)
        until(lambda: self.world.paths, "it begins", 60)
        while events or self.mending:
            assert time.monotonic() < deadline, f"{len(events)} events are left"
            if events and not self.is_over():
                self.happen(*events.pop())
            elif events:
                break  # it was over before all had happened
            time.sleep(self.chance.uniform(*weather.pause_s))
            self.mend()
        while not self.is_over():
            assert time.monotonic() < deadline, self.last_words()
            time.sleep(0.2)
            self.mend()
        self.heal_all()

    def last_words(self) -> str:
        """What is left, and the end of each one's log."""
        pools = look(self.cluster.places().pools).pools
        logs = {name: self.cluster.places(name).state / "log" for name in ("coordinator", *NAMES)}
        ends = (
            f"--- {name}\n{log.read_text(errors='replace')[-3000:]}"
            for name, log in logs.items()
            if log.exists()
        )
        return "\n".join([f"{pools}", *ends])

    def is_over(self) -> bool:
        return self.cluster.processes["coordinator"].poll() is not None

    def happen(self, what: str, seconds: float) -> None:
        self.happened[what] += 1
        match what:
            case "node":
                name = self.chance.choice(self.well())
                self.kill(name)
                self.start_node(name)
            case "coordinator":
                self.cluster.kill("coordinator")
                self.cluster.start("-q")
            case "server":
                self.server.kill()
                self.server.start()
            case "cut":
                name = self.chance.choice(self.well())
                self.wires[name].cut()
                self.mending.append((time.monotonic() + seconds, "heal", name))
            case "stop":
                name = self.chance.choice(self.well())
                self.signal(name, signal.SIGSTOP)
                self.mending.append((time.monotonic() + seconds, "go on", name))

    def well(self) -> list[str]:
        ill = {name for _, _, name in self.mending}
        return [name for name in NAMES if name not in ill] or list(NAMES)

    def mend(self) -> None:
        now = time.monotonic()
        for each in [each for each in self.mending if each[0] <= now]:
            self.mending.remove(each)
            if each[1] == "heal":
                self.wires[each[2]].heal()
            else:
                self.signal(each[2], signal.SIGCONT)

    def heal_all(self) -> None:
        for moment, how, name in list(self.mending):
            self.mending.remove((moment, how, name))
            self.wires[name].heal()
            self.signal(name, signal.SIGCONT)

    def signal(self, name: str, number: int) -> None:
        """To the node itself: `ip netns exec` has become it."""
        for pid in self.pids(name):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self, name: str) -> None:
        self.signal(name, signal.SIGKILL)
        self.cluster.processes[name].wait(30)

    def pids(self, name: str) -> Iterator[int]:
        pid = self.cluster.processes[name].pid
        yield pid
        yield from descendants(pid)

    # --- what came of it -------------------------------------------------------------------

    def judged(self, quiet: Essence) -> list[str]:
        """Nodes settle what they have; then all must be as it would be without any of this."""
        gone = [name for name in NAMES if self.cluster.processes[name].poll() is not None]
        assert not gone, f"{gone} have ended by themselves: {self.cluster.log(gone[0])[-2000:]}"
        until(lambda: not any(self.pending(name) for name in NAMES), "all is answered", 60)
        if self.receiver is None:
            return differences(quiet, self.cluster.essence(NAMES))
        receive(self.receiver.folder)
        found = essence(Places(self.cluster.places().state, self.receiver.folder / "m"))
        wrong = differences(quiet, found)
        if not wrong:
            assert_merged(self.receiver.folder, dict(quiet.files))
        return wrong

    def pending(self, name: str) -> int:
        file = self.cluster.places(name).state / "pending.db"
        if not file.exists():
            return 0
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30) as db:
            ((number,),) = db.execute("SELECT count(*) FROM pending").fetchall()
        db.close()
        return int(number)

    def repeats(self) -> int:
        """Pages that were asked for more than once."""
        return sum(number - 1 for number in Counter(self.world.paths).values())

    def media_repeats(self, before: int) -> int:
        """How many more requests for media there were than without a storm."""
        return len(self.media.paths) - before


def _port(url: str) -> int:
    port = urlsplit(url).port
    assert port is not None
    return port


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.storm", description=__doc__)
    add = parser.add_argument
    add("--node-kills", type=int, default=100, metavar="N")
    add("--coordinator-kills", type=int, default=10, metavar="N")
    add("--server-kills", type=int, default=10, metavar="N")
    add("--stops", type=int, default=3, metavar="N")
    add("--cuts", type=float, nargs="*", default=[20.0, 60.0], metavar="SECONDS")
    add("--latency", type=float, default=0.3, metavar="SECONDS", help="of each page")
    add("--scale", type=float, default=0.3, metavar="X", help="times the sample")
    add("--seed", type=int, default=Random().randrange(1_000_000), metavar="N", help="(any)")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)

    weather = Weather(
        given.node_kills, given.coordinator_kills, given.server_kills, given.stops, given.cuts
    )
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sheaf-storm-")))
        world = stack.enter_context(World(lines(given.scale), latency=given.latency))
        media = stack.enter_context(MediaWorld())
        server = stack.enter_context(running_nats(folder / "server", NEWEST, NAMES))
        (folder / "receiver").mkdir()
        receiver = stack.enter_context(SshdNode(folder / "receiver"))
        storm = Storm(folder, server, world, media, Random(given.seed), receiver)
        stack.enter_context(storm.cluster)
        storm.lay_wires(stack)
        begun = time.monotonic()
        quiet = storm.quietly()
        print(f"alone: {len(quiet.finished)} in {time.monotonic() - begun:.0f} s", flush=True)
        alone = len(media.paths)
        world.paths.clear()
        media.paths.clear()
        begun = time.monotonic()
        storm.through(weather, 3600)
        print(f"storm: {dict(storm.happened)} in {time.monotonic() - begun:.0f} s", flush=True)
        wrong = storm.judged(quiet)
        print("identical" if not wrong else "\n".join(wrong))
        print(f"pages asked twice: {storm.repeats()} of {len(world.paths)}", flush=True)
        print(f"more requests for media: {storm.media_repeats(alone)} of {alone}", flush=True)


if __name__ == "__main__":
    main()

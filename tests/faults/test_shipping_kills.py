"""`kill -9` at each system call of a shipping: the next one completes it, nothing is lost, and what
the node has is not sent again."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from threading import Lock
from typing import NamedTuple

import pytest

from tests.faults.injection import injected, run
from tests.support.chance import any_seed
from tests.support.needs import program
from tests.support.node import ParamikoNode
from tests.support.shipped import Sender, assert_merged, receive
from tests.support.worlds.wires import TcpWire
from tools.shipping.settings import PARAMIKO, PROGRAM

CALLS = {  # how many kills of each kind, by hash and by receipt, unless SHEAF_SWEEP=all
    "rename": (2, 0),  # books are closed, files gathered, a plan published
    "mkdir": (1, 0),
    "rmdir": (0, 0),
    "openat": (1, 1),
    "write": (1, 1),
    "fsync": (1, 0),
    "sendto": (2, 0),
    "unlink": (1, 0),  # files of a proven volume
    "unlinkat": (1, 2),  # what is left of a batch
}
BY_PATH = ("rename", "mkdir", "rmdir", "openat", "unlink")  # of which Python makes others too
OURS_ONLY = ("-b", "execve")  # ssh, where it is used, makes its own calls undisturbed
AT_ONCE = 2
FILE_BYTES = 100_000
CONNECTIONS_BYTES = 80_000  # what several of them say without any file


class Kill(NamedTuple):
    call: str
    number: int
    step: str  # what the call does if it may


class Scene:
    """One node for all; each sender has a folder of its own there."""

    def __init__(self, folder: Path, node: ParamikoNode, ssh: str) -> None:
        self._folder, self._node, self._ssh = folder, node, ssh
        self._lock = Lock()  # for the file that says where the node is known
        self.is_told_by_hash = node.runs_sha256sum

    def place(self, name: str) -> Path:
        """On the node."""
        return self._node.folder / name

    def sender(self, name: str, port: int) -> Sender:
        here, known = self._folder / name, self._folder / f"{name}.known"
        (self.place(name) / "raw").mkdir(parents=True)
        folder = f"{self._node.remote}/{name}"
        changes = {"port": port, "folder": folder, "known_hosts": known, "ssh": self._ssh}
        with self._lock:
            volume_mb = 1.5 * FILE_BYTES / 1e6
            sender = Sender(here, self._node, volume_mb=volume_mb, connections=1, **changes)
            shutil.copy(self._node.known_hosts, known)
        return sender

    def prepare(self, sender: Sender) -> None:
        """Where no hash is told, one batch has a receipt, and the process ends that one too."""
        if not self.is_told_by_hash:
            sender.harvest(FILE_BYTES)
            sender.ship()
            receive(self.place(sender.folder.name))
        sender.harvest(*[FILE_BYTES] * 6)

    def wire(self) -> TcpWire:
        return TcpWire(self._node.host, self._node.port)


@pytest.fixture(
    params=[(True, PROGRAM), (False, PROGRAM), (True, PARAMIKO)],
    ids=["by hash", "by receipt", "by hash, paramiko"],
)
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scene]:
    shell, ssh = request.param
    (tmp_path / "node").mkdir()
    with ParamikoNode(tmp_path / "node", shell=shell) as node:
        yield Scene(tmp_path, node, ssh)


def test_a_kill_at_any_system_call_loses_nothing(scene: Scene, tmp_path: Path) -> None:
    """All of them, a few minutes: SHEAF_SWEEP=all."""
    seed = any_seed()
    print(f"kills drawn with seed {seed}")
    chosen = list(kills(undisturbed(scene, tmp_path), scene.is_told_by_hash, Random(seed)))
    with ThreadPoolExecutor(AT_ONCE) as executor:
        names = [f"{number}-{kill.call}" for number, kill in enumerate(chosen)]
        ended = list(executor.map(lambda kill, name: survived(scene, kill, name), chosen, names))
    losses = [(kill, error) for kill, (_, error) in zip(chosen, ended, strict=True) if error]
    for kill, error in losses:
        print(f"{kill}: {error}")
    killed = sum(code == -9 for code, _ in ended)
    print(f"{killed} were killed, {len(ended) - killed} ended by themselves before that")
    assert losses == [], f"{len(losses)} of {killed} kills lost something"
    assert killed > 0.8 * len(ended)


def undisturbed(scene: Scene, folder: Path) -> list[Kill]:
    """The calls that can be hit."""
    trace = folder / "trace"
    with scene.wire() as wire:
        sender = scene.sender("undisturbed", wire.port)
        scene.prepare(sender)
        words = ["-f", "-qqq", "-o", str(trace), "-e", f"trace={','.join(CALLS)}", *OURS_ONLY]
        code, process = run(sender.folder / "said", [program("strace"), *words, *sender.command()])
    assert code == 0, process.log
    found = steps(trace.read_text())
    return [each for each in found if each.call not in BY_PATH or str(sender.media) in each.step]


def steps(trace: str) -> Iterator[Kill]:
    """Every thread counts its own calls, so a number hits the thread that comes to it first."""
    counts: Counter[tuple[str, str]] = Counter()
    seen: set[tuple[str, int]] = set()
    for thread, call, step in re.findall(r"^(\d+) +(\w+)\((.*)$", trace, re.MULTILINE):
        counts[thread, call] += 1
        if (call, number := counts[thread, call]) not in seen:
            seen.add((call, number))
            yield Kill(call, number, step)


def kills(there: list[Kill], is_told_by_hash: bool, chance: Random) -> Iterator[Kill]:
    """Some of every kind, or all there are."""
    by_call = defaultdict(list)
    for kill in there:
        by_call[kill.call].append(kill)
    for call, (by_hash, by_receipt) in CALLS.items():
        is_all, found = os.environ.get("SHEAF_SWEEP") == "all", by_call[call]
        wanted = min(by_hash if is_told_by_hash else by_receipt, len(found))
        yield from found if is_all else chance.sample(found, wanted)


def survived(scene: Scene, kill: Kill, name: str) -> tuple[int, str]:
    """The exit code of whoever was killed, and what is wrong after the next one has ended."""
    with scene.wire() as wire:
        sender = scene.sender(name, wire.port)
        scene.prepare(sender)
        what = f"{kill.call}:signal=SIGKILL:when={kill.number}"
        command = [*injected(what), *OURS_ONLY, *sender.command()]
        code, process = run(sender.folder / "said", command)
        assert code in (-9, 0), process.log
        try:
            assert_completed(sender, scene.place(name), wire)
        except Exception as error:
            return code, repr(error)
    return code, ""


def assert_completed(sender: Sender, place: Path, wire: TcpWire) -> None:
    missing, before = len(sender.files) * FILE_BYTES - size_of_whole(place), wire.sent
    sender.ship()
    assert wire.sent - before < missing + CONNECTIONS_BYTES, "something was sent again"
    receive(place)
    sender.ship()
    sender.assert_clean()
    assert_merged(place, sender.files)
    assert len(sender.shipped) == len(list((place / "received").iterdir()))


def size_of_whole(place: Path) -> int:
    """Of what the node has: volumes with their names, and merged files."""
    found = [*place.glob("raw/*/*.tar"), *place.glob("m/en/*/image/*")]
    return sum(each.stat().st_size for each in found)

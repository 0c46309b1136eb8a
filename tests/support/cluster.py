"""A harvest on several machines, on this one: a server, a coordinator and nodes, each a process
with folders of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from tests.soak.compare import Essence, Places, essence
from tests.support.command import clean_environment
from tests.support.nats_server import NatsServer

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0
SEARCHES = "SEARCHES.jsonl"


class Cluster:
    """`settings` is the text of the harvest's sheaf.toml, `own` that of each node's."""

    def __init__(
        self, folder: Path, server: NatsServer, settings: str, own: str = "", job: str = ""
    ) -> None:
        self.folder = folder
        self.server = server
        self.job = job
        self._own = own
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.prefixes: dict[str, Sequence[str]] = {}  # of commands, by node: where it runs
        self.home = self._made("coordinator", _joined(settings, server))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()

    # --- who there is ----------------------------------------------------------------------

    def start_node(self, name: str, *flags: str, own: str | None = None) -> None:
        home = self._made(name, self._own if own is None else own)
        given = ["node", "--join", str(self.server.join_path(name)), "--media", "m", *flags]
        self.processes[name] = self._started(home, given, self.prefixes.get(name, ()))

    def start(self, *flags: str) -> subprocess.Popen[bytes]:
        """The coordinator."""
        given = [*([self.job] if self.job else []), "--cluster", *flags]
        self.processes["coordinator"] = self._started(self.home, given)
        return self.processes["coordinator"]

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        process = self.processes[name]
        process.send_signal(number)
        if number == signal.SIGKILL:
            process.wait()

    def run(self, *flags: str, seconds: float = PATIENCE_S) -> int:
        return self.start(*flags).wait(seconds)

    def log(self, name: str) -> str:
        return (self.folder / name / "out.log").read_text(errors="replace")

    def wait_for(self, name: str, text: str, seconds: float = 30.0) -> None:
        """Until it has said so."""
        until(lambda: text in self.log(name), f"{name} says {text!r}", seconds)

    def rewrite(self, settings: str) -> None:
        """For the next coordinator."""
        self._made("coordinator", _joined(settings, self.server))

    def wait_until_up(self, name: str) -> None:
        """It has made its folders, and listens."""
        until(lambda: (self.places(name).state / "pending.db").exists(), f"{name} is up")

    # --- what they have come to ------------------------------------------------------------

    def places(self, name: str = "coordinator") -> Places:
        state = "state" if name == "coordinator" else "state-node"
        return Places(self.folder / name / state, self.folder / name / "m")

    def essence(self, nodes: Sequence[str]) -> Essence:
        """Pools and graph are the coordinator's, files and books those of all nodes."""
        state = self.places().state
        media = [self.places(name).media for name in nodes]
        found = [essence(Places(state, each)) for each in media if (each / SEARCHES).exists()]
        files = [name for each in found for name in each.files]
        assert len(files) == len(set(files)), "two have the same file"
        return found[0]._replace(
            files={name: digest for each in found for name, digest in each.files.items()},
            searches={name: kept for each in found for name, kept in each.searches.items()},
        )

    # --- inside ----------------------------------------------------------------------------

    def _made(self, name: str, settings: str) -> Path:
        home = self.folder / name
        home.mkdir(parents=True, exist_ok=True)
        (home / "sheaf.toml").write_text(settings)
        return home

    def _started(
        self, home: Path, given: Sequence[str], prefix: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        with (home / "out.log").open("ab") as out:
            return subprocess.Popen(
                [*prefix, sys.executable, str(ROOT / "main.py"), *given],
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=clean_environment(PYTHONPATH=str(ROOT)),
            )


def _joined(settings: str, server: NatsServer) -> str:
    return f"{settings}\n[cluster]\nfolder = '{server.folder}'\n"


def until(is_so: Callable[[], object], what: str, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)

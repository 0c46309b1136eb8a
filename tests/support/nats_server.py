"""A NATS server for tests, with keys of its own in a folder of its own; the oldest version that is
supported, and the newest."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.needs import missing
from tests.support.ports import free_port
from tools.cluster.greeting import NoAnswer, server_version
from tools.cluster.join_file import Join, read_join
from tools.cluster.key_folder import COORDINATOR_FILE, add_nodes, make_folder, remove_nodes
from tools.cluster.running_server import reload_server
from tools.cluster.server_config import CONFIG_FILE, LOG_FILE

OLDEST, NEWEST = "2.9", "newest"
VERSIONS = (OLDEST, NEWEST)
NODES = ("alpha", "beta")
PATIENCE_S = 20.0

_PLACES = {
    OLDEST: (Path("/usr/sbin/nats-server"), "apt-get install nats-server"),
    NEWEST: (
        Path(sys.executable).with_name("nats-server"),
        "pip install -r requirements-dev.txt",
    ),
}


def nats_program(version: str = NEWEST) -> Path:
    """Debian's package is the oldest one, the wheel the newest."""
    path, remedy = _PLACES[version]
    if not path.exists():
        missing(f"{path} is not installed: {remedy}")
    return path


class NatsServer:
    """It runs once it is made. `restart` brings back a killed one, with empty streams, at the same
    port; whoever was connected finds it again."""

    def __init__(self, folder: Path, version: str = NEWEST, nodes: Sequence[str] = NODES) -> None:
        self.folder = folder
        self._program = nats_program(version)
        self.port = free_port()
        make_folder(folder, "localhost", self.port)
        if nodes:
            add_nodes(folder, nodes)
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def coordinator(self) -> Join:
        return read_join(self.folder / COORDINATOR_FILE)

    @property
    def pid(self) -> int:
        assert self._process is not None, "it does not run"
        return self._process.pid

    def join(self, name: str) -> Join:
        return read_join(self.join_path(name))

    def join_path(self, name: str) -> Path:
        return self.folder / f"{name}.sheaf"

    def add(self, *names: str) -> None:
        add_nodes(self.folder, names)
        assert reload_server(self.folder)

    def remove(self, *names: str) -> None:
        remove_nodes(self.folder, names)
        assert reload_server(self.folder)

    def start(self) -> None:
        assert self._process is None, "it runs already"
        command = [str(self._program), "-c", CONFIG_FILE]
        self._process = subprocess.Popen(
            command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        try:
            self._wait()
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """As a crash; nothing happens to one that does not run."""
        self._end("kill")

    def stop(self) -> None:
        self._end("terminate")

    def restart(self) -> None:
        self.kill()
        self.start()

    def log(self) -> str:
        path = self.folder / LOG_FILE
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def _wait(self) -> None:
        until = time.monotonic() + PATIENCE_S
        own = self.coordinator
        while True:
            try:
                server_version(own, PATIENCE_S)
                return
            except NoAnswer as error:
                assert self._process is not None
                assert self._process.poll() is None, f"it has ended: {self.log()}"
                assert time.monotonic() < until, f"{error}: {self.log()}"
                time.sleep(0.01)

    def _end(self, how: str) -> None:
        if self._process is not None:
            getattr(self._process, how)()
            self._process.wait(PATIENCE_S)
            self._process = None


@contextmanager
def running_nats(
    folder: Path, version: str = NEWEST, nodes: Sequence[str] = NODES
) -> Iterator[NatsServer]:
    """In a folder that does not exist yet."""
    server = NatsServer(folder, version, nodes)
    try:
        yield server
    finally:
        server.kill()

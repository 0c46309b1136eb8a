"""A server for tests that speaks MongoDB's protocol, from jars that Maven brings once."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from tests.support.needs import missing, program
from tests.support.ports import free_port
from tools.base.locks import locked

VERSION = "1.47.0"
MAIN = Path(__file__).parent / "mongodb/Server.java"
PATIENCE_S = 60
DOWNLOAD_S = 600
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
  <groupId>sheaf</groupId><artifactId>mongodb-server</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>de.bwaldvogel</groupId><artifactId>mongo-java-server-h2-backend</artifactId>
    <version>{version}</version>
  </dependency></dependencies>
</project>
"""


def jars() -> Path:
    """The folder with them. Only a complete one ever gets its name."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sheaf"
    lib = cache / f"mongo-java-server-{VERSION}"
    cache.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + DOWNLOAD_S
    while not lib.exists():
        with locked(cache / "mongo-java-server.lock", "the jars' lock") as held:
            if held is not None and not lib.exists():
                _download(lib)
        assert time.monotonic() < until, "another process downloads them for too long"
        time.sleep(0.05)
    return lib


def _download(lib: Path) -> None:
    maven, part = program("mvn", "maven"), lib.with_name(f"{lib.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    (part / "pom.xml").write_text(POM.format(version=VERSION), encoding="utf-8")
    command = [maven, "-q", "-B", "-f", str(part / "pom.xml"), "dependency:copy-dependencies"]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={part}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DOWNLOAD_S)
    if done.returncode or not list(part.glob("*.jar")):
        shutil.rmtree(part, ignore_errors=True)
        missing(f"Maven could not get mongo-java-server: {done.stdout[:200]}{done.stderr[:200]}")
    part.rename(lib)


class MongodbServer:
    """`start` brings back a stopped one with its data. Each test takes a database of its own."""

    def __init__(self, home: Path) -> None:
        self.port = free_port()
        self._log = home / "log"
        java = program("java", "openjdk-17-jdk-headless")
        quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m"]
        self._command = [java, *quick, "-cp", f"{jars()}/*", str(MAIN), str(home / "data")]
        self._databases = 0
        self._running: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            command = [*self._command, str(self.port)]
            self._running = subprocess.Popen(command, stdout=log, stderr=log)
        until = time.monotonic() + PATIENCE_S
        while not self._answers():
            assert self._running.poll() is None, self._log.read_text()
            assert time.monotonic() < until, self._log.read_text()

    def _answers(self) -> bool:
        try:
            with self.client(250) as client:
                client.admin.command("ping")
        except PyMongoError:
            return False
        return True

    def client(self, patience_ms: int = 10_000) -> MongoClient[dict[str, Any]]:
        return MongoClient("127.0.0.1", self.port, serverSelectionTimeoutMS=patience_ms)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._running is not None:
            self._running.send_signal(how)
            self._running.wait(PATIENCE_S)
            self._running = None

    def database(self) -> str:
        """The name of a new one."""
        self._databases += 1
        return f"documents{self._databases}"


@contextmanager
def mongodb_server() -> Iterator[MongodbServer]:
    home = Path(tempfile.mkdtemp(prefix="sheaf-mongo-"))
    server = None
    try:
        server = MongodbServer(home)
        yield server
    finally:
        if server is not None:
            server.stop(signal.SIGKILL)
        shutil.rmtree(home, ignore_errors=True)

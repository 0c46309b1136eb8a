"""A PostgreSQL server for tests: one of its own in a folder that goes away, on a socket there."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tests.support.needs import missing, program

USER = "sheaf"
PASSWORD = "not to be told"  # only with `password`: else whoever reaches the socket is let in
PATIENCE_S = 60
SETTINGS = {
    "fsync": "off",  # what is killed here is a process, never the machine
    "listen_addresses": "''",
    "shared_buffers": "16MB",
    "max_connections": "20",
    "autovacuum": "off",
}


def programs() -> Path:
    """The folder with those of the newest version here."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    return Path(program("initdb", "postgresql")).resolve().parent


def nobody_special() -> Sequence[str]:
    """Words before a command: PostgreSQL refuses to be run by root."""
    if os.geteuid():
        return []
    user = pwd.getpwnam("nobody")
    identity = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    return [program("setpriv", "util-linux"), *identity]


class PostgresServer:
    """`restart` brings back a stopped or killed one. Each test takes a database of its own."""

    def __init__(self, home: Path, has_password: bool = False) -> None:
        self.home = home
        self._data = home / "data"
        self._programs = programs()
        if not os.geteuid():
            shutil.chown(home, "nobody")
        (home / "password").write_text(PASSWORD)
        (home / "password").chmod(0o644)
        way = "scram-sha-256" if has_password else "trust"
        self._run(
            *("initdb", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8", f"--auth={way}"),
            *(f"--username={USER}", f"--pwfile={home / 'password'}", "--pgdata", self._data),
        )
        self._databases = 0
        self.start()

    def start(self) -> None:
        words = [f"-c {name}={value}" for name, value in SETTINGS.items()]
        options = " ".join([*words, f"-k {self.home}"])
        self._control("start", "-w", "-o", options, "-l", self.home / "log")

    def stop(self, how: str = "fast") -> None:
        """`immediate` is as a crash: it says nothing to anybody, and begins with a recovery."""
        self._control("stop", "-m", how, "-w")

    def restart(self) -> None:
        self.close()
        self.start()

    def close(self) -> None:
        if (self._data / "postmaster.pid").exists():
            self.stop("immediate")

    def database(self) -> str:
        """The address of a new one; the one before is gone: each has three hundred files."""
        self.query("postgres", f"DROP DATABASE IF EXISTS pages{self._databases} WITH (FORCE)")
        self._databases += 1
        name = f"pages{self._databases}"
        self.query("postgres", f"CREATE DATABASE {name}")
        return self.address(name)

    def address(self, name: str) -> str:
        return f"postgresql://{USER}@/{name}?host={self.home}"

    def query(self, database: str, text: str, values: Mapping[str, Any] | None = None) -> Any:
        address = database if "://" in database else self.address(database)
        with psycopg.connect(address, autocommit=True, connect_timeout=10, password=PASSWORD) as db:
            cursor = db.execute(text.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def _control(self, *words: object) -> None:
        self._run("pg_ctl", "-t", PATIENCE_S, "-D", self._data, *words)

    def _run(self, name: str, *words: object) -> None:
        """With its words in a file: the server inherits a pipe, which then never ends."""
        with tempfile.TemporaryFile("w+") as said:
            done = subprocess.run(
                [*nobody_special(), str(self._programs / name), *map(str, words)],
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                timeout=2 * PATIENCE_S,
            )
            said.seek(0)
            assert done.returncode == 0, said.read()


@contextmanager
def postgres_server(has_password: bool = False) -> Iterator[PostgresServer]:
    """In a folder with a short name, as sockets want it, that others may enter."""
    if not os.geteuid() and not shutil.which("setpriv"):
        missing("setpriv is not installed: apt-get install util-linux")
    home = Path(tempfile.mkdtemp(prefix="sheaf-pg-"))
    home.chmod(0o755)
    server = None
    try:
        server = PostgresServer(home, has_password)
        yield server
    finally:
        if server is not None:
            server.close()
        shutil.rmtree(home, ignore_errors=True)

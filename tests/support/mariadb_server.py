"""A MariaDB server for tests: one of its own in a folder that goes away, on a socket there."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pymysql

from tests.support.needs import missing

USER = "sheaf"
PASSWORD = "not to be told"
PATIENCE_S = 60
ROOM = 500_000_000  # bytes
SETTINGS = (
    *("--no-defaults", "--skip-networking", "--innodb-flush-log-at-trx-commit=0"),
    *("--innodb-log-file-size=16M", "--innodb-buffer-pool-size=32M", "--innodb-use-native-aio=0"),
    *("--innodb-flush-method=nosync", "--innodb-doublewrite=0"),  # no machine is killed here
)
SCRIPTS = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")
FIRST = "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n"
LAST = f"""
FLUSH PRIVILEGES;
CREATE USER {USER}@localhost IDENTIFIED BY '{PASSWORD}';
GRANT ALL ON *.* TO {USER}@localhost;
"""


def server_program() -> str:
    found = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        missing("mariadbd is not installed: apt-get install mariadb-server-core")
    return found


def _system_tables() -> str:
    """What makes the server's own tables."""
    folders = map(Path, ("/usr/share/mariadb", "/usr/share/mysql"))
    folder = next((each for each in folders if (each / SCRIPTS[0]).exists()), None)
    if folder is None:
        missing("the scripts of MariaDB are not installed: apt-get install mariadb-server-core")
    return "".join((folder / name).read_text("utf-8") for name in SCRIPTS)


class MariadbServer:
    """`start` brings back a stopped or killed one. Each test takes a database of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.socket = home / "socket"
        (home / "data").mkdir()
        who = ["--user=root"] if not os.geteuid() else []
        self._command = [server_program(), *SETTINGS, f"--datadir={home / 'data'}", *who]
        self._databases = 0
        self._running: subprocess.Popen[bytes] | None = None
        done = subprocess.run(
            [*self._command, "--bootstrap"],
            input=f"{FIRST}{_system_tables()}{LAST}".encode(),
            capture_output=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stderr.decode()
        self.start()

    def start(self) -> None:
        with (self.home / "log").open("ab") as log:
            more = [f"--socket={self.socket}", f"--pid-file={self.home / 'pid'}"]
            self._running = subprocess.Popen([*self._command, *more], stdout=log, stderr=log)
        until = time.monotonic() + PATIENCE_S
        while not self._answers():
            assert time.monotonic() < until, (self.home / "log").read_text()
            time.sleep(0.02)
        self.query("SELECT 1")

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as line:
            return not line.connect_ex(str(self.socket))

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """SIGKILL is as a crash."""
        if self._running is not None:
            self._running.send_signal(how)
            self._running.wait(PATIENCE_S)
            self._running = None

    def database(self) -> str:
        """The address of a new one; the one before is gone."""
        self.query(f"DROP DATABASE IF EXISTS tables{self._databases}")
        self._databases += 1
        self.query(f"CREATE DATABASE tables{self._databases}")
        return self.address(f"tables{self._databases}")

    def address(self, name: str) -> str:
        return f"mariadb://{USER}@localhost/{name}?unix_socket={self.socket}"

    def query(self, text: str) -> Any:
        with closing(
            pymysql.connect(
                unix_socket=str(self.socket),
                user=USER,
                password=PASSWORD,
                connect_timeout=10,
                autocommit=True,
            )
        ) as db:
            cursor = db.cursor()
            cursor.execute(text)
            return cursor.fetchall()


def _quick_folder() -> str | None:
    """In memory if there is room: every table made or dropped waits for the disk several times."""
    memory = Path("/dev/shm")
    has_room = memory.is_dir() and shutil.disk_usage(memory).free > ROOM
    return str(memory) if has_room and os.access(memory, os.W_OK) else None


@contextmanager
def mariadb_server() -> Iterator[MariadbServer]:
    """In a folder with a short name, as sockets want it."""
    home = Path(tempfile.mkdtemp(prefix="sheaf-my-", dir=_quick_folder()))
    server = None
    try:
        server = MariadbServer(home)
        yield server
    finally:
        if server is not None:
            server.stop(signal.SIGKILL)
        shutil.rmtree(home, ignore_errors=True)

"""The server that runs: whose it is, whether it answers, how it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path

from neo4j_local.command import ASK_SECONDS, START_SECONDS, STOP_SECONDS, ask, last_lines
from neo4j_local.docker import container, container_pid
from neo4j_local.home import Record, read_record
from neo4j_local.jvm import folder_flags
from neo4j_local.problem import Problem

# Magic number, then the versions offered: 5.8 down to 5.0, 4.4 down to 4.2, and nothing twice.
BOLT_HELLO = bytes.fromhex("6060b017 00080805 00020404 00000000 00000000")
CLOSING_SECONDS = 5


def running(home: Path) -> Record | None:
    """The server of this home with its process number, if there is one now."""
    record = read_record(home)
    if record is None:
        return None
    pid = container_pid(record, home) if record.kind == "docker" else record.pid
    if pid and (record.kind == "docker" or is_ours(pid, home)):
        return Record(record.kind, record.version, record.port, pid)
    return None


def is_ours(pid: int, home: Path) -> bool:
    """Numbers are given again: after a crash the process may be anybody's."""
    return f" {' '.join(folder_flags(home))} " in command_line(pid)


def command_line(pid: int) -> str:
    if not Path("/proc/self/cmdline").exists():
        return ask(["ps", "-ww", "-o", "command=", "-p", str(pid)], ASK_SECONDS).stdout
    try:
        return (
            Path(f"/proc/{pid}/cmdline")
            .read_bytes()
            .replace(b"\0", b" ")
            .decode("utf-8", "replace")
        )
    except OSError:
        return ""


def wait_until_ready(record: Record, home: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if not is_alive(record, home):
            raise Problem(f"Neo4j ended while it started:\n{log_end(record, home)}")
        if speaks_bolt(record.port):
            return
        time.sleep(0.1)
    raise Problem(f"Neo4j does not answer after {START_SECONDS} s:\n{log_end(record, home)}")


def is_alive(record: Record, home: Path) -> bool:
    if record.kind != "docker":
        # A child of ours is asked about by the system: right after its birth its command line is
        # still empty, and one that ended must be reaped to be gone.
        with contextlib.suppress(ChildProcessError):
            return os.waitpid(record.pid, os.WNOHANG) == (0, 0)
    return running(home) is not None


def speaks_bolt(port: int) -> bool:
    """In the clear, or behind TLS, whatever its certificate: it is asked only if it is awake."""
    if not is_taken(port):
        return False
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    return hears_hello(port, lambda plain: plain) or hears_hello(port, tls.wrap_socket)


def hears_hello(port: int, secure: Callable[[socket.socket], socket.socket]) -> bool:
    try:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=2) as plain,
            secure(plain) as connection,
        ):
            connection.sendall(BOLT_HELLO)
            answer = connection.recv(4)
    except OSError:
        return False
    return len(answer) == 4 and answer != bytes(4)


def is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def stays_taken(port: int) -> bool:
    """Looked at again for a while: a server that was killed has no command line any more, while the
    system still closes what it listened with."""
    until = time.monotonic() + CLOSING_SECONDS
    while is_taken(port):
        if time.monotonic() > until:
            return True
        time.sleep(0.05)
    return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def log_end(record: Record, home: Path) -> str:
    if record.kind == "docker":
        tail = ["docker", "logs", "--tail", "200", container(record.port)]
        done = ask(tail, ASK_SECONDS)
        return last_lines(done.stdout + done.stderr)
    return last_lines((home / "logs/console.log").read_text(encoding="utf-8", errors="replace"))


def end(record: Record, home: Path) -> None:
    """SIGTERM lets it write everything out; it is never killed harder than that."""
    if record.kind == "docker":
        name = container(record.port)
        ask(["docker", "stop", "-t", str(STOP_SECONDS), name], STOP_SECONDS + ASK_SECONDS)
        ask(["docker", "rm", name], ASK_SECONDS)
    else:
        with contextlib.suppress(ProcessLookupError):
            os.kill(record.pid, signal.SIGTERM)
    until = time.monotonic() + STOP_SECONDS
    while is_alive(record, home):
        if time.monotonic() > until:
            raise Problem(f"Neo4j (process {record.pid}) has not ended after {STOP_SECONDS} s")
        time.sleep(0.1)

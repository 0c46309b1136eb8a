"""A server in a cluster's folder: started until it really answers, and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nats_local.problem import Problem
from tools.base.locks import locked
from tools.cluster.greeting import NoAnswer, server_version
from tools.cluster.join_file import read_join
from tools.cluster.node_list import read_list
from tools.cluster.running_server import server_pid
from tools.cluster.server_config import CONFIG_FILE, LOG_FILE

START_SECONDS, STOP_SECONDS, ANSWER_SECONDS = 30, 30, 10
LOG_LINES = 10
START_LOCK = "start.lock"
CONSOLE_FILE = "nats.out"  # what it says before it has a log


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """A second one started meanwhile would end for want of the port, and leave its number."""
    with locked(folder / START_LOCK, str(folder)) as lock:
        if lock is None:
            raise Problem(f"another start is under way in {folder}: wait for it")
        yield


def require_folder(folder: Path) -> None:
    if not (folder / CONFIG_FILE).is_file():
        raise Problem(
            f"there is no {CONFIG_FILE} in {folder}: `python main.py cluster init --address HOST` "
            "makes one, --folder names another folder",
            2,
        )


def answering(folder: Path) -> str:
    """The version of the server that lets the coordinator's key in."""
    try:
        return server_version(read_join(folder / "coordinator.sheaf"), ANSWER_SECONDS)
    except NoAnswer as error:
        raise Problem(
            f"the server in {folder} does not answer ({error}): see {folder / LOG_FILE}"
        ) from None


def nodes_in(folder: Path) -> str:
    number = len(read_list(folder).nodes)
    return "1 node has a key" if number == 1 else f"{number} nodes have a key"


def launch(program: Path, folder: Path) -> str:
    """It answers when this returns, by this version; else it has ended, and what it said is
    shown."""
    with (folder / CONSOLE_FILE).open("wb") as console:
        process = subprocess.Popen(
            [program.resolve(), "-c", CONFIG_FILE], cwd=folder, stdin=subprocess.DEVNULL,
            stdout=console, stderr=console, start_new_session=True,
        )  # fmt: skip
    try:
        version = _answer_of(process, folder)
    except BaseException:
        process.kill()
        process.wait(STOP_SECONDS)
        raise
    process.returncode = 0  # it lives on without us; else Python warns of that
    return version


def _answer_of(process: subprocess.Popen[bytes], folder: Path) -> str:
    own = read_join(folder / "coordinator.sheaf")
    until = time.monotonic() + START_SECONDS
    reason = ""
    while time.monotonic() < until:
        try:
            version = server_version(own, ANSWER_SECONDS)
        except NoAnswer as error:
            reason = str(error)
        else:
            if server_pid(folder) == process.pid:
                return version
            reason = f"another server answers at port {own.port}"
        if process.poll() is not None:
            raise Problem(f"the server ended while it started:\n{_last_words(folder)}")
        time.sleep(0.05)
    raise Problem(
        f"the server does not answer after {START_SECONDS} s ({reason}):\n{_last_words(folder)}"
    )


def end(pid: int, folder: Path) -> None:
    os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + STOP_SECONDS
    while server_pid(folder) == pid:
        if time.monotonic() > until:
            raise Problem(f"the server (process {pid}) has not ended after {STOP_SECONDS} s")
        time.sleep(0.02)


def _last_words(folder: Path) -> str:
    texts = (
        (folder / name).read_text(encoding="utf-8", errors="replace")
        for name in (CONSOLE_FILE, LOG_FILE)
        if (folder / name).exists()
    )
    return "\n".join("".join(texts).strip().splitlines()[-LOG_LINES:])

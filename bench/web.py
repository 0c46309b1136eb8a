"""What a page that is looked at costs the harvest it tells of: the sample, alone and with streams.

Each round harvests a part of the sample twice, alone and with a page beside it that twenty
streams look at, in turns; what counts is the processor time of the harvest itself.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from bench.report import Bar, Row, Say, shown

ROOT = Path(__file__).parents[1]
STREAMS = 20
ROUNDS = 5
BAR = Bar("<", 1.03)


def harvest(folder: Path, *flags: str) -> subprocess.Popen[str]:
    words = [sys.executable, str(ROOT / "main.py"), "--sample", "--limit", "400", "-q", *flags]
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True)


def seconds_of(process: subprocess.Popen[str]) -> float:
    """Of the processor, until it ends; without those of its page."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, "a harvest that did not end well does not count"
    return used.ru_utime + used.ru_stime


def look(address: str, stack: ExitStack) -> None:
    place, _, token = address.partition("/?token=")
    host, _, port = place.removeprefix("http://").partition(":")
    head = f"GET /live/overview HTTP/1.1\r\nHost: {host}:{port}\r\n"
    for _ in range(STREAMS):
        made = stack.enter_context(socket.create_connection((host, int(port))))
        made.sendall(f"{head}Authorization: Bearer {token}\r\n\r\n".encode())
        threading.Thread(target=_read, args=(made,), daemon=True).start()


def _read(made: socket.socket) -> None:
    try:
        while made.recv(65_536):
            pass
    except OSError:
        return


def alone() -> float:
    with tempfile.TemporaryDirectory() as folder, harvest(Path(folder)) as process:
        return seconds_of(process)


def watched() -> float:
    """The page is a process that the harvest starts and ends, so what it used would count as the
    harvest's child: `wait4` counts only those it waited for, and so it is started beside it."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        process = stack.enter_context(harvest(Path(folder)))
        while not (Path(folder) / "state" / "pools.db").exists():
            assert process.poll() is None
        words = [sys.executable, str(ROOT / "main.py"), "serve", "--port", "0"]
        page = stack.enter_context(
            subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True)
        )
        assert page.stdout is not None
        look(page.stdout.readline().split()[-1], stack)
        used = seconds_of(process)
        page.terminate()
        return used


def measure(scale: float, say: Say) -> Iterator[Row]:
    """Rounds are few and short already: `scale` changes nothing."""
    used: dict[str, list[float]] = {"alone": [], "watched": []}
    for number in range(ROUNDS):
        say(f"round {number + 1} of {ROUNDS}")
        for each in (alone, watched) if number % 2 == 0 else (watched, alone):
            used[each.__name__].append(each())
    ratios = [w / a for w, a in zip(used["watched"], used["alone"], strict=True)]
    yield Row(
        f"the harvest's CPU, watched by {STREAMS} streams / alone", ratios, digits=3, bar=BAR,
        ours=shown(used["watched"], 2, " s"), peer=shown(used["alone"], 2, " s"),
    )  # fmt: skip

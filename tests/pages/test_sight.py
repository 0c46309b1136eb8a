"""What a user sees of a crawl: the bars, the line about hosts that rest, the table at the end."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path

from tests.support.command import ROOT, clean_environment, run
from tools.jobs.silent_hosts import said_of
from tools.network import server
from tools.network.reply import Reply, html_error


def test_hosts_that_rest_are_told_in_a_line() -> None:
    now = time.monotonic()
    assert said_of([]) == ""
    told = said_of([("a.example", now + 60, "HTTP 429"), ("b.example", now + 90, "HTTP 503")])
    at = time.strftime("%H:%M", time.localtime(time.time() + 60))
    assert told == f"waiting for 2 hosts, next: a.example at {at} (HTTP 429)"


class Busy(server.Handler):
    """It asks for a pause before its second answer."""

    asked: list[str] = []  # noqa: RUF012

    def answer(self, path: str, query: Mapping[str, str]) -> Reply:
        self.asked.append(path)
        if path == "/robots.txt":
            return html_error(404, "none")
        if self.asked.count(path) == 1:
            return html_error(429, "later", {"Retry-After": "3"})
        return Reply(200, b"<p>Here it is.</p>", "text/html")


def on_a_terminal(folder: Path, *flags: str) -> str:
    """All that it draws, 80 columns wide."""
    leader, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "main.py"), "pages", *flags],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=terminal,
        env=clean_environment(TERM="xterm", COLUMNS="80"),
    )
    os.close(terminal)
    seen = b""
    try:
        while chunk := os.read(leader, 65536):
            seen += chunk
    except OSError:  # nobody writes any more
        pass
    finally:
        os.close(leader)
        assert process.wait(30) == 0, seen.decode()
    return seen.decode()


def test_bars_say_for_whom_is_waited(tmp_path: Path) -> None:
    Busy.asked.clear()
    with server.Serving(server.Server(("127.0.0.1", 0), Busy), "busy") as site:
        drawn = on_a_terminal(tmp_path, "--seed", site.url, "--delay", "0")
    host = site.url.removeprefix("http://")
    assert f"waiting for 1 host, next: {host} at " in drawn
    assert "(HTTP 429)" in drawn
    for stage in ("download", "analyse", "control"):
        assert f"{stage:9} 100%|" in drawn
    assert Busy.asked == ["/robots.txt", "/", "/"]


def test_the_table_at_the_end(tmp_path: Path) -> None:
    done = run("main.py", "pages", "--sample", "--depth", 2, cwd=tmp_path)
    lines = done.stdout.splitlines()
    host = next(line.split() for line in lines if line.startswith("  garden.example "))
    head = next(line.split() for line in lines if line.startswith("Pages by host"))
    assert head[3:] == ["pages", "failures", "size", "one", "takes"]
    assert host[1:3] == ["51", "4"], done.stdout
    for row in (["too", "deep"], ["nofollow", "1"], ["found", "by", "their", "digest", "1"]):
        assert any(line.split()[: len(row)] == row for line in lines), row
    assert max(map(len, lines)) <= 80
    assert "Words counted" not in lines

"""`--look`: when a harvest has ended its page is opened, or it says how."""

from __future__ import annotations

import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.command import ROOT, clean_environment, run, start_in
from tests.web.scene import PATIENCE_S, Served, wait_for
from tests.web.serving import address_in
from tools.commands.afterwards import has_windows

FLAGS = ("layers", "--sample", "--look")


def test_without_a_terminal_it_says_how(tmp_path: Path) -> None:
    done = run("main.py", *FLAGS, cwd=tmp_path, DISPLAY=":0")
    assert done.returncode == 0, done.stderr
    told = (
        re.escape("prints the address of a page that shows it, like ")
        + r"http://127\.0\.0\.1:8085/\?token=\.\.\."
    )
    (command,) = re.findall(rf"python main.py (serve --state \S+) {told}\n\Z", done.stdout)
    assert (tmp_path / command.split()[-1] / "pools.db").exists()


def test_what_it_says_can_be_typed(tmp_path: Path) -> None:
    done = run("main.py", *FLAGS, "--state", "my state", cwd=tmp_path)
    (command,) = re.findall(r"python main.py (.*) prints the address of a page", done.stdout)
    assert shlex.split(command) == ["serve", "--state", "my state"]


@contextmanager
def at_a_terminal(folder: Path, *flags: str, **environment: str) -> Iterator[list[str]]:
    """What is printed there, as it comes; ended by Ctrl-C."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "main.py"), *flags],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=clean_environment(**environment),
    )
    os.close(theirs)
    printed: list[str] = []
    reading = threading.Thread(target=_read, args=(ours, printed))
    reading.start()
    try:
        yield printed
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        reading.join(PATIENCE_S)
        os.close(ours)


def _read(place: int, into: list[str]) -> None:
    try:
        while text := os.read(place, 65_536):
            into.append(text.decode(errors="replace"))
    except OSError:  # nobody writes any more
        pass


@pytest.mark.timeout(120)
def test_whoever_has_a_browser_sees_the_page(tmp_path: Path) -> None:
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    opened = tmp_path / "opened"
    browser.write_text(
        f'#!/bin/sh\nprintf %s "$1" > {opened}\n'
        f'cat "${{1#file://}}" > {seen}.part && mv {seen}.part {seen}\n'
    )
    browser.chmod(0o700)
    screen = {"BROWSER": f"{browser} %s", "DISPLAY": ":0"}
    with at_a_terminal(tmp_path, *FLAGS, **screen) as printed:
        wait_for(seen.exists)
        way_in = Served(re.findall(r'href="([^"]+)"', seen.read_text())[0], tmp_path)
        assert way_in.token not in opened.read_text(), "others see what a browser is started with"
        assert way_in.get("/").status == 403, "it is no token for programs"
        assert [way_in.ask(f"/?token={way_in.token}").status for _ in range(2)] == [200, 403]
        wait_for(lambda: re.search(r"http\S+token=\S+", "".join(printed)))
        page = Served(re.findall(r"http\S+token=\S+", "".join(printed))[0], tmp_path)
        assert page.token not in seen.read_text()
        assert page.get("/api/status").json["word"] == "ended"
        assert page.get("/api/status").json["job"] == "layers"
    assert "Ctrl-C ends the page" in "".join(printed)


@pytest.mark.parametrize(("name", "is_one"), [("w3m", False), ("a-browser", True)])
def test_a_browser_in_the_terminal_is_none(
    monkeypatch: pytest.MonkeyPatch, name: str, is_one: bool
) -> None:
    """It would hide what is printed there, and end with its user only."""
    found = webbrowser.GenericBrowser(name)
    monkeypatch.setattr(webbrowser, "get", lambda: found)
    monkeypatch.setenv("DISPLAY", ":0")
    assert has_windows() is is_one
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not has_windows()


def test_without_windows_serve_says_so_and_serves(harvested: Path, tmp_path: Path) -> None:
    flags = ("--state", harvested / "state", "--port", "0", "--open")
    with start_in(tmp_path, "main.py", "serve", *flags, DISPLAY="", WAYLAND_DISPLAY="") as process:
        assert process.stdout is not None
        assert "no browser with a window is found" in process.stdout.readline()
        page = Served(address_in(process), tmp_path)
        assert page.get("/api/status").status == 200
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)

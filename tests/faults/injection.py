"""Real faults for real processes: by strace, prlimit, libfaketime, and disks that are too small.

Where one of these tools is missing the tests say so.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Self

from tests.support.command import ROOT, clean_environment
from tests.support.needs import missing, program

PATIENCE_S = 60.0
# Keeping what it compiled takes calls, which are counted here, perhaps under a clock not ours.
ONLY_ITS_OWN_CALLS = {"PYTHONDONTWRITEBYTECODE": "1"}
BALLAST = "aside-ballast"


def wait_until(
    holds: Callable[[], bool], what: str = "it", seconds: float = PATIENCE_S, every_s: float = 0.01
) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} s"
        Event().wait(every_s)


# --- processes ---------------------------------------------------------------------------------


def main_py(*arguments: object) -> list[str]:
    return [sys.executable, str(ROOT / "main.py"), *map(str, arguments)]


class Process:
    """A command whose output goes into files, so that it never waits for a reader.

    It is gone when the `with` block ends, whatever happened there."""

    def __init__(
        self,
        folder: Path,
        command: Sequence[str],
        **environment: str,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._said, self._log = folder / "stdout", folder / "stderr"
        with self._said.open("w") as said, self._log.open("w") as log:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=log,
                env=clean_environment(
                    **{"PYTHONPATH": str(ROOT), **ONLY_ITS_OWN_CALLS, **environment}
                ),
            )
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            print(self.log, self.said)
        self.kill()

    @property
    def said(self) -> str:
        return self._said.read_text(errors="replace")

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def sentence(self) -> str:
        """The last line of its log, for which there must be no traceback."""
        assert "Traceback" not in self.log, self.log
        return self.log.splitlines()[-1]

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait_for(self, text: str, times: int = 1) -> None:
        """Until its log holds this text."""
        wait_until(
            lambda: self.log.count(text) >= times or not self.is_running, f"{text!r} in its log"
        )
        assert self.log.count(text) >= times, f"it ended without saying {text!r}:\n{self.log}"

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self, seconds: float = PATIENCE_S) -> int:
        """Its exit code, when it has ended by itself."""
        return self._process.wait(seconds)

    def ends_within(self, seconds: float) -> bool:
        """By itself; so long is waited for it, and no longer than it runs."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> int:
        self._process.kill()
        return self._process.wait(PATIENCE_S)


def run(folder: Path, command: Sequence[str], **environment: str) -> tuple[int, Process]:
    with Process(folder, command, **environment) as process:
        return process.end(), process


# --- system calls ------------------------------------------------------------------------------


def injected(what: str, *paths: Path) -> list[str]:
    """Words before a command: `pwrite64:error=EIO:when=3` happens to it, or only where one of
    these paths is concerned. Each thread counts its own calls. The command stays our child."""
    # Not with --seccomp-bpf: then signals are not injected.
    words = [program("strace"), "-D", "-f", "-qqq", "-o", "/dev/null"]
    calls = what.partition(":")[0]
    for path in paths:
        words += ["-P", str(path)]
    return [*words, "-e", f"trace={calls}", "-e", f"inject={what}"]


def limited(**limits: int | str) -> list[str]:
    """Words before a command: `nofile="64:1024"` (soft and hard), `as_=600_000_000`."""
    return [program("prlimit", "util-linux")] + [
        f"--{name.rstrip('_')}={value}" for name, value in limits.items()
    ]


# --- disks -------------------------------------------------------------------------------------


class SmallDisk:
    """A file system of its own in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def free(self) -> int:
        return shutil.disk_usage(self.folder).free

    def fill(self, but: int) -> None:
        """So many bytes are left."""
        (self.folder / BALLAST).write_bytes(bytes(self.free - but))

    def make_room(self) -> None:
        (self.folder / BALLAST).unlink()

    def remount(self, options: str) -> None:
        _mount("-o", f"remount,{options}", str(self.folder))


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[SmallDisk]:
    folder.mkdir(parents=True, exist_ok=True)
    options = f"size={size},mode=700,uid={os.getuid()},gid={os.getgid()}"
    _mount("-t", "tmpfs", "-o", options, "sheaf-faults", str(folder))
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run([*_as_root(), "umount", "-l", str(folder)], check=True)


def _mount(*words: str) -> None:
    command = [*_as_root(), program("mount"), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        missing(f"no small disk can be mounted here: {done.stderr.strip()}")


def _as_root() -> list[str]:
    return [] if os.getuid() == 0 else [program("sudo"), "-n"]


# --- clocks ------------------------------------------------------------------------------------


class Clock:
    """The wall clock of a process, which can be set while it runs; monotonic time stays true."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @property
    def environment(self) -> Mapping[str, str]:
        found = sorted(Path("/usr/lib").glob("**/faketime/libfaketimeMT.so.1"))
        return {
            "LD_PRELOAD": str(found[0]) if found else missing("no faketime: apt-get install it"),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def at(self, moment: str) -> None:
        """From now on it is 2030-06-01T10:20:00, in UTC, and goes on from there."""
        offset = datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp() - time.time()
        new = self._file.with_suffix(".new")
        new.write_text(f"{offset:+.3f}\n")
        new.replace(self._file)

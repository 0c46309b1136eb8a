"""main.py as a process that ends badly and is started again, and what it leaves behind."""

from __future__ import annotations

import json
import resource
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import IO

from tests.soak.compare import Places, counted, state_flaws
from tests.soak.hosts import Neighbourhood
from tests.soak.workers import stayed_behind, workers_of
from tests.soak.world import SEED
from tests.support.command import start

KINDS = ("images", "sounds", "gifs")
LAST_LINES = 8
PATIENCE_S = 30.0


def settings(
    places: Places, near: Neighbourhood, kinds: Sequence[str], ground: str, processes: int = 0
) -> str:
    """Short waits, many attempts, a snapshot every minute."""
    servers = "\n".join(f'{each.name} = "{each.url}"' for each in near.providers)
    wanted = "\n".join(f"{kind} = {int(kind in kinds)}" for kind in KINDS)
    return f"""
seeds = ["{SEED}"]
source = "{near.source.url}"
state = "{places.state}"
media = "{places.media}"
processes = {processes}
# A file that fails as often as this is done without; here nothing may be.
attempts = 30
stop_grace_s = 2.0
reserve_bytes = 1_000_000
[extend]
ground = "{ground}"
{wanted}
providers = [{", ".join(f'"{each.name}"' for each in near.providers)}]
rest_s = 0.5
file_timeout_s = 3.0
sheets = 2
[extend.servers]
{servers}
[http]
connect_timeout_s = 2.0
answer_timeout_s = 3.0
[clock]
snapshot = "* * * * *"
sample = "* * * * *"
"""


class Harvest:
    """One harvest over many processes. What should never be is added to `flaws`."""

    def __init__(self, places: Places, config: Path, proxies: str, flaws: list[str]) -> None:
        self.places = places
        self.flaws = flaws
        self.processes = 0  # that get media beside its own
        self.starts = 0
        self.ends: Counter[str] = Counter()
        self.began = 0.0
        self.is_asked_to_stop = False
        self.is_killed = False
        self.is_tampered_with = False  # its disk is full, or its files may not grow
        self._config = config
        self._proxies = proxies
        self._process: subprocess.Popen[str] | None = None
        self._history: subprocess.Popen[str] | None = None
        self._readers: list[Thread] = []
        self._lines: list[str] = []
        self._most: Counter[str] = Counter()  # what may never become fewer

    # --- the process -----------------------------------------------------------------------

    def start(self) -> None:
        """The next process; and history.py beside it, for what the last one left."""
        had_state = self.places.pools.exists()
        self.starts += 1
        self.began = time.monotonic()
        self.is_asked_to_stop = self.is_tampered_with = self.is_killed = False
        self._lines = []
        self._process = self._started("main.py", "--config", self._config)
        self._readers = [self._reader(self._process.stdout), self._reader(self._process.stderr)]
        if had_state:
            self._history = self._started("history.py", "--json", "--config", self._config)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def process(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise AssertionError("nothing was started")
        return self._process

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def workers(self) -> list[int]:
        return workers_of(self.pid)

    def kill(self) -> None:
        self.is_killed = True
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def close(self) -> None:
        """Nobody is left behind, whatever has ended the soak."""
        for process in (self._process, self._history):
            if process is not None:
                process.kill()
        for reader in self._readers:  # only one may read a pipe
            reader.join(PATIENCE_S)
        for process in (self._process, self._history):
            if process is not None:
                process.communicate()

    def ask(self, number: signal.Signals) -> None:
        self.is_asked_to_stop = True
        if self.is_running:
            self.process.send_signal(number)

    def limit_files(self, size: int) -> None:
        """No file may become longer, as on a disk that is full."""
        self.is_tampered_with = True
        hard = resource.prlimit(self.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (size, hard))

    def _started(self, script: str, *words: object) -> subprocess.Popen[str]:
        more = {"SHEAF_PROXIES": self._proxies} if self._proxies else {}
        return start(script, *words, **more)

    def _reader(self, pipe: IO[str] | None) -> Thread:
        """Through a pipe, for a file might be too long for a process whose files may not grow."""

        def read() -> None:
            with self._config.with_suffix(".log").open("a", encoding="utf-8") as log:
                for line in pipe or ():
                    log.write(line)
                    self._lines.append(line.rstrip("\n"))
                    del self._lines[:-1000]

        if pipe is None:
            raise AssertionError("it has no pipe")
        thread = Thread(target=read, name="reads main.py", daemon=True)
        thread.start()
        return thread

    # --- when it has ended -----------------------------------------------------------------

    def bury(self, allowed: Callable[[int], bool]) -> int:
        """The exit code of a process that has ended; what it left is looked at."""
        code = self.process.wait(PATIENCE_S)
        self.ends[f"ended with {code}"] += 1
        if left := stayed_behind(self.pid):
            self.flaws.append(f"run {self.starts} (ended with {code}) left processes: {left}")
        for reader in self._readers:
            reader.join(PATIENCE_S)
        self.process.communicate()
        self._judge_history()
        if not allowed(code):
            last = " | ".join(self._lines[-LAST_LINES:])
            self.flaws.append(f"run {self.starts} ended with {code}: {last}")
        elif self._has_traceback() and not self.is_tampered_with and code != -signal.SIGINT:
            self.flaws.append(f"run {self.starts} (ended with {code}) shows a traceback in its log")
        self._judge_state()
        return code

    def _has_traceback(self) -> bool:
        return any("Traceback" in line for line in self._lines)

    def _judge_history(self) -> None:
        history, self._history = self._history, None
        if history is None:
            return
        said, complaint = history.communicate(timeout=PATIENCE_S)
        is_good = history.returncode == 0 and bool(json.loads(said)["pools"])
        if not is_good and not self.is_tampered_with:
            self.flaws.append(f"history.py ended with {history.returncode}: {complaint.strip()}")

    def _judge_state(self) -> None:
        if not self.places.pools.exists():
            return
        self.flaws.extend(state_flaws(self.places.pools))
        pools = counted(self.places.pools)
        for what, now in (("known", sum(pools.values())), ("finished", pools["finished"])):
            if now < self._most[what]:
                self.flaws.append(f"run {self.starts}: {what} were {self._most[what]}, now {now}")
            self._most[what] = now

    # --- how far it is ---------------------------------------------------------------------

    def pools(self) -> dict[str, int]:
        """Empty if there are none yet, or none that can be read on a full disk."""
        try:
            return counted(self.places.pools) if self.places.pools.exists() else {}
        except sqlite3.OperationalError:
            return {}

    def left(self) -> int | None:
        """How many are known and not finished; None if nobody can say."""
        pools = self.pools()
        return sum(pools.values()) - pools["finished"] if pools else None

    def is_done(self) -> bool:
        return self.left() == 0


def run_undisturbed(harvest: Harvest, tick: Callable[[], None]) -> float:
    """The seconds it took."""
    begun, never = time.monotonic(), Event()
    harvest.start()
    try:
        while harvest.is_running:
            tick()
            never.wait(0.1)
        harvest.bury(lambda code: code == 0)
    finally:
        harvest.close()
    return time.monotonic() - begun

"""One process that runs one script: started, asked, looked after, ended.

Promise: no call waits longer than its deadline, whatever the process does with its pipes; when it
is ended nothing of it is left, neither a process nor a file.
Limit: for one thread. A process ends with the thread that started it (the kernel counts so), as
well as with the program, however that ends.
"""

from __future__ import annotations

import os
import secrets
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from ..base.program import module_command, module_environment
from ..base.resident import resident_of
from ..base.text import clipped, duration, one_line, size
from ..errors import NO_FILES, GiveUp, Unavailable, no_more_files
from .channel import ANSWER, NO_MEMORY, REQUEST, WELL
from .host import LONGEST_REASON
from .processes import MARK, has_ended, kill_group, kill_marked
from .registry import Limits, Script
from .sandbox import Sandbox

START_S = 60.0
LOOK_S = 0.05  # so often memory is looked at; most documents take less
CHUNK = 1 << 16
LONGEST_SAID = 4_000
ENDED_S = 0.5  # between the end of its pipe and its own
PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "TZ", "TESSDATA_PREFIX")
"""Of our environment; there are secrets in it."""
ONE_THREAD = ("OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Parsed(NamedTuple):
    """`memory` is the peak of the process so far; `said` the end of what the script printed."""

    json: bytes
    seconds: float
    memory: int
    said: str


class Spoilt(Exception):
    """The process is of no more use. `is_its_own`: whatever was parsed before, this document did
    it."""

    def __init__(self, reason: str, is_its_own: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_its_own = is_its_own


class ParserProcess:
    def __init__(self, script: Script, limits: Limits, sandbox: Sandbox, folder: Path) -> None:
        self.script = script
        self.limits = limits
        self.asked = 0
        self.is_spent = False
        self._sandbox = sandbox
        self._folder = folder
        self._mark = secrets.token_bytes(16)
        self._said = b""
        self._looked_at = 0
        self._start()

    def parse(self, raw: bytes, about: Mapping[str, Any]) -> Parsed:
        """GiveUp if the parser says why not; Spoilt if the process has to be ended."""
        self.asked += 1
        self._said = b""
        self._looked_at = 0
        until = time.monotonic() + self.limits.timeout_s
        said_about = orjson.dumps({**about, "seconds": self.limits.timeout_s})
        head = REQUEST.pack(self.asked, len(said_about), len(raw))
        state, content, memory, seconds = self._exchange(head + said_about + raw, until)
        if state == NO_MEMORY:
            raise Spoilt(self._too_much_memory())
        if state != WELL:
            raise GiveUp(_shown(content))
        return Parsed(content, seconds, max(memory, self._looked_at), _text(self._said))

    def _start(self) -> None:
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        self._prints, prints = os.pipe()
        theirs = (requests, answers, prints)
        try:
            self._process = subprocess.Popen(  # noqa: S603
                self._command(answers),
                stdin=requests,
                stdout=prints,
                stderr=prints,
                pass_fds=(answers,),
                cwd=self._folder,
                env=self._environment(),
                start_new_session=True,
            )
        except OSError as error:
            self._close_pipes()
            shutil.rmtree(self._folder, ignore_errors=True)
            if error.errno in NO_FILES:
                raise no_more_files(error) from error
            raise Unavailable(f"no parser can be started now ({error.strerror})") from error
        finally:
            for fd in theirs:
                os.close(fd)
        for fd in (self._requests, self._answers, self._prints):
            os.set_blocking(fd, False)
        self._poll = select.poll()
        self._poll.register(self._answers, select.POLLIN)
        self._poll.register(self._prints, select.POLLIN)
        self._set_up()

    def _command(self, answers: int) -> list[str]:
        parent = 0 if self._sandbox.is_tight else os.getpid()
        words = [*module_command(".structure.host"), str(answers), str(parent)]
        return self._sandbox.command(words, self._folder)

    def _environment(self) -> dict[str, str]:
        found = module_environment()
        return {
            **{name: found[name] for name in PASSED_ON if name in found},
            **dict.fromkeys(ONE_THREAD, "1"),
            **dict.fromkeys(("HOME", "TMPDIR"), str(self._folder)),
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": found["PYTHONPATH"],
            "PYTHONDONTWRITEBYTECODE": "1",
            MARK: self._mark.hex(),
        }

    def _set_up(self) -> None:
        """Until here no script has run: what goes wrong is no document's fault."""
        setup = orjson.dumps(
            {
                "name": self.script.name,
                "options": self.script.options,
                "mark": self._mark.hex(),
                "memory_bytes": self.limits.memory_bytes,
                "max_json": self.limits.max_json,
                "cpu_s": self.limits.timeout_s * (os.cpu_count() or 1),
                "folder": str(self._folder),
            }
        )
        head = REQUEST.pack(0, len(setup), len(self.script.text))
        try:
            self._exchange(head + setup + self.script.text, time.monotonic() + START_S)
        except Spoilt as spoilt:
            said = _text(self._said).strip().splitlines()
            self.end()
            why = one_line(said[-1]) if said else spoilt.reason
            raise Unavailable(f"no parser can be started now ({clipped(why, 200)})") from spoilt

    def _exchange(self, request: bytes, until: float) -> tuple[int, bytes, int, float]:
        """What is asked goes out while what is said comes in: neither side waits for the other."""
        unsent = memoryview(request)
        unsent = unsent[self._write(unsent) :]
        if unsent:
            self._poll.register(self._requests, select.POLLOUT)
        came = bytearray()
        try:
            while not (answer := self._answer_in(came)):
                for fd, _ in self._wait(until):
                    if fd == self._prints:
                        self._hear()
                    elif fd == self._answers:
                        self._receive(came)
                    elif unsent := unsent[self._write(unsent) :]:
                        continue
                    else:
                        self._poll.unregister(self._requests)
        finally:
            if unsent:
                self._poll.unregister(self._requests)
        return answer

    def _wait(self, until: float) -> list[tuple[int, int]]:
        """At most until it is time to look how the process is."""
        left = until - time.monotonic()
        if left <= 0:
            most = self.limits.timeout_s
            within = duration(most) if most > 10 else f"{most:g} s"
            raise Spoilt(f"not done within {within}", is_its_own=True)
        events = self._poll.poll(min(left, LOOK_S) * 1000)
        if not events:
            self._look()
        return events

    def _look(self) -> None:
        if has_ended(self._process.pid) and not self._poll.poll(0):
            raise Spoilt(self._how_it_ended())
        limit = self.limits.memory_bytes
        self._looked_at = max(self._looked_at, resident_of(self._process.pid, limit))
        if self._looked_at > limit:
            raise Spoilt(self._too_much_memory())

    def _write(self, content: memoryview) -> int:
        try:
            return os.write(self._requests, content)
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise Spoilt(self._how_it_ended()) from None

    def _hear(self) -> None:
        """The rest of what it prints is nobody's business, but is taken from the pipe."""
        with suppress(BlockingIOError):
            got = os.read(self._prints, CHUNK)
            self._said = (self._said + got)[-LONGEST_SAID:]
            if not got:
                self._poll.unregister(self._prints)

    def _receive(self, came: bytearray) -> None:
        with suppress(BlockingIOError):
            got = os.read(self._answers, 1 << 20)
            if not got:
                raise Spoilt(self._how_it_ended())
            came += got

    def _answer_in(self, came: bytearray) -> tuple[int, bytes, int, float] | None:
        """None if it is not whole yet."""
        if not came:
            return None
        if not self._mark.startswith(came[: len(self._mark)]):
            raise Spoilt("it wrote to files that are not its own")
        if len(came) < ANSWER.size:
            return None
        _, number, state, is_spent, memory, seconds, length = ANSWER.unpack_from(came)
        if number != self.asked or length > max(self.limits.max_json, 4 * LONGEST_REASON):
            raise Spoilt("it wrote to files that are not its own")
        if len(came) < ANSWER.size + length:
            return None
        self.is_spent = bool(is_spent) or memory > self.limits.memory_bytes / 2
        return state, bytes(came[ANSWER.size : ANSWER.size + length]), memory, seconds

    def _how_it_ended(self) -> str:
        until = time.monotonic() + ENDED_S
        while not has_ended(self._process.pid):
            if time.monotonic() > until:
                return "it closed files that are not its own"
            time.sleep(0.001)
        code = self._process.wait()
        if self._sandbox.is_tight and code > 128:
            code = 128 - code
        if code >= 0:
            return f"ended its process itself (exit code {code})"
        name = signal.strsignal(-code) or "unknown"
        return f"ended by signal {-code} ({name.lower()})"

    def _too_much_memory(self) -> str:
        return f"more than {size(self.limits.memory_bytes)} of memory"

    def kill(self) -> None:
        """From any thread; whoever waits for an answer learns of it, and ends it."""
        kill_group(self._process.pid)

    def end(self) -> None:
        self.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(ENDED_S)
        if not self._sandbox.is_tight:  # its processes are gone with the first of them
            kill_marked(self._mark.hex())
        self._close_pipes()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _close_pipes(self) -> None:
        for fd in (self._requests, self._answers, self._prints):
            os.close(fd)


def _text(said: bytes) -> str:
    return said.decode("utf-8", "replace")


def _shown(content: bytes) -> str:
    return clipped(one_line(_text(content)), LONGEST_REASON) or "failed without a word"

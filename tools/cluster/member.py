"""One process that works for a harvest, as the harvest sees it.

Promise: whatever it says is heard in a thread of its own, in order; when it is gone, by itself or
because it was ended, that is told once, and nothing of it is left.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread

from ..base.program import module_environment
from ..base.resident import resident_of
from ..base.text import size
from .link import GONE, Broken, Link
from .messages import Hello, Message, Ready
from .wire import Malformed, decoded, encoded

logger = logging.getLogger(__name__)

LOOK_S = 0.2
LAST_WORDS_S = 1.0
REAPED_S = 10.0
BUFFER = 1 << 20

Heard = Callable[["Member", Message], None]
Gone = Callable[["Member", str], None]


def name_of(number: int) -> str:
    """For people, who count from 1."""
    return f"process {number + 1}"


class Member:
    """`number` is its place among all; another one takes it when this one is gone."""

    def __init__(self, number: int, heard: Heard, gone: Gone) -> None:
        self.number = number
        self.name = name_of(number)
        self.is_ready = False
        self.since: float | None = None  # it is ready, by the wall clock
        self.memory = 0  # bytes
        self.looks = 0  # since it last said anything
        self.is_heard = False  # what it said is being worked on
        self._heard = heard
        self._gone = gone
        self._ended: str | None = None  # why, if it was us
        self._reader = Thread(target=self._read, name=self.name, daemon=True)

    def start(self, command: Sequence[str], hello: Hello) -> None:
        """OSError if the system gives no more processes. The thread that calls this has to live as
        long as the process: with it ends what it has started."""
        ours, theirs = socket.socketpair()
        try:
            for end in (ours, theirs):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
            self._process = subprocess.Popen(  # noqa: S603
                [*command, str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=module_environment(),
            )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self._link = Link(ours)
        self.send(hello)
        try:
            self._reader.start()
        except RuntimeError as error:  # nor threads
            self._reaped(str(error))
            raise OSError(errno.EAGAIN, str(error)) from None

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: Message) -> None:
        """Without waiting; if it is gone already that is told by another way."""
        with suppress(Broken):
            self._link.send(encoded(message))

    def look(self, most: int | None) -> None:
        """How much memory has it, with all it has started? If that is more than the most, it is
        over."""
        self.memory = resident_of(self.pid, most or self.memory)
        if most is not None and self.memory > most:
            self.end(f"it had {size(self.memory)} of memory, and may have {size(most)}")

    def end(self, why: str) -> None:
        """At once, whatever it does."""
        self._ended = self._ended or why
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGKILL)

    def join(self, seconds: float) -> None:
        self._reader.join(seconds)

    # --- its own thread --------------------------------------------------------------------

    def _read(self) -> None:
        why = "it ended"
        try:
            while True:
                for content in self._link.receive(LOOK_S):
                    self.is_heard = True  # as long as we are at it: that is no silence of its own
                    self._take(decoded(content))
                    self.is_heard, self.looks = False, 0
        except (Broken, Malformed) as error:
            why = str(error)
        except Exception as error:
            logger.exception("%s", self.name)
            why = f"a bug in Sheaf: {error!r}"
        how = self._reaped(why)  # first of all: what it worked on is given to others
        self._gone(self, self._ended or how)

    def _take(self, message: Message) -> None:
        if isinstance(message, Ready):
            if self.is_ready:
                raise Malformed("it begins twice")
            self.is_ready, self.since = True, time.time()
        self._heard(self, message)

    def _reaped(self, why: str) -> str:
        """Nothing of it is left; how it ended."""
        with suppress(subprocess.TimeoutExpired):
            if why == GONE:
                self._process.wait(LAST_WORDS_S)  # its own end says more than ours
        code = None
        while code is None:  # one that waits for a disk ends when that answers, no sooner
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):
                code = self._process.wait(REAPED_S)
        self._link.close()
        if code < 0:
            return why if why != GONE else f"ended by signal {-code} ({signal.strsignal(-code)})"
        return f"ended with exit code {code}"

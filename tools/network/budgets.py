"""What was asked of hosts with a limit for a day, carried over a restart.

Promise: `kill -9` loses nothing, a clock that is set back locks nobody out for longer than a day,
and a damaged record leads to too few requests, never to too many.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from ..base.files import write_whole
from ..errors import StopHarvest

logger = logging.getLogger(__name__)

DAY_S = 86400.0
LINE = re.compile(rb"(\d{1,12}\.\d{3}) ([!-~]{1,300})")
BEGINNING_OF_LINE = re.compile(rb"(\d{1,12}(\.\d{0,3}( [!-~]{0,300})?)?)?")


class Budgets:
    """The file that carries limits for a day over a restart: a line for each request.

    A line is one write, so `kill -9` loses none. The wall clock may be set back: what was asked in
    the future counts as asked now, once. If a file cannot be read every limit for a day counts as
    used up: a day's wait harms nobody, while asking too much may cost the user a key.
    """

    def __init__(self, path: Path, limits: Mapping[str, int]) -> None:
        self._path = path
        self._limits = limits
        try:
            self._ages = self._read()
            self._file = self._rewrite()
        except OSError as error:
            raise self._trouble(error) from error

    def ages(self, host: str) -> list[float]:
        """How many seconds ago it was asked, for the last day."""
        return self._ages.get(host, [])

    def record(self, host: str) -> None:
        """Before it is asked: what could not be recorded is not asked for."""
        line = _line(host, time.time())
        try:
            if os.write(self._file, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise self._trouble(error) from error

    def close(self) -> None:
        os.close(self._file)

    def _read(self) -> dict[str, list[float]]:
        ages: dict[str, list[float]] = {}
        if not self._path.exists():
            return ages
        now = time.time()
        *lines, torn = self._path.read_bytes().split(b"\n")
        whole = [match for line in lines if (match := LINE.fullmatch(line))]
        if len(whole) < len(lines) or not BEGINNING_OF_LINE.fullmatch(torn):
            return self._all_used_up()
        for line in whole:
            age = max(0.0, now - float(line[1]))
            if age < DAY_S:
                ages.setdefault(line[2].decode(), []).append(age)
        return ages

    def _all_used_up(self) -> dict[str, list[float]]:
        """The damaged file stays where it is until a new one takes its place."""
        aside = self._path.with_name(self._path.name + ".damaged")
        shutil.copyfile(self._path, aside)
        logger.warning(
            "%s could not be read, there is a copy in %s; hosts with a limit for a day are left"
            " alone for a day. To ask them sooner, stop and delete %s",
            *(self._path, aside.name, self._path),
        )
        return {host: [0.0] * count for host, count in self._limits.items()}

    def _rewrite(self) -> int:
        """Only the last day, and no moment in the future; visible whole or not at all."""
        now = time.time()
        lines = [_line(host, now - age) for host, ages in self._ages.items() for age in ages]
        write_whole(self._path, lines, durable=True)
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    def _trouble(self, error: OSError) -> StopHarvest:
        return StopHarvest(
            f"cannot keep the record of daily limits in {self._path}: {error.strerror}"
        )


def _line(host: str, moment: float) -> bytes:
    return f"{moment:.3f} {host}\n".encode("ascii")

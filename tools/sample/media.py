"""The media servers of the sample: Commons, Openverse and iNaturalist, in a process of their own.

Promise: while the `with` block lasts, each answers on a port of loopback as the original does, with
files drawn on request. The process ends with whoever started it, even if that one is killed.
"""

from __future__ import annotations

import json
import select
import subprocess
from typing import IO, Self, cast

from ..base.program import module_command, module_environment
from ..errors import Unreachable

START_S = 10.0
END_S = 5.0


class MediaServers:
    """`servers` are the base addresses by the names of the providers."""

    def __init__(self, start_s: float = START_S) -> None:
        self.servers: dict[str, str] = {}
        self._start_s = start_s
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        # A session of its own: Ctrl-C is for the harvest, which needs its servers to end well.
        self._process = subprocess.Popen(  # noqa: S603  # ourselves
            module_command(".sample.sites"),
            env=module_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            self.servers = self._addresses(cast(IO[bytes], self._process.stdout))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def close(self) -> None:
        """End the process; a second time does nothing."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()

    def _addresses(self, output: IO[bytes]) -> dict[str, str]:
        is_said, _, _ = select.select([output], [], [], self._start_s)
        line = output.readline() if is_said else b""
        if not line:
            when = f" within {self._start_s:g} seconds" if not is_said else "; the reason is above"
            raise Unreachable(f"the sample's media servers did not start{when}")
        addresses: dict[str, str] = json.loads(line)
        return addresses

"""The command `sheaf` in a process of its own, for programs: their logging, signals and file modes
stay as they are."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO

from ..base.program import module_command, module_environment
from ..errors import Fatal

LAST_BYTES = 20_000  # of what it says: the reason of its end is in its last lines
SPEAKER = "sheaf: "


def flags_of(given: Mapping[str, object]) -> list[str]:
    """
    >>> flags_of({"seed": ("dog", "cat"), "limit": 5, "depth": None, "sample": True, "all": False})
    ['--seed=dog', '--seed=cat', '--limit=5', '--sample']
    """
    words: list[str] = []
    for name, value in given.items():
        if value is True:
            words.append(f"--{name}")
        elif isinstance(value, tuple):
            words += [f"--{name}={each}" for each in value]
        elif value is not None and value is not False:
            words.append(f"--{name}={value}")
    return words


def run_to_end(words: Sequence[str], **environment: str) -> None:
    """Raises the error that made it end. If we are interrupted it is stopped, and waited for."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(  # noqa: S603  # ourselves
            [*module_command(""), *words],
            env=module_environment() | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            process_group=0,  # Ctrl-C is for us: a second signal would end it before its tasks do
        )
        try:
            code = process.wait()
        except BaseException:
            process.terminate()  # running tasks finish
            process.wait()
            raise
        if code != 0:
            raise error_of(code, last_line(said))


def error_of(code: int, sentence: str) -> Fatal:
    """The one with this exit code."""
    if code < 0:
        return Fatal(f"the harvest was killed (signal {-code}); the same call goes on")
    kinds = {kind.exit_code: kind for kind in Fatal.__subclasses__()}
    return kinds.get(code, Fatal)(sentence or f"the harvest ended with the exit code {code}")


def last_line(said: IO[bytes]) -> str:
    said.seek(max(0, said.seek(0, 2) - LAST_BYTES))
    lines = said.read().decode(errors="replace").splitlines()
    ours = [line for line in lines if line.startswith(SPEAKER)] or lines
    return ours[-1].removeprefix(SPEAKER) if ours else ""

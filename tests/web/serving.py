"""`python main.py serve` in a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.command import start_in
from tests.web.scene import PATIENCE_S, Served

Sampled = Callable[[str], Path]
"""What the fixture `sampled` is: the name of a job in, the folder of its harvest out."""


@contextmanager
def serving(folder: Path, *flags: object) -> Iterator[Served]:
    with start_in(folder, "main.py", "serve", "--port", "0", *flags) as process:
        try:
            yield Served(address_in(process), folder)
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE_S)


@contextmanager
def looking_at(folder: Path, job: str, name: str = "**") -> Iterator[Served]:
    state = next(folder.glob(f"state-{job}/{name}/pools.db")).parent
    with serving(folder, "--state", state) as page:
        yield page


def address_in(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if "token=" in line:
            return line.split()[-1]
    raise AssertionError("it ended without an address")

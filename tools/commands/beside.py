"""`--serve`: the live page in a process of its own beside a harvest, which never waits for it."""

from __future__ import annotations

import os
import shlex
import subprocess
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..base.program import module_command, module_environment

if TYPE_CHECKING:
    from ..settings import Settings

END_S = 5.0


@contextmanager
def page_beside(settings: Settings, options: Namespace) -> Iterator[None]:
    """As long as the `with` lasts; none if nobody asked for it. It does the harvest no harm if it
    cannot start: it says why."""
    if vars(options).get("serve") is None:
        yield
        return
    process = subprocess.Popen(  # noqa: S603  # ourselves
        [*module_command(""), *words_for(settings, options)],
        env=module_environment(),
        stdin=subprocess.DEVNULL,
        process_group=0,  # Ctrl-C is for the harvest
    )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def words_for(settings: Settings, options: Namespace) -> list[str]:
    given = vars(options)
    found = {
        "beside": os.getpid(),
        "typed-there": shlex.join(options.typed),
        "state": settings.state,
        "port": given["serve"],
        "job": str(options.verb),
        **{name: given.get(name) for name in ("config", "graph", "media")},
    }
    return ["serve", *(f"--{name}={value}" for name, value in found.items() if value is not None)]

"""A program in a process of its own, from its start to its end."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

LONGEST_RUN_S = 1800


def said_by(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> str:
    """What it printed; RuntimeError if it did not end well."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST_RUN_S,
    )
    if done.returncode:
        said = (done.stdout + done.stderr)[-2000:]
        raise RuntimeError(f"{' '.join(command[:4])} ended with {done.returncode}: {said}")
    return done.stdout

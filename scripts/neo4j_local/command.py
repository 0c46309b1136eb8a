"""Other programs, asked with a deadline."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

START_SECONDS, STOP_SECONDS, ASK_SECONDS, DOWNLOAD_SECONDS = 120, 60, 20, 900
LOG_LINES = 15


def ask(
    command: Sequence[str], seconds: float, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command; one that is missing or too slow has failed like one that says so."""
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"no answer in {seconds:.0f} s")
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, "", str(error))


def last_lines(text: str) -> str:
    """Without the frames of Java's stack traces, which would push the reason out of sight."""
    lines = [line for line in text.strip().splitlines() if not line.startswith("\tat ")]
    return "\n".join(lines[-LOG_LINES:])


def note(sentence: str) -> None:
    print(f"neo4j: {sentence}", file=sys.stderr, flush=True)

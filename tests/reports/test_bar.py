"""A bar on a terminal, and work that is more than was announced."""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Iterator
from contextlib import suppress
from io import FileIO

import pytest

from tools.reports.progress import bar


@pytest.mark.parametrize("announced", [0, 1, 4])
def test_more_work_than_announced_is_shown(announced: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 120))
    with os.fdopen(ours, "rb", buffering=0) as terminal, os.fdopen(theirs, "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        with bar("exported", announced) as show:
            show(3)
            show(2)
        stderr.close()
        said = b"".join(pieces(terminal)).decode()
    assert "5 of 5" in said


def pieces(terminal: FileIO) -> Iterator[bytes]:
    """Until the last one: whoever wrote has closed the other end, which is an error here."""
    with suppress(OSError):
        while piece := terminal.read(65_536):
            yield piece

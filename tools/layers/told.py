"""An exception of a user's class, in a line that says where in his file it came about."""

from __future__ import annotations

import traceback
from pathlib import Path

from ..base.text import one_line

LONGEST = 300


def told(error: BaseException, file: Path | None) -> str:
    """With the line of the task's own file that led to it, as far as that is known."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if file is not None and is_same(each.filename, file)]
    ours = str(Path(__file__).parent)
    others = [each for each in frames if not each.filename.startswith(ours)]
    last = (own or others or frames)[-1]
    said = f"{type(error).__name__}: {said_by(error)}".removesuffix(": ")
    return f"{Path(last.filename).name}:{last.lineno}: {one_line(said)}"[:LONGEST]


def is_same(filename: str | None, file: Path) -> bool:
    """Python makes a file's name absolute, whoever gave it."""
    return filename is not None and Path(filename).absolute() == file.absolute()


def said_by(error: BaseException) -> str:
    """An exception of somebody's own may fail at this, too."""
    try:
        return str(error)
    except Exception:
        return ""

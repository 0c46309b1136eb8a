"""A page that is drawn again and again at the same place of a terminal.

Promise: it does not flicker (each drawing is one write over the old one), and however it ends the
terminal is as it was, with the last page on it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

# Another screen without cursor, on which nothing wraps; and back.
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l\x1b[?7l", "\x1b[?7h\x1b[?25h\x1b[?1049l"
HOME, END_OF_LINE, BELOW = "\x1b[H", "\x1b[K", "\x1b[J"


class Screen:
    def __init__(self, out: TextIO) -> None:
        self._out = out

    @contextmanager
    def open(self) -> Iterator[None]:
        self._write(ENTER)
        try:
            yield
        finally:
            self._write(LEAVE)

    def draw(self, page: str) -> None:
        """As much of it as there is room for; the last line stays free, or it would scroll."""
        rows = os.get_terminal_size(self._out.fileno()).lines or 24
        lines = page.splitlines()
        if len(lines) >= rows:
            lines = [*lines[: max(1, rows - 2)], "..."]
        self._write(HOME + "".join(f"{line}{END_OF_LINE}\r\n" for line in lines) + BELOW)

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def repeat(page: Callable[[], str], seconds: float, screen: Screen | None) -> None:
    """Until somebody ends it; without a screen page after page is printed."""
    signal.signal(signal.SIGTERM, _end)
    shown = ""
    try:
        if screen is None:
            for shown in _pages(page, seconds):
                _print(shown)
        else:
            with screen.open():
                for shown in _pages(page, seconds):
                    screen.draw(shown)
    except KeyboardInterrupt:
        if screen is not None:
            _print(shown)


def _pages(page: Callable[[], str], seconds: float) -> Iterator[str]:
    due = time.monotonic()
    while True:
        yield page()
        due = max(due + seconds, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))


def _end(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - where pages go when there is no screen

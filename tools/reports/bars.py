"""One line of a terminal that shows how far a piece of work is.

Promise: no line is longer than its terminal is wide, and no word is cut: what matters least gives
way first. A rate is shown when there is one.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from ..base.text import clipped, pace, plain, roughly, size

WIDEST, NARROWEST = 30, 10  # of the bar itself
RECENT_S = 30.0
NARROW = 80  # where nobody knows how wide it is


class Meter:
    """How fast something goes, of late; once it has come to rest: how fast it went."""

    def __init__(self, begun: float, done: int) -> None:
        self._first = (begun, done)
        self._last = (begun, done)  # when it last went on
        self._recent = deque([self._first])

    def rate(self, now: float, done: int, is_resting: bool) -> float | None:
        """A second; None if nothing was done yet."""
        if done != self._last[1]:
            self._last = (now, done)
        self._recent.append((now, done))
        while now - self._recent[0][0] > RECENT_S:
            self._recent.popleft()
        (begin, before), (end, after) = (
            (self._first, self._last) if is_resting else (self._recent[0], (now, done))
        )
        return (after - before) / (end - begin) if after > before and end - begin >= 0.5 else None


class Bar:
    """`shown` is how a number is written: as it is, or as bytes."""

    def __init__(self, title: str, done: int = 0, shown: Callable[[float], str] | None = None):
        self._title = title
        self._shown = shown or (lambda number: f"{number:,.0f}")
        self._meter = Meter(time.monotonic(), done)
        from tqdm import tqdm  # not before there is a bar

        self._line: tqdm[Any] = tqdm(total=1, bar_format=title, dynamic_ncols=True)

    def show(
        self, done: int, total: int | None, pause: str = "", more: str = "", verb: str = ""
    ) -> None:
        """`pause` stands in the place of rate and time, where something is left to do."""
        rest = (total or done) - done
        rate = self._meter.rate(time.monotonic(), done, is_resting=total is not None and not rest)
        number = self._shown(done) + (f" of {self._shown(total)}" if total is not None else "")
        parts = [f"{number} {verb}".rstrip()]
        if pause:
            parts += [pause] if rest else []
        elif rate:
            parts += [f"{roughly(rest / rate)} left"] if rest else []
            parts.append(f"{size(rate)}/s" if self._shown is size else pace(rate))
        parts += [more] if more else []
        self._draw(parts, done / total if total else None if total is None else 0.0)

    def say(self, text: str) -> None:
        """In the place of the bar."""
        said = clipped(plain(text), terminal_width() - 1)
        self._line.bar_format = said.replace("{", "{{").replace("}", "}}") or " "
        self._line.refresh()

    def close(self) -> None:
        self._line.close()

    def _draw(self, parts: list[str], share: float | None) -> None:
        room = terminal_width() - 1  # in the last column some terminals begin a new line
        begin = f"{self._title:9} "
        if share is None:
            text = begin + fitted(parts, room - len(begin))
        else:
            begin += f"{int(100 * share):3}%|"
            text = f"| {fitted(parts, room - len(begin) - NARROWEST - 2)}"
            width = max(1, min(WIDEST, room - len(begin) - len(text)))
            text = f"{begin}{{bar:{width}}}{text}"
        self._line.n, self._line.bar_format = share or 0.0, text
        self._line.refresh()


def fitted(parts: list[str], room: int) -> str:
    """As many as there is room for, the first ones first.

    >>> fitted(["5 of 9", "3 s left", "1.0/s"], 16), fitted(["5 of 9", "3 s left"], 9)
    ('5 of 9, 3 s left', '5 of 9')
    """
    text = parts[0]
    for part in parts[1:]:
        if len(text) + len(part) + 2 <= room:
            text += f", {part}"
    return text


def terminal_width() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or NARROW
    except (OSError, ValueError):
        return NARROW

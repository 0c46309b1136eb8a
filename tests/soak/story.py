"""What happens in a soak, told while it happens: a line for each fault, how far it is, a table."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

EVERY_S = 15.0  # where no terminal shows one line that changes
BAR = 20


class Story:
    def __init__(self, file: Path, quiet: bool = False) -> None:
        self.faults: Counter[str] = Counter()
        self._file = file
        self._quiet = quiet
        self._begun = time.monotonic()
        self._shown = 0.0
        self._is_terminal = sys.stderr.isatty()

    def happened(self, round_: int, kind: str, detail: str) -> None:
        self.faults[kind] += 1
        moment = round(time.monotonic() - self._begun, 2)
        event = {"seconds": moment, "round": round_, "kind": kind, "detail": detail}
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")
        self.say(f"{kind}{': ' + detail if detail else ''}")

    def say(self, sentence: str) -> None:
        if not self._quiet:
            clear = "\r\033[K" if self._is_terminal else ""
            print(f"{clear}{_clock(time.monotonic() - self._begun)}  {sentence}", file=sys.stderr)

    def show(self, how_far: Callable[[], tuple[float, float, str]]) -> None:
        """The share that is done, the seconds left, what is going on; asked only if it is shown."""
        now = time.monotonic()
        if self._quiet or now - self._shown < (0.5 if self._is_terminal else EVERY_S):
            return
        self._shown = now
        share, left, what = how_far()
        bar = f"[{'#' * round(BAR * share):<{BAR}}] about {_clock(left)} left, {what}"
        if self._is_terminal:
            print(f"\r\033[K{bar}"[:120], end="", file=sys.stderr, flush=True)
        else:
            self.say(bar)

    def table(self, facts: Mapping[str, object]) -> str:
        rows = [*self.faults.most_common(), *facts.items()]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"  {name:<{width}}  {value}" for name, value in rows)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

"""main.py with one thing broken: the process dies, or a worker meets a bug, at an exact place.

    python -m tests.faults.broken PLACE WHEN ARGUMENT...

WHEN is the number of the call at which it dies, or the URI for which the bug shows.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from main import main
from tools.engine.pools import Pools
from tools.fetch import Fetcher
from tools.graphs.sqlite import SqliteGraph
from tools.media.ledger import Ledger
from tools.media.part import Part

AFTER: dict[str, tuple[type, str]] = {
    "media-rename": (Part, "publish"),
    "graph-relations": (SqliteGraph, "write"),
    "graph-media": (SqliteGraph, "attach"),
    "books": (Ledger, "add"),
    "move": (Pools, "advance"),
}


def die_after(place: str, number: int) -> None:
    """The call has been made; whoever made it never hears of it."""
    owner, name = AFTER[place]
    calls = iter(range(1, number + 1))

    def with_end(whole: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(whole)
        def call(*arguments: Any) -> Any:
            result = whole(*arguments)
            if next(calls, number) == number:
                os._exit(9)
            return result

        return call

    setattr(owner, name, with_end(getattr(owner, name)))


def bug_for(uri: str) -> None:
    whole = Fetcher.__call__

    def call(self: Fetcher, task: Any) -> Any:
        if task.uri == uri:
            raise KeyError("weight")
        return whole(self, task)

    Fetcher.__call__ = call  # type: ignore[method-assign]


if __name__ == "__main__":
    place, when, *words = sys.argv[1:]
    if place == "bug":
        bug_for(when)
    else:
        die_after(place, int(when))
    sys.exit(main(words))

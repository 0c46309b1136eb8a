"""Deepest first, with eight at once: a site that answers only when it is told to proves it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread

import pytest

from tests.support.layers import activity
from tests.support.site import Asked, Site
from tools.layers.page import Page
from tools.layers.request import Request
from tools.layers.task import Skipped, Task
from tools.tables.rows import Row

WORKERS, LISTS, DETAILS = 8, 16, 5


class Three(Task):
    name = "three"
    layers = {"home": 0, "list": 1, "detail": 2}  # noqa: RUF012
    tables = {"seen": {"columns": {"url": "TEXT"}}}  # noqa: RUF012
    workers = WORKERS
    robots = False

    def __init__(self, base: str) -> None:
        self.base = base
        self.first = (Request("home", "GET", "/home/0"),)

    def work(self, request: Request, page: Page) -> Iterable[Request | Row | Skipped]:
        yield Row("seen", url=request.url)
        for link in page.css("a::attr(href)").getall():
            yield Request(link.split("/")[1], "GET", link)


class Held:
    """Each request waits until it is let go."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[str, Event]] = SimpleQueue()

    def answer(self, asked: Asked) -> str:
        let_go = Event()
        self._waiting.put((asked.target, let_go))
        assert let_go.wait(30)
        _, layer, number = asked.target.split("/")
        if layer == "home":
            return links("list", range(LISTS))
        first = int(number) * DETAILS
        return links("detail", range(first, first + DETAILS)) if layer == "list" else ""

    def next(self, number: int) -> list[str]:
        """The layers of so many that wait now; all are let go at once."""
        held = [self._waiting.get(timeout=20) for _ in range(number)]
        for _, let_go in held:
            let_go.set()
        return [target.split("/")[1] for target, _ in held]


def links(layer: str, numbers: range) -> str:
    return "".join(f"<a href='/{layer}/{number}'>" for number in numbers)


@pytest.mark.timeout(90)
def test_with_eight_workers_the_deepest_known_are_asked_first(tmp_path: Path) -> None:
    held = Held()
    names = [f"/{layer}/{n}" for layer in ("home", "list", "detail") for n in range(200)]
    rounds: list[list[str]] = []
    with Site(dict.fromkeys(names, held.answer)) as site:

        def let_go() -> None:
            rounds.append(held.next(1))
            rounds.extend(held.next(WORKERS) for _ in range(12))  # 1 + 16 + 80 in all

        teller = Thread(target=let_go, daemon=True)
        teller.start()
        activity(Three(site.url), tmp_path)
        teller.join(30)
    eight = [["list"] * WORKERS, *[["detail"] * WORKERS] * 5]
    assert rounds == [["home"], *eight, *eight]

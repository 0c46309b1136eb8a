"""What a store holds is counted aside: no page waits for it, and what is old says so."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.state_file import make
from tools.base import seldom
from tools.base.seldom import Answer, Aside
from tools.engine.description import Description
from tools.engine.panel import Panel
from tools.errors import Unavailable
from tools.settings import Settings
from tools.web import site as site_module
from tools.web.overview import overview
from tools.web.pages import PAGES
from tools.web.site import FRESH_S, LONGEST_FRESH_S, Site, Sources
from tools.web.tables import tables
from tools.web.templates import rendering

PATIENCE_S = 30.0


class Silent(Description):
    """Its store says nothing until it is told to."""

    def __init__(self) -> None:
        self.may_answer = threading.Event()
        self.trouble = ""

    def stored(self, settings: Any) -> Mapping[str, int]:
        assert self.may_answer.wait(PATIENCE_S)
        if self.trouble:
            raise Unavailable(self.trouble)
        return {"t": 5}

    def details(self, settings: Any) -> Sequence[Panel]:
        return (Panel("Words", "table", [(name, n) for name, n in self.stored(None).items()]),)

    def table_names(self, settings: Any) -> Sequence[str]:
        return ("t",)


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Silent]:
    monkeypatch.setattr(seldom, "FIRST_S", 0.0)
    yield (job := Silent())
    job.may_answer.set()


@pytest.fixture
def site(tmp_path: Path, silent: Silent) -> Site:
    file = make(tmp_path / "pools.db")
    return Site(Sources(Settings(state=tmp_path), file, lambda _: silent))


def details(site: Site) -> dict[str, Any]:
    (page,) = (each for each in PAGES if each.name == "details")
    return page.data(site, {})


def answered(*asides: Any) -> None:
    for each in asides:
        assert each._asking.acquire(timeout=PATIENCE_S)
        each._asking.release()


def test_no_page_waits_for_a_silent_store(site: Site, silent: Silent) -> None:
    assert overview(site)["stored"] == {} and site.view().stored is None
    assert details(site)["panels"] == [] and not details(site)["is_counted"]
    assert tables(site, "", "")["tables"] == {"t": None}
    silent.may_answer.set()
    answered(site._stored, site._details)
    assert tables(site, "", "")["tables"] == overview(site)["stored"] == {"t": 5}
    assert [each.title for each in details(site)["panels"]] == ["Words"]


def test_of_a_store_that_fell_silent_the_last_is_shown_with_its_time(
    site: Site, silent: Silent
) -> None:
    silent.may_answer.set()
    answered_by(site)
    silent.trouble, at = "the database is away", time.time() - 3600
    asides: list[Aside[Any]] = [site._stored, site._details]
    for each in asides:
        each._answers = [Answer(each._answers[0].value, at)]
        each._due = 0.1
    answered_by(site)
    shown = overview(site)
    assert shown["stored_as_of"] == at
    for page in (tables, lambda *_: details(site)):  # which show nothing else
        with pytest.raises(Unavailable, match="is away"):
            page(site, "", "")


def answered_by(site: Site) -> None:
    """By all that is asked now."""
    for each in (site._stored, site._details):
        with suppress(Unavailable):
            each.known()
        answered(each)


def test_what_is_old_says_so_and_what_is_not_there_yet_too() -> None:
    def shown(**values: object) -> str:
        return rendering(None)("parts/details.html", panels=(), **values)

    assert "as of 20" in shown(as_of=1.7e9, is_counted=True)
    assert "as of" not in shown(as_of=None, is_counted=True)
    assert "being counted" in shown(as_of=None, is_counted=False)


def test_a_look_that_takes_long_is_good_for_longer(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, takes_s, looks = [1e6], [0.0], list[float]()

    def look(*_: object, **__: object) -> object:
        clock[0] += takes_s[0]
        looks.append(clock[0])
        return object()

    monkeypatch.setattr(site_module, "view_of", look)
    monkeypatch.setattr(site_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    for takes_s[0], good_s in ((0.001, FRESH_S), (0.3, 3.0), (60.0, LONGEST_FRESH_S)):
        site.forget()
        site.view()
        for step, number in ((0.99, 0), (0.02, 1)):
            before, clock[0] = len(looks), clock[0] + step * good_s
            site.view()
            assert len(looks) - before == number, (takes_s, step)

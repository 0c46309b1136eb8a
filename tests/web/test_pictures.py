"""Whoever looks for the first time: a concept, its neighbours, all files. Each is a picture of the
README, and every picture that it shows is really there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.command import run
from tests.web.eyes import Eyes, picture
from tests.web.scene import Served, served, wait_for

LOADED = """() => [...document.querySelectorAll("main img")].filter(
    each => each.getBoundingClientRect().top < innerHeight).every(each => each.naturalWidth > 0)"""
DRAWN = """() => {
    const shown = picture.nodes("[picture]");
    const came = performance.getEntriesByType("resource").filter(
        each => each.name.includes("/thumb/") && each.responseStatus === 200);
    return shown.length > 20 && came.length >= shown.length
        && shown.every(each => !each.backgrounding());
}"""


@pytest.fixture(scope="module")
def dog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One concept, all of whose neighbours have files."""
    folder = tmp_path_factory.mktemp("dog")
    done = run("main.py", "--sample", "--seed", "dog", "--depth", "1", "--limit", "40", cwd=folder)
    assert done.returncode == 0, done.stderr
    with served(folder) as found:
        yield found


@pytest.mark.parametrize(
    ("name", "place", "ready"),
    [
        ("concept", "/c/en/dog", LOADED),
        ("graph", "/graph?concept=/c/en/dog", DRAWN),
        ("gallery", "/media", LOADED),
    ],
)
def test_a_first_look(dog: Served, browser: Eyes, name: str, place: str, ready: str) -> None:
    wait_for(lambda: dog.get("/api/media").json["is_whole"])
    with browser.looking(dog.full, height=800) as look:
        look.page.goto(dog.address + place)
        look.page.wait_for_function(ready)
        picture(look.page, name, is_whole=False)
        assert look.complaints() == []

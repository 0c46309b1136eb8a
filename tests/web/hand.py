"""A hand on the picture of a graph: it presses and moves where its concepts are seen."""

from __future__ import annotations

from urllib.parse import urlencode

from playwright.sync_api import Page

from tests.web.scene import Served

SEEN = "uri => picture.getElementById(uri).renderedPosition()"
PLACED = "uri => picture.getElementById(uri).position()"
STEPS = 8


def click(page: Page, concept: str) -> None:
    page.mouse.click(*_place(page, concept))


def grow(page: Page, concept: str) -> None:
    """By a click, until everything has come to its place."""
    before = page.locator("#picture").get_attribute("data-nodes")
    page.evaluate("() => { picture.one('layoutstop', () => { window.isStill = true; }); }")
    click(page, concept)
    page.locator(f"#picture:not([data-nodes='{before}'])").wait_for()
    page.wait_for_function("() => window.isStill && !picture.nodes(':locked').length")


def click_twice(page: Page, concept: str) -> None:
    page.mouse.dblclick(*_place(page, concept))


def drag(page: Page, concept: str, right: float, down: float) -> None:
    x, y = _place(page, concept)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right, y + down, steps=STEPS)
    page.mouse.up()


def placed(page: Page, concept: str) -> dict[str, float]:
    """Within the picture, however that is moved."""
    found: dict[str, float] = page.evaluate(PLACED, concept)
    return found


def drawn_around(shown: Served, concept: str) -> list[str]:
    """The concept first."""
    found = shown.get(f"/api/graph?{urlencode({'concept': concept})}").json
    return [each["uri"] for each in found["around"]["nodes"]]


def with_more(shown: Served, concept: str) -> str:
    """A neighbour that brings others into the picture when it grows."""
    drawn = drawn_around(shown, concept)
    return next(each for each in drawn[1:] if not {*drawn_around(shown, each)} <= {*drawn})


def _place(page: Page, concept: str) -> tuple[float, float]:
    """On the screen."""
    frame = page.locator("#picture")
    frame.scroll_into_view_if_needed()
    box = frame.bounding_box()
    assert box is not None
    seen = page.evaluate(SEEN, concept)
    assert 0 < seen["x"] < box["width"] and 0 < seen["y"] < box["height"], "it is out of sight"
    return box["x"] + seen["x"], box["y"] + seen["y"]

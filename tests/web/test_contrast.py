"""Colours of the stylesheets: texts and what is drawn stand out from what they are on."""

from __future__ import annotations

import re

import pytest

from tests.support.command import ROOT
from tests.support.contrast import Colour, colour_of, contrast

SHEETS = ("tools/sheets/page.css", "tools/web/static/live.css")
TEXTS = {
    "ground": ("ink", "soft", "link", "bad"),
    "card": ("ink", "soft", "link", "good", "bad", "wait"),
    "well": ("ink", "soft", "link", "bad"),
    "mark": ("ink", "link"),
}
CURVES = [f"curve-{number}" for number in range(1, 7)]
DRAWN = {
    "card": ("edge", "now", "link", *CURVES),
    "ground": ("good", "wait", "bad", "soft"),  # the dot beside how it is
}


def variables(dark: bool) -> dict[str, Colour]:
    """Those of the dark look stand behind the others, and replace some."""
    found: dict[str, Colour] = {}
    for sheet in SHEETS:
        blocks = re.findall(r":root \{(.*?)\}", (ROOT / sheet).read_text("utf-8"), re.DOTALL)
        assert len(blocks) == 2, sheet
        for block in blocks[: 1 + dark]:
            pairs = re.findall(r"--([\w-]+): (#\w+);", block)
            found |= {name: colour_of(text) for name, text in pairs}
    return found


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(("pairs", "least"), [(TEXTS, 4.5), (DRAWN, 3.0)])
def test_it_stands_out(pairs: dict[str, tuple[str, ...]], least: float, dark: bool) -> None:
    colours = variables(dark)
    found = {
        (name, ground): contrast(colours[name], colours[ground])
        for ground, names in pairs.items()
        for name in names
    }
    assert {pair: value for pair, value in found.items() if value < least} == {}

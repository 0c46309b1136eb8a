"""docs/fields.md: what it says a field is, it is."""

from __future__ import annotations

import json
import re
from decimal import Decimal

import pytest

from tests.layers.declaring import HEAD, task_of
from tests.support.command import ROOT
from tools.layers.page import Page
from tools.layers.request import Request
from tools.tables.rows import Row

GUIDE = (ROOT / "docs/fields.md").read_text(encoding="utf-8")
PAGE = re.findall(r"```html\n(.*?)```", GUIDE, re.DOTALL)[0]
LINES = re.findall(r"^\| `(.+?)` \| `(.+?)` \|$", GUIDE, re.MULTILINE)
URL = "http://shop.example/tea?page=2"


def test_the_guide_has_all_its_lines() -> None:
    assert len(LINES) == 20


@pytest.mark.parametrize(("declared", "said"), LINES)
def test_a_field_is_what_the_guide_says(declared: str, said: str) -> None:
    rows = f"[[layers.list.rows]]\ntable = 't'\nfields = {{ a = {declared} }}"
    task = task_of(HEAD % "html" + rows)
    page = Page(URL, headers={"Server": "tea"}, text=PAGE)

    (row,) = task.work(Request("list", url=URL, carried={"category": "drinks"}), page)

    assert isinstance(row, Row)
    assert row.values["a"] == json.loads(said, parse_float=Decimal)

"""The templates of the live page: its own, and those that it shares with pages in files."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment

from ..sheets import environment as shared
from ..sheets.wording import IN_TEMPLATES
from .data.facet_list import listed
from .graph_data import address as with_query
from .places import Live

FOLDER = Path(__file__).with_name("templates")


@cache
def environment() -> Environment:
    made = shared.environment(FOLDER)
    made.globals |= {**IN_TEMPLATES, "at": Live(), "with_query": with_query, "listed": listed}
    return made


def rendered(template: str, **values: Any) -> str:
    return environment().get_template(template).render(values)

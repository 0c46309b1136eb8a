"""The templates of the live page: its own, and those that it shares with pages in files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..sheets import environment as shared
from ..sheets.wording import IN_TEMPLATES
from .data.facet_list import listed
from .graph_data import address as with_query
from .places import Live

FOLDER = Path(__file__).with_name("templates")
Render = Callable[..., str]
"""A template by its name, with its values."""


def rendering(media: Path | None) -> Render:
    """For the pages of one server: templates that know where its files are."""
    made = shared.environment(FOLDER).overlay()
    own = {"at": Live(media), "with_query": with_query, "listed": listed}
    made.globals = {**made.globals, **IN_TEMPLATES, **own}

    def rendered(template: str, /, **values: Any) -> str:
        return made.get_template(template).render(values)

    return rendered

"""The templates: whatever is put into one is text, of bounded length and in one line."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..base.text import ago, amount, date, duration, pace, size
from ..media.credits import attribution, licence_name
from ..sheets.document import text_of
from ..uri import is_external
from .data.wording import phrase
from .graph_data import address as with_query

FOLDER = Path(__file__).with_name("templates")


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "text": text_of,
        "number": _number,
        "size": size,
        "duration": duration,
        "pace": pace,
        "date": date,
        "counted": amount,
        "signed": lambda number: f"{number:+,}",
        "cell": _cell,
        "part_of_url": lambda text: quote(str(text), safe="/"),
        "leads_outward": lambda text: bool(text) and is_external(text),
        "credit": attribution,
        "licence": licence_name,
    }
    made.globals |= {
        "with_query": with_query,
        "phrase": phrase,
        "ago": ago,
        "share": share,
        "grade": grade,
    }
    return made


def rendered(template: str, **values: Any) -> str:
    return environment().get_template(template).render(values)


def share(part: float, whole: float) -> str:
    """For the width of a bar.

    >>> share(1, 3), share(0, 0)
    ('33.33%', '0.00%')
    """
    return f"{100 * part / whole if whole else 0:.2f}%"


def grade(number: float, most: float, grades: int = 9) -> int:
    """From 1 to `grades`: what is shown larger the more there is of it, the square root so that
    the rest is seen as well.

    >>> grade(100, 100), grade(25, 100), grade(0, 100)
    (9, 5, 1)
    """
    portion = (max(0.0, number) / most) ** 0.5 if most else 0.0
    return 1 + round((grades - 1) * min(1.0, portion))


def _number(number: float) -> str:
    return f"{number:,.0f}"


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else text_of(str(value))

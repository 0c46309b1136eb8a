"""The templates that a server's pages and pages in files share, and what may be called in them.

Promise: whatever is put into one is text, of bounded length and in one line.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..base.text import ago, amount, date, duration, one_line, pace, size
from ..media.credits import attribution, licence_name
from .outward import leads_outward

FOLDER = Path(__file__).with_name("templates")
LONGEST = 200  # characters of a text from outside


@cache
def environment(*above: Path) -> Environment:
    """`above` are folders of templates that may use ours and are looked into first."""
    made = Environment(
        loader=FileSystemLoader([*above, FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
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
        "marked": marked,
        "part_of_url": part_of_url,
        "leads_outward": leads_outward,
        "credit": attribution,
        "licence": licence_name,
    }
    made.globals |= {"ago": ago, "grade": grade, "share": share}
    return made


def text_of(text: str, longest: int = LONGEST) -> str:
    """What a page shows of a text from outside: one line, not too long."""
    line = one_line(text)
    return line if len(line) <= longest else f"{line[:longest]}…"


def marked(text: str) -> list[str]:
    """A sentence in pieces, every other one of which stands for an end of its relation: those are
    in double brackets.

    >>> marked("[[a dog]] can [[bark]]")
    ['', 'a dog', ' can ', 'bark', '']
    """
    return re.split(r"\[\[(.*?)\]\]", text_of(text))


def part_of_url(text: str) -> str:
    """For an address of our own: two slashes at its beginning would name another host.

    >>> part_of_url("/c/en/a b"), part_of_url("//evil.example/x")
    ('/c/en/a%20b', '/%2Fevil.example/x')
    """
    part = quote(text)
    return f"/%2F{part[2:]}" if part.startswith("//") else part


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

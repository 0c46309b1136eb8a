"""A page as a file: its head, what may run in it (nothing), and how it is written.

Promise: one file that needs nothing else, runs nothing and asks nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ..base.files import write_whole
from ..errors import StopHarvest
from .environment import environment

if TYPE_CHECKING:
    from jinja2 import Template

STYLE = Path(__file__).with_name("page.css")
POLICY = (
    "default-src 'none'; img-src data:; media-src data:; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'"
)


def document(body: str | Template, title: str, **values: Any) -> Iterator[str]:
    """Piece by piece: the template `body` of these values."""
    frame = {"body": body, "title": title, "policy": POLICY, "style": _style()}
    return environment().get_template("file.html").generate(**frame, **values)


@cache
def _style() -> Markup:
    return Markup(STYLE.read_text(encoding="utf-8"))  # noqa: S704  # our own


def write(path: Path, pieces: Iterable[str]) -> Path:
    """It appears when it is whole."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, (piece.encode() for piece in pieces), durable=False)
    except OSError as error:
        raise StopHarvest(f"{path.parent} cannot be written: {error.strerror}") from error
    return path

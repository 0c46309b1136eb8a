"""A page as a file: its head, what may run in it (nothing), and how much of a text is shown.

Promise: one file that needs nothing else, runs nothing and asks nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ..base.files import write_whole
from ..base.text import one_line
from ..errors import StopHarvest
from .markup import Html, element

LONGEST = 200  # characters of a text from outside
POLICY = (
    "default-src 'none'; img-src data:; media-src data:; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'"
)
STYLE = "page.css"


def document(title: str, body: Iterable[Html], *styles: str) -> Iterator[str]:
    """`styles` are files of this folder, besides the one that every page has."""
    folder = Path(__file__).parent
    texts = (folder.joinpath(name).read_text(encoding="utf-8") for name in (STYLE, *styles))
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n'
    yield element("meta", charset="utf-8")
    yield element("meta", http_equiv="Content-Security-Policy", content=POLICY)
    yield element("meta", name="viewport", content="width=device-width, initial-scale=1")
    yield element("meta", name="referrer", content="no-referrer")
    yield element("meta", name="color-scheme", content="light dark")
    yield element("link", rel="icon", href="data:,")
    yield element("title", text_of(title)) + element("style", Html("\n".join(texts)))
    yield "\n</head>\n<body>\n"
    yield from (f"{piece}\n" for piece in body)
    yield "</body>\n</html>\n"


def write(path: Path, pieces: Iterable[str]) -> Path:
    """It appears when it is whole."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, (piece.encode() for piece in pieces), durable=False)
    except OSError as error:
        raise StopHarvest(f"{path.parent} cannot be written: {error.strerror}") from error
    return path


def chips(texts: Iterable[str]) -> Html:
    return element("ul", *(element("li", each) for each in texts), class_="chips")


def counted(number: int, word: str) -> str:
    """
    >>> counted(1, "gif"), counted(1200, "sound")
    ('1 gif', '1,200 sounds')
    """
    return f"{number:,} {word if number == 1 else word + 's'}"


def text_of(text: str, longest: int = LONGEST) -> str:
    """What a page shows of a text from outside: one line, not too long."""
    line = one_line(text)
    return line if len(line) <= longest else f"{line[:longest]}…"

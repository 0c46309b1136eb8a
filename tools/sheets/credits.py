"""The credits of what a page shows, to copy: as text, HTML and BibTeX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..add import Media
from ..media.credits import Credit, as_html, as_text


class Credits(NamedTuple):
    text: str
    html: str
    bibtex: str


def credits_of(files: Sequence[Credit]) -> Credits:
    html = "\n".join(as_html(each.media) for each in files)
    entries = "\n\n".join(_bibtex(each.media) for each in files)
    return Credits("\n".join(as_text(files)), html, entries)


def _bibtex(media: Media) -> str:
    values = {
        "title": media.title or media.path,
        "author": media.author,
        "year": (media.time or "")[:4],
        "url": media.page or media.source,
        "note": media.license,
    }
    lines = [f"  {name} = {{{_tex(value)}}}" for name, value in values.items() if value]
    return f"@misc{{{media.sha256[:12]},\n" + ",\n".join(lines) + "\n}"


def _tex(text: str) -> str:
    r"""What a stranger wrote closes no brace and runs no command.

    >>> print(_tex("50% {a}\\input"))
    50\% a input
    """
    bare = "".join(" " if each in "{}\\" else each for each in text)
    return " ".join("".join(f"\\{c}" if c in "%$#&_" else c for c in bare).split())

"""The credits of what a page shows, to copy: as text, HTML and BibTeX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

from ..add import Media
from ..base.text import one_line
from ..media.credits import Credit, as_html, as_text


class Credits(NamedTuple):
    text: str
    html: str
    bibtex: str


def credits_of(files: Sequence[Credit]) -> Credits:
    html = "\n".join(as_html(each.media) for each in files)
    return Credits("\n".join(as_text(files)), html, "\n\n".join(_entries(files)))


def _entries(files: Sequence[Credit]) -> Iterator[str]:
    """Each key once: the same file may show several owners, and come from several pages."""
    by_key: dict[str, dict[str, None]] = {}
    for each in files:
        by_key.setdefault(each.media.sha256[:12], {})[_fields(each.media)] = None
    for key, different in by_key.items():
        for number, fields in enumerate(different, 1):
            yield f"@misc{{{key}{f'-{number}' if number > 1 else ''},\n{fields}\n}}"


def _fields(media: Media) -> str:
    values = {
        "title": _tex(media.title or media.path),
        "author": _tex(media.author or ""),
        "year": _tex((media.time or "")[:4]),
        "url": _address(media.page or media.source or ""),
        "note": _tex(media.license or ""),
    }
    return ",\n".join(f"  {name} = {{{value}}}" for name, value in values.items() if value)


ESCAPED = {
    **{each: f"\\{each}" for each in "%$#&_"},
    **dict.fromkeys("{}\\", " "),
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}
_TABLE = str.maketrans(ESCAPED)


def _tex(text: str) -> str:
    r"""What a stranger wrote closes no brace and runs no command.

    >>> print(_tex("50% {a}\\input ~^"))
    50\% a input \textasciitilde{}\textasciicircum{}
    """
    return " ".join(one_line(text).translate(_TABLE).split())


def _address(text: str) -> str:
    """Styles set it letter by letter, so nothing is escaped as in a text; what would end it, and
    what no address may have, is written as its bytes.

    >>> _address("https://x/a_b?c=1&d=50%25#~{e}")
    'https://x/a_b?c=1&d=50%25#~%7Be%7D'
    """
    return quote(text, safe="!#$%&'()*+,-./:;=?@[]_~", errors="replace")

"""Who made the files, under which licence, and where they came from: as text, HTML and CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from html import escape
from itertools import chain, groupby
from typing import NamedTuple, TextIO

from ..add import Media
from ..base.text import one_line

COLUMNS = (
    *("path", "owner", "kind", "title", "author", "license", "license_url"),
    *("page", "source", "provider", "sha256", "time"),
)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001
LICENCES = {"pd": "public domain", "pdm-1.0": "Public Domain Mark 1.0", "pexels": "Pexels licence"}
_CC = re.compile(r"(?P<name>cc0|cc(?:-[a-z]+)+)(?:-(?P<version>\d\.\d)(?:-(?P<port>[a-z]+))?)?")


class Credit(NamedTuple):
    owner: str  # the concept or relation the file shows
    media: Media


def as_text(given: Iterable[Credit]) -> Iterator[str]:
    """Lines: an owner, then a line for each of its files, which its place in the media folder
    names: titles are often the same."""
    for owner, group in groupby(given, key=lambda each: each.owner):
        yield one_line(owner)
        yield from (f"  {one_line(each.media.path)}: {attribution(each.media)}" for each in group)


def attribution(media: Media) -> str:
    """The usual form; a file without a title is named by its path.

    >>> attribution(Media("en/dog/image/0.jpg", "image", "image/jpeg", "", 1, 1, 1, None,
    ...     "cc-by-4.0", "https://example.org/by", "Ada", "https://example.org/1", None, "test",
    ...     "A dog"))
    '"A dog" by Ada, CC BY 4.0 (https://example.org/by), https://example.org/1'
    """
    by = f" by {media.author}" if media.author else ""
    address = f" ({media.license_url})" if media.license_url else ""
    rest = (f"{licence_name(media.license)}{address}", media.page, media.remark)
    return one_line(", ".join([f'"{media.title or media.path}"{by}', *filter(None, rest)]))


def as_html(media: Media) -> str:
    """The same with links, for a page; of what strangers wrote nothing is markup.

    >>> as_html(Media("en/dog/image/0.jpg", "image", "image/jpeg", "", 1, 1, 1, None,
    ...     "cc-by-4.0", "https://example.org/by", "<Ada>", "javascript:x", None, "test", "A dog"))
    '<p>"A dog" by &lt;Ada&gt;, <a href="https://example.org/by">CC BY 4.0</a></p>'
    """
    by = f" by {escape(one_line(media.author), quote=False)}" if media.author else ""
    named = f'"{_link(media.page, media.title or media.path)}"{by}'
    rest = (_link(media.license_url, licence_name(media.license)), _link(None, media.remark or ""))
    return f"<p>{', '.join([named, *filter(None, rest)])}</p>"


def _link(url: str | None, text: str) -> str:
    shown = escape(one_line(text), quote=False)
    is_address = url is not None and url.startswith(("http://", "https://"))
    return f'<a href="{escape(one_line(url or ""))}">{shown}</a>' if is_address else shown


def licence_name(code: str | None) -> str:
    """What a person calls a licence; a code that is not known stays as it is.

    >>> licence_name("cc-by-sa-4.0"), licence_name("cc0-1.0"), licence_name("pd")
    ('CC BY-SA 4.0', 'CC0 1.0', 'public domain')
    >>> licence_name("cc-by"), licence_name("cc-by-3.0-de"), licence_name("cc-by-nc-2.0-igo")
    ('CC BY', 'CC BY 3.0 DE', 'CC BY-NC 2.0 IGO')
    >>> licence_name("Own licence"), licence_name(None)
    ('Own licence', 'licence not recorded')
    """
    if not code:
        return "licence not recorded"
    if not (known := _CC.fullmatch(code)):
        return LICENCES.get(code, code)
    name, version, port = (known[part] or "" for part in ("name", "version", "port"))
    return " ".join(filter(None, (name.upper().replace("-", " ", 1), version, port.upper())))


def as_csv(given: Iterable[Credit], file: TextIO, header: bool = True) -> None:
    """Open the file with newline=""."""
    rows = (tuple(map(_cell, _values(each))) for each in given)
    csv.writer(file, lineterminator="\n").writerows(chain([COLUMNS] if header else [], rows))


def _values(credit: Credit) -> list[str]:
    values = credit.media._asdict() | {"owner": credit.owner}
    return [values[column] or "" for column in COLUMNS]


def _cell(text: str) -> str:
    """A spreadsheet would run a text that begins like a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text

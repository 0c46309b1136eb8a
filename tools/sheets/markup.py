"""HTML in which nothing from outside can be anything but text.

Promise: every string is escaped unless it is Html already, and only this module makes Html.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from html import escape

ALONE = frozenset({"img", "link", "meta"})  # have no end tag
_LINK = re.compile(r"https?://[^\s/]\S*", re.IGNORECASE)
# They turn the text around them, so that a name could pass for another one.
_TURNS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Html(str):
    """A piece of a page, escaped already."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | int | None) -> Html:
    """Attributes that are None are left out; `class_` is written for class.

    >>> element("a", "R&D ", element("b", "<now>"), href='"x"', title=None, class_="near")
    '<a href="&quot;x&quot;" class="near">R&amp;D <b>&lt;now&gt;</b></a>'
    >>> element("img", src="data:,", alt="")
    '<img src="data:," alt="">'
    """
    given = (
        f' {key.strip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    begin = f"<{name}{''.join(given)}>"
    return Html(begin if name in ALONE else f"{begin}{joined(children)}</{name}>")


def joined(pieces: Iterable[str], between: str = "") -> Html:
    """
    >>> joined(["a & b", element("i", "c")], " < ")
    'a &amp; b &lt; <i>c</i>'
    """
    return Html(escaped(between).join(map(escaped, pieces)))


def escaped(text: str) -> Html:
    return text if isinstance(text, Html) else Html(escape(text))


def outward(url: str | None, text: str) -> Html:
    """A link to a page elsewhere; what is no such address stays text.

    >>> outward("javascript:alert(1)", "Ada")
    'Ada'
    >>> outward("https://example.org/?a&b", "Ada")
    '<a href="https://example.org/?a&amp;b" rel="noopener noreferrer">Ada</a>'
    """
    if url is None or not _LINK.fullmatch(url):
        return escaped(text)
    return element("a", text, href=url, rel="noopener noreferrer")


def plain(text: str) -> str:
    r"""One line without characters that steer a terminal or turn the text around them.

    >>> plain("a\x1b[31m\n b\u202ec ")
    'a [31m bc'
    """
    kept = "".join(_steerless(character) for character in text if character not in _TURNS)
    return " ".join(kept.split())


def _steerless(character: str) -> str:
    return " " if unicodedata.category(character) in ("Cc", "Cs") else character

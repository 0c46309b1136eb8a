"""HTML in which nothing from outside can be anything but text.

Promise: every string is escaped unless it is Html already, and only this module makes Html.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

ALONE = frozenset({"img", "link", "meta"})  # have no end tag
_HERE = re.compile(r"https?://([^/@]*@)?(localhost|127\.[\d.]+|\[::1\])(:\d*)?(/|$)", re.IGNORECASE)
_LINK = re.compile(r"https?://[^\s/]\S*", re.IGNORECASE)


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
    """A link to a page elsewhere; what is no such address stays text, as does one of this computer:
    whoever answered there may be gone, or is not there where the page is read.

    >>> outward("javascript:alert(1)", "Ada")
    'Ada'
    >>> outward("http://127.0.0.1:4711/wiki/File:Ada.jpg", "Ada")
    'Ada'
    >>> outward("https://example.org/?a&b", "Ada")
    '<a href="https://example.org/?a&amp;b" rel="noopener noreferrer">Ada</a>'
    """
    if url is None or not _LINK.fullmatch(url) or _HERE.match(url):
        return escaped(text)
    return element("a", text, href=url, rel="noopener noreferrer")

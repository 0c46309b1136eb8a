"""What a stranger's server sent, as it may be shown: whatever it says, a browser connects to nobody
for it.

A policy is not enough. It keeps a browser from asking, but not from connecting: it does that ahead
for a `<link>`, and for a frame before it refuses it. So every element that could is sent under the
name of another one, which does nothing and which a browser reads in the same way.

Promise: what is looked through is what the browser reads, letter by letter: texts are decoded, and
sent as UTF-8. No XML is sent as such, for it could make elements of entities, prefixes and style
sheets: XHTML is sent as HTML, other XML as text. Limit: somebody who follows a link in it is led
nowhere, but a browser may connect to where it leads before it is refused.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..documents.decode import decoded
from ..errors import RetryLater

HTML, PAGES = "text/html", frozenset({"text/html", "application/xhtml+xml"})
TEXTS = frozenset(
    {"text/plain", "text/css", "text/csv", "text/xml", "application/json", "application/xml"}
)
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
INSTEAD = {
    **dict.fromkeys(("base", "embed", "frame", "link", "meta"), "basefont"),  # they hold nothing
    **dict.fromkeys(("frameset", "noframes"), "div"),  # what is for those without frames is seen
    "iframe": "noembed",
    "object": "applet",
}
TAG = re.compile(rf"(</?)({'|'.join(INSTEAD)})(?=[\s/>])", re.IGNORECASE)
EMPTY = re.compile(
    r"<(?!(?:area|br|col|hr|img|input|link|meta|param|source|wbr)\b)([a-z][\w:.-]*+)([^<>]*)/>",
    re.IGNORECASE,
)
UNCLEAN = re.compile(r"[^\x20-\x7e]")


class Copy(NamedTuple):
    body: bytes
    content_type: str


def inert(body: bytes, content_type: str) -> Copy | str:
    """Or why it is not shown."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind in PICTURES:
        return Copy(body, kind)
    if kind not in PAGES | TEXTS:
        return f"It is of type {UNCLEAN.sub('', kind)[:100]}, {len(body)} bytes."
    try:
        text = decoded(body, content_type, "html" if kind == HTML else "xml").text
    except RetryLater as error:
        return f"It cannot be shown: {error}."
    sent, shown = (HTML, _renamed(text, kind)) if kind in PAGES else ("text/plain", text)
    return Copy(shown.encode("utf-8", "replace"), f"{sent}; charset=utf-8")


def _renamed(text: str, kind: str) -> str:
    r"""In HTML only what XML calls so is closed where it begins.

    >>> _renamed('<LINK rel=preconnect href=//x><linked>&lt;link>', "text/html")
    '<basefont rel=preconnect href=//x><linked>&lt;link>'
    >>> _renamed('<a id="x"/><br/><h:link/></iframe\n>', "application/xhtml+xml")
    '<a id="x"></a><br/><h:link></h:link></noembed\n>'
    """
    closed = text if kind == HTML else EMPTY.sub(r"<\1\2></\1>", text)
    return TAG.sub(lambda found: found[1] + INSTEAD[found[2].lower()], closed)

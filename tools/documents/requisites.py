"""What belongs to a page besides its text: the addresses in attributes and style sheets that a
browser asks for by itself.

Limit: what a style sheet of its own file or a script asks for is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

OF_ELEMENTS = {
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "script": ("src",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "track": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "input": ("src",),
    "body": ("background",),
    "link": ("href", "imagesrcset"),
}
"""Elements, with those of their attributes that name such addresses."""
OF_LISTS = frozenset({"srcset", "imagesrcset"})
OF_LINKS = frozenset({"stylesheet", "icon", "apple-touch-icon", "preload", "modulepreload"})
IN_STYLE = re.compile(
    r"""url\(\s*(?:"([^"]*)"|'([^']*)'|([^"'()\s]+))\s*\)|@import\s+(?:"([^"]*)"|'([^']*)')""",
    re.IGNORECASE,
)


def in_srcset(text: str) -> Iterator[str]:
    """Addresses and what they are for in turn. An address may hold commas, but not end with one.

    >>> list(in_srcset("a.png 1x, b,c.png 2x ,d.png,")), list(in_srcset("a.png, b.png 2x,c.png"))
    (['a.png', 'b,c.png', 'd.png'], ['a.png', 'b.png', 'c.png'])
    """
    is_address = True
    for word in text.split():
        address = word if is_address else word.partition(",")[2]
        is_address = is_address or "," in word
        if address := address.lstrip(","):
            is_address = address.endswith(",")
            yield address.rstrip(",")


def in_style(text: str) -> Iterator[str]:
    """
    >>> list(in_style("@import 'a.css'; b { src: url(c.woff2) } d { x: url( 'e f.png' ) url() }"))
    ['a.css', 'c.woff2', 'e f.png']
    """
    for found in IN_STYLE.finditer(text):
        if address := next(filter(None, found.groups()), None):
            yield address

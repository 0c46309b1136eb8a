"""Which recorded addresses a page leads to.

Promise: only to pages elsewhere, by http or https. What is no such address stays text, as does one
of this computer: whoever answered there may be gone, or is not there where the page is read.
"""

from __future__ import annotations

import re

_LINK = re.compile(r"https?://[^\s/]\S*", re.IGNORECASE)
_HERE = re.compile(
    r"https?://([^/?#]*@)?"
    r"(([^/?#:]*\.)?localhost|0|0\.[\d.]+|127\.[\d.]+|\[(::1?|::ffff:127\.[\d.]+)\])\.?(:\d*)?([/?#]|$)",
    re.IGNORECASE,
)


def leads_outward(address: str | None) -> bool:
    """
    >>> leads_outward("https://example.org/?a&b")
    True
    >>> leads_outward("javascript:alert(1)"), leads_outward("http://127.0.0.1:4711/Ada.jpg")
    (False, False)
    """
    return address is not None and bool(_LINK.fullmatch(address)) and not _HERE.match(address)

"""Licences by one name each, whatever their providers call them. Pure functions.

A code is like cc-by-sa-4.0, cc-by-3.0-de, cc0-1.0, pdm-1.0, pd or pexels; a licence whose version
nobody says stays without one. What is not known to be open has no code.

>>> read("https://creativecommons.org/licenses/by-sa/4.0/deed.de"), read("CC BY-SA 4.0")
('cc-by-sa-4.0', 'cc-by-sa-4.0')
>>> read("GFDL") is read("All rights reserved") is read("fair use") is None
True
>>> is_allowed("cc-by-sa-4.0", ["by", "by-sa"]), is_allowed("cc-by-nc-4.0", ["by", "by-sa"])
(True, False)
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import urlsplit

LONGEST = 300  # characters of a name or an address that are worth reading
CC_HOSTS = ("creativecommons.org", "www.creativecommons.org")

_TERMS = r"(?P<terms>by(?:-nc)?(?:-(?:sa|nd))?)"
_VERSION = r"(?P<version>1\.0|2\.[015]|3\.0|4\.0)"
_PORT = r"(?P<port>[a-z]{2}|igo|scotland)"
_DOCUMENT = r"(?:/(?:deed|legalcode)(?:\.[a-z_-]+)?)?/?"
_CC_NAME = re.compile(
    rf"(?:cc-)?{_TERMS}(?:-{_VERSION}(?:,[\d.,]+)?(?:-{_PORT})?)?(?:-migrated)?", re.ASCII
)
_CC_PATH = re.compile(rf"/licenses/{_TERMS}/{_VERSION}(?:/{_PORT})?{_DOCUMENT}")
_PUBLIC_PATH = re.compile(rf"/publicdomain/(?P<tool>zero|mark)/1\.0{_DOCUMENT}")
_PUBLIC_NAME = re.compile(r"(?:cc-)?pd(?:-.+)?|public-domain")
_CODE = re.compile(rf"cc-{_TERMS}(?:-{_VERSION}(?:-{_PORT})?)?")

NAMES = {
    "cc0": "cc0-1.0",
    "cc0-1.0": "cc0-1.0",
    "cc-0": "cc0-1.0",
    "cc-zero": "cc0-1.0",
    "creative-commons-0": "cc0-1.0",
    "pdm": "pdm-1.0",
    "pdm-1.0": "pdm-1.0",
    "public-domain-mark": "pdm-1.0",
    "public-domain-mark-1.0": "pdm-1.0",
    "attribution": "cc-by",
    "attribution-noncommercial": "cc-by-nc",
    "pexels": "pexels",
}
ADDRESSES = {
    "cc0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "pdm-1.0": "https://creativecommons.org/publicdomain/mark/1.0/",
    "pexels": "https://www.pexels.com/license/",
}
SHORT_NAMES = {"cc0-1.0": "cc0", "pdm-1.0": "pdm", "pd": "pd", "pexels": "pexels"}


def read(text: object) -> str | None:
    """The code of a licence given by its name or its address.

    >>> read("cc-by-sa-3.0-migrated"), read("cc-by-sa-3.0,2.5,2.0,1.0"), read("cc0"), read("pd-old")
    ('cc-by-sa-3.0', 'cc-by-sa-3.0', 'cc0-1.0', 'pd')
    >>> read("http://creativecommons.org/licenses/by/3.0/us/"), read("Attribution"), read("cc-by")
    ('cc-by-3.0-us', 'cc-by', 'cc-by')
    >>> read("http://example.org/licenses/by/3.0/"), read("by-everyone"), read(None)
    (None, None, None)
    """
    if not isinstance(text, str) or len(text) > LONGEST:
        return None
    name = re.sub(r"[\s_]+", "-", text.strip().lower())
    return _of_address(name) if "/" in name else _of_name(name)


def _of_name(name: str) -> str | None:
    if known := NAMES.get(name):
        return known
    if found := _CC_NAME.fullmatch(name):
        return _code(found)
    return "pd" if _PUBLIC_NAME.fullmatch(name) else None


def _of_address(address: str) -> str | None:
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:
        return None
    if parts.scheme not in ("http", "https", "") or host not in CC_HOSTS:
        return None
    if found := _CC_PATH.fullmatch(parts.path):
        return _code(found)
    if found := _PUBLIC_PATH.fullmatch(parts.path):
        return {"zero": "cc0-1.0", "mark": "pdm-1.0"}[found["tool"]]
    return "pd" if parts.path.rstrip("/") == "/licenses/publicdomain" else None


def _code(found: re.Match[str]) -> str:
    parts = ("cc", found["terms"], found["version"], found["port"])
    return "-".join(part for part in parts if part)


def url_of(code: str) -> str | None:
    """Where the licence can be read.

    >>> url_of("cc-by-sa-3.0-de"), url_of("cc-by"), url_of("pd")
    ('https://creativecommons.org/licenses/by-sa/3.0/de/', None, None)
    """
    found = _CODE.fullmatch(code)
    if not found or not found["version"]:
        return ADDRESSES.get(code)
    steps = (found["terms"], found["version"], found["port"])
    return f"https://creativecommons.org/licenses/{'/'.join(step for step in steps if step)}/"


def short_name(code: str) -> str | None:
    """What the settings call it, whatever its version.

    >>> short_name("cc-by-nc-sa-2.5"), short_name("cc0-1.0"), short_name("unknown")
    ('by-nc-sa', 'cc0', None)
    """
    found = _CODE.fullmatch(code)
    return found["terms"] if found else SHORT_NAMES.get(code)


def is_allowed(code: str, licences: Collection[str]) -> bool:
    return short_name(code) in licences

"""What a provider answers, read with suspicion.

Promise: an answer that is no JSON object is an error and never an empty result. Within it a value
that is not what it should be reads as None, and costs at most the candidate it belongs to.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from ..errors import ServerTrouble
from ..media import licence
from ..media.offer import Candidate
from ..network.client import Client
from ..network.parse import parsed

JSON = "application/json"
LONGEST_TEXT = 300
LONGEST_ADDRESS = 2000
LONGEST_HTML = 10_000
LARGEST_NUMBER = 1e12
JOINERS = "\u200c\u200d"  # invisible, but letters of some scripts need them
HIDDEN = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
BREAK = re.compile(r"<(?:br|p|div|li|tr|td)\b[^<>]*>", re.IGNORECASE)
TAG = re.compile(r"<[^<>]*>")
URL_CHARACTERS = "!#$%&'()*+,/:;=?@[]~"
PLAIN_ADDRESS = re.compile(rf"[A-Za-z0-9_.\-{re.escape(URL_CHARACTERS)}]*")


def ask(client: Client, url: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The object that is the answer. Errors name the host alone: the rest may hold a key."""
    answer = client.get(url, JSON, headers=headers)
    try:
        found = parsed(answer.body)
    except ValueError:
        kind = text(answer.headers.get("Content-Type"), 60) or "something unnamed"
        raise ServerTrouble(f"{host(url)} sent {kind} that is not JSON") from None
    if not isinstance(found, dict):
        raise ServerTrouble(f"{host(url)} sent JSON that is not an object")
    return found


def rows(found: object, key: str, url: str) -> list[dict[str, Any]]:
    """The objects of the list that every answer of this provider has."""
    listed = inner(found, key)
    if not isinstance(listed, list):
        raise ServerTrouble(f"{host(url)} sent an answer without {key}")
    return objects(listed)


def objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def host(url: str) -> str:
    return urlsplit(url).hostname or "the provider"


def inner(value: object, *keys: str) -> Any:
    """
    >>> inner({"a": {"b": 1}}, "a", "b"), inner({"a": []}, "a", "b")
    (1, None)
    """
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text(value: object, longest: int = LONGEST_TEXT) -> str | None:
    """Without control characters and line ends, not too long; None if nothing is left.

    >>> text(" a\\tb\\u202e\\x00c "), text(" "), text(7)
    ('a b c', None, None)
    """
    if not isinstance(value, str):
        return None
    visible = value[: 4 * longest]
    if not visible.isprintable():
        visible = "".join(each if _is_visible(each) else " " for each in visible)
    return " ".join(visible.split())[:longest].rstrip() or None


def _is_visible(character: str) -> bool:
    return unicodedata.category(character)[0] != "C" or character in JOINERS


def text_of_html(value: object) -> str | None:
    """
    >>> text_of_html('<a href="//x">Ann &amp; <b>Bob</b></a><style>p {}</style>')
    'Ann & Bob'
    """
    if not isinstance(value, str):
        return None
    shown = HIDDEN.sub(" ", value[:LONGEST_HTML])
    return text(html.unescape(_without_tags(BREAK.sub(" ", shown))))


def _without_tags(shown: str) -> str:
    """What is left around one may look like another (<<b>b>): then nothing may begin one."""
    less = TAG.sub("", shown)
    return less.replace("<", "") if TAG.search(less) else less


def web_address(value: object) -> str | None:
    """
    >>> web_address("https://example.org/a b?c=%20&d=é")
    'https://example.org/a%20b?c=%20&d=%C3%A9'
    >>> web_address("javascript:alert(1)"), web_address("//example.org/"), web_address(None)
    (None, None, None)
    """
    if not isinstance(value, str) or len(value) > LONGEST_ADDRESS or not value.isprintable():
        return None
    try:
        parts = urlsplit(value)
        is_usable = parts.scheme in ("http", "https") and parts.port != 0
        if not is_usable or not parts.hostname or "@" in parts.netloc or not parts.netloc.isascii():
            return None
        return value if PLAIN_ADDRESS.fullmatch(value) else quote(value, safe=URL_CHARACTERS)
    except ValueError:
        return None


def number(value: object) -> float | None:
    """More than nothing, and sane. Some providers write numbers as text.

    >>> number("12.5"), number(3), number(0), number("nan"), number(True), number(1e300)
    (12.5, 3.0, None, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str) or len(str(value)) > 40:
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) and 0 < found <= LARGEST_NUMBER else None


def whole_number(value: object) -> int | None:
    """
    >>> whole_number("2692"), whole_number(7), whole_number(1.5)
    (2692, 7, None)
    """
    found = number(value)
    return int(found) if found is not None and found.is_integer() else None


def checksum(value: object, digits: int) -> str | None:
    """
    >>> checksum("0A" * 16, 32), checksum("0A" * 16, 40)
    ('0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a', None)
    """
    is_one = isinstance(value, str) and re.fullmatch(f"[0-9a-fA-F]{{{digits}}}", value)
    return str(value).lower() if is_one else None


def mime_type(value: object) -> str | None:
    is_one = isinstance(value, str) and re.fullmatch(r"[a-z]{1,20}/[a-z0-9.+-]{1,60}", value)
    return str(value) if is_one else None


def candidate(
    *,
    url: object,
    page: object,
    code: str | None,
    author: object,
    license_url: object = None,
    title: object = None,
    size: object = None,
    mime: object = None,
    duration: object = None,
    sha1: object = None,
    md5: object = None,
    remark: str | None = None,
) -> Candidate | None:
    """A candidate of values that were not looked at yet; None if it lacks what it must have."""
    file, shown_at, by = web_address(url), web_address(page), text(author)
    if file is None or shown_at is None or code is None or by is None:
        return None
    return Candidate(
        file,
        shown_at,
        code,
        web_address(license_url) or licence.url_of(code),
        by,
        text(title),
        whole_number(size),
        mime_type(mime),
        number(duration),
        checksum(sha1, 40),
        checksum(md5, 32),
        text(remark),
    )


def allowed(found: Iterable[Candidate | None], licences: Collection[str]) -> list[Candidate]:
    return [each for each in found if each and licence.is_allowed(each.license, licences)]

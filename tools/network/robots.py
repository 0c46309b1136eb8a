"""What a host asks of machines: in its robots.txt, and in the headers of a file.

Promise: a wish is heard wherever it may stand, and only if it is meant for us. Any bytes can be
read as a robots.txt, in a time and a memory that grow with their number alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from protego import Protego
from protego._utils import _quote_path

from .head import FieldsByName

OUR_NAME = "sheaf"
WITH_VALUE = frozenset(  # directives that are written as if they were the name of an agent
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)
LONGEST_REMARK = 200
MOST_OF_A_FILE = 500 * 1024  # bytes of robots.txt; what stands behind them counts for nobody
AGENT = re.compile(r"\s*user[- ]?agent(?:\s*:|\s)\s*([^#]*)", re.IGNORECASE)
TOKEN = re.compile(r"[A-Za-z_-]+")


class Rules:
    """Of one robots.txt, for us."""

    def __init__(self, content: bytes) -> None:
        text = content[:MOST_OF_A_FILE].decode("utf-8-sig", errors="replace").replace("\0", "")
        lines = [_for_us(line) for line in text.splitlines()]
        self._parsed = Protego.parse("\n".join(lines))
        self._agent = OUR_NAME if f"user-agent: {OUR_NAME}" in lines else "*"

    def allows(self, address: str) -> bool:
        try:
            return self._parsed.can_fetch(address, self._agent)
        except ValueError:  # no web address: nobody can ask for it anyway
            return True

    def rule_for(self, address: str) -> str | None:
        """The path by which it is forbidden, as far as it can be shown; None if it is not."""
        if self.allows(address):
            return None
        group = self._parsed._get_matching_rule_set(self._agent)
        path = _quote_path(address)
        for rule in group._rules if group else ():
            if rule.value.match(path):
                return "".join(filter(str.isprintable, rule.value._pattern))[:LONGEST_REMARK]
        return "/"

    @property
    def crawl_delay(self) -> float | None:
        """Seconds between two requests, by either of the two ways to ask for them."""
        rate = self.request_rate
        asked = [each for each in (self._parsed.crawl_delay(self._agent), rate) if each is not None]
        return max(asked, default=None)

    @property
    def request_rate(self) -> float | None:
        """Seconds for each request."""
        rate = self._parsed.request_rate(self._agent)
        return None if rate is None else rate.seconds / rate.requests

    @property
    def sitemaps(self) -> tuple[str, ...]:
        return tuple(self._parsed.sitemaps)


def rules_in(status: int, body: bytes) -> Rules | None:
    """What an answer to the question for robots.txt means. None: nothing may be asked for now.

    >>> rules_in(404, b"").allows("http://a.example/x"), rules_in(503, b"")
    (True, None)
    """
    if 200 <= status < 300:
        return Rules(body)
    return Rules(b"") if 300 <= status < 500 and status != 429 else None


def _for_us(line: str) -> str:
    """Groups are ours, everybody's or somebody else's: of those one is as good as another, and many
    would take the parser many times as long."""
    if (match := AGENT.match(line)) is None:
        return line
    name = match[1].strip()
    token = TOKEN.match(name)
    if token is not None and token[0].lower() == OUR_NAME:
        return f"user-agent: {OUR_NAME}"
    return "user-agent: *" if name == "*" else "user-agent: -"


def forbidden_by(headers: Mapping[str, str], refuse: Collection[str]) -> str | None:
    """The word by which a host forbids what we do.

    >>> forbidden_by({"X-Robots-Tag": "otherbot: noai, sheaf: nofollow, noindex"}, {"noindex"})
    'noindex'
    """
    if "1" in (value.strip() for value in _instances(headers, "tdm-reservation")):
        return "tdm-reservation"
    said = (word for value in _instances(headers, "X-Robots-Tag") for word in directives(value))
    return next((word for word in said if word in refuse), None)


def directives(value: str) -> Iterator[str]:
    """The words of an X-Robots-Tag that are meant for everybody or for us.

    >>> list(directives("noai, otherbot: noindex, nofollow, *: NoImageAI, max-snippet: 9"))
    ['noai', 'noimageai', 'max-snippet']
    """
    is_for_us = True
    for part in value.lower().split(","):
        name, colon, word = (each.strip() for each in part.partition(":"))
        if colon and name not in WITH_VALUE:
            is_for_us = name in ("*", OUR_NAME)
            name = word
        if is_for_us and name:
            yield from ("noindex", "nofollow") if name == "none" else (name,)


def wishes_in(headers: Mapping[str, str]) -> str | None:
    """All that is asked of those who use the file, for the record."""
    said = "; ".join(
        f"{name}: {value}"
        for name in ("X-Robots-Tag", "TDM-Policy")
        for value in _instances(headers, name)
    )
    return "".join(filter(str.isprintable, said))[:LONGEST_REMARK] or None


def _instances(headers: Mapping[str, str], name: str) -> Sequence[str]:
    """Every header of this name; joined, one for another agent would swallow the next."""
    if isinstance(headers, FieldsByName):
        return headers.all(name)
    return [headers[name]] if name in headers else []

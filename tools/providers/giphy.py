"""GIPHY: animated gifs, with a key. Its terms forbid keeping them: they may be pointed at only.

The key is part of every address asked for. A file's address stays as it is, parameters and all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..media.offer import Candidate, Provider
from ..network.client import Client
from ..network.limits import Limit
from .parse import ask, candidate, inner, rows, text
from .query import address, required_key, words

NAME = "giphy"
BASE = "https://api.giphy.com"
LIMITS: Mapping[str, Limit] = {"api.giphy.com": Limit(("100/hour",))}
LICENCE = "unknown"
LONGEST_QUERY = 50
PARAMETERS = {"limit": 25, "rating": "g", "lang": "en"}


class Giphy(Provider):
    name = NAME
    kinds = frozenset({"visual"})
    is_link_only = True

    def __init__(
        self, client: Client, licences: Collection[str], base: str = BASE, key: str = ""
    ) -> None:
        self._client = client
        self._api = f"{base.rstrip('/')}/v1/gifs/search"
        self._key = required_key(NAME, key)

    def search(self, text: str, kind: str) -> list[Candidate]:
        query = words(text, LONGEST_QUERY)
        if not query or kind not in self.kinds:
            return []
        url = address(self._api, PARAMETERS | {"q": query, "api_key": self._key})
        found = map(_candidate, rows(ask(self._client, url), "data", self._api))
        return [each for each in found if each]


def _candidate(item: Mapping[str, Any]) -> Candidate | None:
    original = inner(item, "images", "original")
    names = (item.get("username"), inner(item, "user", "display_name"))
    return candidate(
        url=inner(original, "url"),
        page=item.get("url"),
        code=LICENCE,
        author=next(filter(None, map(text, names)), None),
        title=item.get("title"),
        size=inner(original, "size"),
        mime="image/gif",
    )

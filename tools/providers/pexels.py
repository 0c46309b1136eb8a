"""Pexels: photos under the site's own licence, with a key."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..media.offer import Candidate, Provider
from ..network.client import Client
from ..network.limits import Limit
from .parse import allowed, ask, candidate, inner, rows
from .query import address, required_key, words

NAME = "pexels"
BASE = "https://api.pexels.com"
LIMITS: Mapping[str, Limit] = {
    "api.pexels.com": Limit(("200/hour", "645/day"))  # and 20,000 a month
}
LICENCE = "pexels"
PAGE_SIZE = 30
SIZES = ("large", "original")


class Pexels(Provider):
    name = NAME
    kinds = frozenset({"image"})

    def __init__(
        self, client: Client, licences: Collection[str], base: str = BASE, key: str = ""
    ) -> None:
        self._client = client
        self._licences = licences
        self._api = f"{base.rstrip('/')}/v1/search"
        self._headers = {"Authorization": required_key(NAME, key)}

    def search(self, text: str, kind: str) -> list[Candidate]:
        query = words(text)
        if not query or LICENCE not in self._licences or kind not in self.kinds:
            return []
        url = address(self._api, {"query": query, "per_page": PAGE_SIZE})
        photos = rows(ask(self._client, url, self._headers), "photos", url)
        return allowed(map(_candidate, photos), self._licences)


def _candidate(photo: Mapping[str, Any]) -> Candidate | None:
    return candidate(
        url=next(filter(None, (inner(photo, "src", size) for size in SIZES)), None),
        page=photo.get("url"),
        code=LICENCE,
        author=photo.get("photographer"),
        title=photo.get("alt"),
    )

"""Flickr: openly licensed photos, with a key. The key is part of every address asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote

from ..errors import BadStatus, ServerTrouble
from ..media import licence
from ..media.offer import Candidate, Provider
from ..network.client import Client
from ..network.limits import Limit
from .parse import allowed, ask, candidate, host, rows, text
from .query import address, required_key, words

NAME = "flickr"
BASE = "https://api.flickr.com"
PAGES = "https://www.flickr.com/photos"
LIMITS: Mapping[str, Limit] = {"api.flickr.com": Limit(("3600/hour",))}
LICENCES = {
    "1": "cc-by-nc-sa-2.0",
    "2": "cc-by-nc-2.0",
    "3": "cc-by-nc-nd-2.0",
    "4": "cc-by-2.0",
    "5": "cc-by-sa-2.0",
    "6": "cc-by-nd-2.0",
    "9": "cc0-1.0",
    "10": "pdm-1.0",
}
KEY_REFUSED = 100
PARAMETERS: Mapping[str, object] = {
    "method": "flickr.photos.search",
    "media": "photos",
    "safe_search": 1,
    "extras": "license,owner_name,url_l,url_o",
    "sort": "relevance",
    "per_page": 30,
    "format": "json",
    "nojsoncallback": 1,
}


class Flickr(Provider):
    name = NAME
    kinds = frozenset({"image"})

    def __init__(
        self, client: Client, licences: Collection[str], base: str = BASE, key: str = ""
    ) -> None:
        self._client = client
        self._licences = licences
        self._api = f"{base.rstrip('/')}/services/rest/"
        self._key = required_key(NAME, key)

    def search(self, text: str, kind: str) -> list[Candidate]:
        query = words(text)
        wanted = [each for each in LICENCES if licence.is_allowed(LICENCES[each], self._licences)]
        if not query or not wanted or kind not in self.kinds:
            return []
        search = {"text": query, "license": ",".join(wanted), "api_key": self._key}
        found = ask(self._client, address(self._api, {**PARAMETERS, **search}))
        self._require_ok(found)
        photos = rows(found.get("photos"), "photo", self._api)
        return allowed(map(_candidate, photos), self._licences)

    def _require_ok(self, found: Mapping[str, Any]) -> None:
        """An answer with status 200 may hold an error, whose message may hold the key."""
        if found.get("stat") == "ok":
            return
        if found.get("code") == KEY_REFUSED:
            raise BadStatus(f"{host(self._api)} does not accept the key", 401)
        raise ServerTrouble(f"{host(self._api)} reports an error")


def _candidate(photo: Mapping[str, Any]) -> Candidate | None:
    return candidate(
        url=photo.get("url_l") or photo.get("url_o"),
        page=_page(photo),
        code=LICENCES.get(str(photo.get("license"))),
        author=photo.get("ownername"),
        title=photo.get("title"),
    )


def _page(photo: Mapping[str, Any]) -> str | None:
    owner, number = text(photo.get("owner"), 60), text(photo.get("id"), 60)
    if owner is None or number is None:
        return None
    return f"{PAGES}/{quote(owner, safe='@')}/{quote(number, safe='')}"

"""Freesound: recordings, as the previews that a key is enough for. Its API is for non-commercial
use."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..media import licence
from ..media.offer import Candidate, Provider
from ..network.client import Client
from ..network.limits import Limit
from .parse import allowed, ask, candidate, inner, rows, text
from .query import address, required_key, words

NAME = "freesound"
BASE = "https://freesound.org"
LIMITS: Mapping[str, Limit] = {"freesound.org": Limit(("60/minute", "2000/day"))}
LICENCES = {"cc0": "Creative Commons 0", "by": "Attribution", "by-nc": "Attribution NonCommercial"}
SECONDS = "[0.3 TO 30]"
FIELDS = "id,url,name,username,license,gen_ai_preference,duration,previews,is_explicit"
PAGE_SIZE = 30
PREVIEWS = {"preview-hq-mp3": "audio/mpeg", "preview-hq-ogg": "audio/ogg"}


class Freesound(Provider):
    name = NAME
    kinds = frozenset({"audio"})

    def __init__(
        self, client: Client, licences: Collection[str], base: str = BASE, key: str = ""
    ) -> None:
        self._client = client
        self._licences = licences
        self._api = f"{base.rstrip('/')}/apiv2/search/"
        self._headers = {"Authorization": f"Token {required_key(NAME, key)}"}

    def search(self, text: str, kind: str) -> list[Candidate]:
        query = words(text)
        wanted = [f'"{name}"' for short, name in LICENCES.items() if short in self._licences]
        if not query or not wanted or kind not in self.kinds:
            return []
        parameters = {
            "query": query,
            "filter": f"duration:{SECONDS} license:({' OR '.join(wanted)})",
            "fields": FIELDS,
            "page_size": PAGE_SIZE,
        }
        url = address(self._api, parameters)
        results = rows(ask(self._client, url, self._headers), "results", url)
        return allowed(map(_candidate, results), self._licences)


def _candidate(item: Mapping[str, Any]) -> Candidate | None:
    """Size and checksum are of the original, not of its preview."""
    if item.get("is_explicit") is True:
        return None
    offered = ((inner(item, "previews", key), mime) for key, mime in PREVIEWS.items())
    url, mime = next(((url, mime) for url, mime in offered if url), (None, None))
    preference = text(item.get("gen_ai_preference"))
    return candidate(
        url=url,
        page=item.get("url"),
        code=licence.read(item.get("license")),
        license_url=item.get("license"),
        author=item.get("username"),
        title=item.get("name"),
        mime=mime,
        duration=item.get("duration"),
        remark=f"gen_ai_preference: {preference}" if preference else None,
    )

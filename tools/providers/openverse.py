"""Openverse: an index of openly licensed pictures and sounds; a key raises its limits."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..media import licence
from ..media.offer import Candidate, Provider
from ..network.client import Client
from ..network.limits import Limit
from .parse import allowed, ask, candidate, number, rows
from .query import address, usable_key, words

NAME = "openverse"
BASE = "https://api.openverse.org"
LIMITS: Mapping[str, Limit] = {"api.openverse.org": Limit(("20/minute", "200/day"))}
LIMITS_WITH_KEY: Mapping[str, Limit] = {"api.openverse.org": Limit(("100/minute", "10000/day"))}
LICENCES = ("cc0", "pdm", "by", "by-sa", "by-nd", "by-nc", "by-nc-sa", "by-nc-nd")
PATHS = {"image": "images", "visual": "images", "audio": "audio"}
FILTERS = {
    "image": {"extension": "jpg,png,webp"},  # most pictures have no category
    "visual": {"extension": "gif"},
    "audio": {"extension": "mp3,ogg,wav,flac", "category": "sound_effect"},
}
PAGE_SIZE = 20  # more is for those with a key
MIME_TYPES = {
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "png": "image/png",
    "webp": "image/webp",
    "gif": "image/gif",
    "mp3": "audio/mpeg",
    "ogg": "audio/ogg",
    "wav": "audio/wav",
    "flac": "audio/flac",
}


class Openverse(Provider):
    name = NAME
    kinds = frozenset(FILTERS)

    def __init__(
        self, client: Client, licences: Collection[str], base: str = BASE, key: str = ""
    ) -> None:
        self._client = client
        self._licences = licences
        self._base = base.rstrip("/")
        token = usable_key(NAME, key)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def search(self, text: str, kind: str) -> list[Candidate]:
        query = words(text)
        wanted = [each for each in LICENCES if each in self._licences]
        if not query or not wanted or kind not in FILTERS:
            return []
        parameters = {
            "q": query,
            "license": ",".join(wanted),
            "page_size": PAGE_SIZE,
            "mature": "false",
            **FILTERS[kind],
        }
        url = address(f"{self._base}/v1/{PATHS[kind]}/", parameters)
        results = rows(ask(self._client, url, self._headers), "results", url)
        return allowed(map(_candidate, results), self._licences)


def _candidate(item: Mapping[str, Any]) -> Candidate | None:
    if item.get("mature") is True:
        return None
    milliseconds = number(item.get("duration"))
    return candidate(
        url=item.get("url"),
        page=item.get("foreign_landing_url"),
        code=_code(item),
        license_url=item.get("license_url"),
        author=item.get("creator"),
        title=item.get("title"),
        size=item.get("filesize"),
        mime=MIME_TYPES.get(str(item.get("filetype")).lower()),
        duration=milliseconds and milliseconds / 1000,
    )


def _code(item: Mapping[str, Any]) -> str | None:
    """The version stands apart, or at least in the licence's address."""
    name, version = item.get("license"), item.get("license_version")
    in_address = licence.read(item.get("license_url"))
    if in_address and licence.short_name(in_address) != name:
        return None  # which of the two holds nobody can tell
    return licence.read(f"{name}-{version}") or in_address or licence.read(name)

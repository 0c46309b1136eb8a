"""Wikimedia Commons: pictures, sounds and animated gifs under free licences, without a key."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..errors import ServerTrouble, Unavailable
from ..media import licence
from ..media.offer import Candidate, Provider
from ..network.client import Client
from ..network.limits import Limit
from .parse import (
    allowed,
    ask,
    candidate,
    host,
    inner,
    mime_type,
    number,
    objects,
    text,
    text_of_html,
)
from .query import address, words

NAME = "commons"
BASE = "https://commons.wikimedia.org"
LIMITS: Mapping[str, Limit] = {
    "commons.wikimedia.org": Limit(at_once=3),
    # Two connections and 25 Mbit/s are asked for both together.
    "upload.wikimedia.org": Limit(at_once=1, bytes_per_s=1_562_500),
    "thumb.wikimedia.org": Limit(at_once=1, bytes_per_s=1_562_500),
}
FILTERS = {
    "image": "filetype:bitmap -filemime:image/gif fileres:>300",
    "audio": "filetype:audio filesize:<3072 -intitle:LL-Q",
    "visual": "filemime:image/gif",
}
LICENCE_FIELDS = ("License", "LicenseUrl", "LicenseShortName")
ABOUT = (*LICENCE_FIELDS, "Artist", "ObjectName", "Restrictions", "Categories")
PREVIEW_WIDTH = 960  # only certain widths are served
PARAMETERS: Mapping[str, object] = {
    "action": "query",
    "format": "json",
    "formatversion": 2,
    "maxlag": 5,
    "generator": "search",
    "gsrnamespace": 6,
    "gsrlimit": 50,
    "prop": "imageinfo",
    "iiprop": "url|size|mime|mediatype|sha1|extmetadata",
    "iiurlwidth": PREVIEW_WIDTH,
    "iiextmetadatalanguage": "en",
    "iiextmetadatafilter": "|".join(ABOUT),
}
WITH_PREVIEW = frozenset({"image/jpeg", "image/png"})
PICTURES = WITH_PREVIEW | {"image/webp"}
ASKS_FOR_A_PAUSE = frozenset({"maxlag", "ratelimited"})
LAST = 10**9  # where a file without a rank is sorted


class Commons(Provider):
    name = NAME
    kinds = frozenset(FILTERS)

    def __init__(
        self, client: Client, licences: Collection[str], base: str = BASE, key: str = ""
    ) -> None:
        self._client = client
        self._licences = licences
        self._api = f"{base.rstrip('/')}/w/api.php"

    def search(self, text: str, kind: str) -> list[Candidate]:
        query = words(text)
        if not query or kind not in FILTERS:
            return []
        search = {"gsrsearch": f"{query} {FILTERS[kind]}"}
        found = ask(self._client, address(self._api, {**PARAMETERS, **search}))
        pages = sorted(self._pages(found), key=lambda page: number(page.get("index")) or LAST)
        return allowed((_candidate(page, kind) for page in pages), self._licences)

    def _pages(self, found: Mapping[str, Any]) -> list[dict[str, Any]]:
        if "error" in found:
            self._raise(found["error"])
        if "query" not in found and ("batchcomplete" in found or "continue" in found):
            return []
        pages = inner(found, "query", "pages")
        if not isinstance(pages, list):
            raise ServerTrouble(f"{host(self._api)} sent an answer without pages")
        return objects(pages)

    def _raise(self, error: object) -> None:
        """An answer with status 200 may hold an error."""
        code = text(inner(error, "code"), 60) or "unnamed"
        if code in ASKS_FOR_A_PAUSE:
            reason = f"{host(self._api)} asks for a pause ({code})"
            raise Unavailable(reason, self._client.let_rest(self._api, reason))
        raise ServerTrouble(f"{host(self._api)} reports an error ({code})")


def _candidate(page: Mapping[str, Any], kind: str) -> Candidate | None:
    info = next(iter(objects(page.get("imageinfo"))), {})
    about = {key: inner(info, "extmetadata", key, "value") for key in ABOUT}
    if not _is_wanted(page, info, about, kind):
        return None
    preview = info.get("thumburl") if _has_preview(info) else None
    return candidate(
        url=preview or info.get("url"),
        page=info.get("descriptionurl"),
        code=next(filter(None, map(licence.read, map(about.get, LICENCE_FIELDS))), None),
        license_url=about["LicenseUrl"],
        author=text_of_html(about["Artist"]),
        title=text_of_html(about["ObjectName"]) or page.get("title"),
        size=None if preview else info.get("size"),
        mime=info.get("mime"),
        duration=info.get("duration"),
        sha1=None if preview else info.get("sha1"),
        remark=_remark(about["Restrictions"]),
    )


def _is_wanted(
    page: Mapping[str, Any], info: Mapping[str, Any], about: Mapping[str, Any], kind: str
) -> bool:
    if kind == "image":
        return mime_type(info.get("mime")) in PICTURES
    if kind == "visual":  # a gif that stands still lasts 0 seconds
        return info.get("mime") == "image/gif" and info.get("duration") != 0
    return info.get("mediatype") == "AUDIO" and not _is_pronunciation(page, about)


def _is_pronunciation(page: Mapping[str, Any], about: Mapping[str, Any]) -> bool:
    """Somebody reads the word aloud: most sounds found by a word are of this sort."""
    words = f"{page.get('title')} {about['Categories']}".lower()
    return "pronunciation" in words or "ll-q" in words


def _has_preview(info: Mapping[str, Any]) -> bool:
    """Large originals weigh many times what their 960 pixels do."""
    is_large = (number(info.get("width")) or 0) > PREVIEW_WIDTH
    return mime_type(info.get("mime")) in WITH_PREVIEW and is_large


def _remark(restrictions: object) -> str | None:
    named = text(restrictions)
    return f"restrictions: {named}" if named else None

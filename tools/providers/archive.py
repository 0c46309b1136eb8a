"""The Internet Archive: items of all kinds; only those with an open licence are looked into."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from ..errors import BadStatus, GiveUp
from ..media import licence
from ..media.offer import Candidate, Provider
from ..network.client import Client
from ..network.limits import Limit
from .parse import allowed, ask, candidate, inner, number, objects, rows, text, whole_number
from .query import address, words

NAME = "archive"
BASE = "https://archive.org"
LIMITS: Mapping[str, Limit] = {"archive.org": Limit(("3/second",), at_once=3)}
FILTERS = {
    "image": "mediatype:image",
    "audio": "mediatype:audio",
    "visual": 'mediatype:image AND (format:"Animated GIF" OR format:GIF)',
}
SUFFIXES = {
    "image": (".jpg", ".jpeg", ".png", ".webp"),
    "audio": (".mp3", ".ogg", ".flac", ".wav"),  # of the same recording the first is taken
    "visual": (".gif",),
}
NO_CONTENT = frozenset({"Item Image", "Item Tile", "JPEG Thumb", "Thumbnail", "Spectrogram"})
THUMBNAIL = "__ia_thumb"
LARGEST = {"image": 20_000_000, "audio": 3_145_728, "visual": 20_000_000}  # bytes
GONE = frozenset({404, 410})
ROWS = 20
MOST_ITEMS = 4  # each costs a request of its own
MOST_FILES = 3  # of one item
IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

Json = Mapping[str, Any]


class InternetArchive(Provider):
    name = NAME
    kinds = frozenset(FILTERS)

    def __init__(
        self, client: Client, licences: Collection[str], base: str = BASE, key: str = ""
    ) -> None:
        self._client = client
        self._licences = licences
        self._base = base.rstrip("/")

    def search(self, text: str, kind: str) -> list[Candidate]:
        query = words(text)
        if not query or kind not in FILTERS:
            return []
        found: list[Candidate] = []
        for identifier in self._open_items(query, kind)[:MOST_ITEMS]:
            item = self._item(identifier)
            files = _files(item, kind)[:MOST_FILES]
            offers = (self._candidate(identifier, item, file) for file in files)
            found += allowed(offers, self._licences)
        return found

    def _open_items(self, query: str, kind: str) -> list[str]:
        parameters = [
            ("q", f"({query}) AND {FILTERS[kind]} AND licenseurl:*creativecommons*"),
            *(("fl[]", field) for field in ("identifier", "licenseurl")),
            ("rows", ROWS),
            ("page", 1),
            ("output", "json"),
        ]
        url = address(f"{self._base}/advancedsearch.php", parameters)
        found = rows(ask(self._client, url).get("response"), "docs", url)
        return [str(item["identifier"]) for item in found if self._is_open(item)]

    def _is_open(self, item: Json) -> bool:
        code, identifier = licence.read(_first(item.get("licenseurl"))), item.get("identifier")
        is_named = isinstance(identifier, str) and IDENTIFIER.fullmatch(identifier)
        return bool(is_named and code and licence.is_allowed(code, self._licences))

    def _item(self, identifier: str) -> Json:
        """What is in it; nothing if it was taken away."""
        try:
            return ask(self._client, f"{self._base}/metadata/{identifier}")
        except GiveUp as error:
            if isinstance(error, BadStatus) and error.status not in GONE:
                raise
            return {}

    def _candidate(self, identifier: str, item: Json, file: Json) -> Candidate | None:
        about = item.get("metadata")
        license_url = _first(inner(about, "licenseurl"))
        return candidate(
            url=f"{self._base}/download/{identifier}/{quote(file['name'])}",
            page=f"{self._base}/details/{identifier}",
            code=licence.read(license_url),
            license_url=license_url,
            author=_first(inner(about, "creator")),
            title=_first(inner(about, "title")),
            size=file.get("size"),
            duration=seconds(file.get("length")),
            sha1=file.get("sha1"),
            md5=file.get("md5"),
        )


def _first(value: object) -> object:
    """A field with several values is a list."""
    return value[0] if isinstance(value, list) and value else value


def _files(item: Json, kind: str) -> list[Json]:
    """The files of a kind; of several that differ by suffix alone, the one we like best."""
    best: dict[str, Json] = {}
    suffixes = SUFFIXES[kind]
    fitting = [file for file in objects(item.get("files")) if _fits(file, kind)]
    for file in sorted(fitting, key=lambda file: suffixes.index(_suffix(file))):
        best.setdefault(str(PurePosixPath(file["name"]).with_suffix("")), file)
    return [file for file in fitting if file in best.values()]


def _fits(file: Json, kind: str) -> bool:
    name = file.get("name")
    if not isinstance(name, str) or text(name) != name or ".." in name or name.startswith("/"):
        return False
    is_content = (
        THUMBNAIL not in name
        and file.get("source") != "metadata"
        and text(file.get("format")) not in NO_CONTENT
    )
    is_small = (whole_number(file.get("size")) or 0) <= LARGEST[kind]
    return _suffix(file) in SUFFIXES[kind] and is_content and is_small and not file.get("private")


def _suffix(file: Json) -> str:
    return PurePosixPath(file["name"]).suffix.lower()


def seconds(length: object) -> float | None:
    """
    >>> seconds("324.34"), seconds("01:02:03"), seconds("2:03"), seconds("long")
    (324.34, 3723.0, 123.0, None)
    """
    if not isinstance(length, str) or not re.fullmatch(r"\d{1,4}:\d{2}(:\d{2})?", length):
        return number(length)
    total = 0
    for part in length.split(":"):
        total = 60 * total + int(part)
    return number(total)

"""What iNaturalist says to a request, about the animals and plants of the sample.

Promise: paths, parameters and JSON shapes of its search for taxa and for observations. A taxon is
also found by the beginning of its name, and each observation has one file.
Limits: only those two; files and observation pages are on the same server. Scientific names are
invented.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..conceptnet.mirror.pages import number
from ..network.reply import Reply, json_reply
from .drawing import PICTURE
from .files import MIMES, content, landing_page, sent, thumbnail
from .offers import File, Offers, author_of, licence_of
from .texts import Texts, words_of

FIRST_TAXON = 1_001
SOUND_TYPES = {"wav": "audio/x-wav", "ogg": "audio/ogg"}
FILTERS = (("image", "photos", "photo_license"), ("audio", "sounds", "sound_license"))
WIDTHS = {"square": 75, "thumb": 100, "small": 240}

_PHOTO = re.compile(r"/photos/(\d{1,9})/(square|thumb|small|medium|large|original)\.[a-z]{3,4}")
_SOUND = re.compile(r"/sounds/(\d{1,9})\.[a-z0-9]{3,4}")
_OBSERVATION = re.compile(r"/observations/(\d{1,9})")
_PER_TAXON = 100  # numbers that the files of one taxon may have
_SOUNDS_FROM = 50
_DEEPEST = 10_000


class INaturalist:
    name = "inaturalist"

    def __init__(self, texts: Texts, offers: Offers) -> None:
        self._taxa = texts.taxa
        self._offers = offers

    def answer(self, base: str, path: str, query: Mapping[str, str]) -> Reply:
        if path == "/v1/taxa/autocomplete":
            return self._autocomplete(base, query)
        if path == "/v1/observations":
            return self._observations(base, query)
        for pattern in (_PHOTO, _SOUND, _OBSERVATION):
            if (found := pattern.fullmatch(path)) and (file := self._numbered(int(found[1]))):
                break
        else:
            return _error(404, "Not Found")
        if pattern is _OBSERVATION:
            return landing_page(file, base + self._file_path(file).replace("/square.", "/medium."))
        return _photo(file, found[2]) if pattern is _PHOTO else sent(file)

    def _autocomplete(self, base: str, query: Mapping[str, str]) -> Reply:
        asked = words_of(query.get("q", ""))
        if not asked:
            return _error(422, "q is required")
        names = sorted((name for name in self._taxa if name.startswith(asked)), key=len)
        taxa = [self._taxon(base, name) for name in names]
        return _listing(taxa, query, per_page=10, largest=30)

    def _observations(self, base: str, query: Mapping[str, str]) -> Reply:
        names = list(self._taxa)
        if "taxon_id" in query:
            wanted = query["taxon_id"]
            place = int(wanted) - FIRST_TAXON if wanted.isdecimal() and len(wanted) < 10 else -1
            if not 0 <= place < len(names):
                return _error(422, f"Unknown taxon_id {wanted}")
            names = [names[place]]
        found = [file for name in names for file in self._files(name) if _is_found(file, query)]
        if number(query, "page", 1, _DEEPEST) * number(query, "per_page", 30, 200) > _DEEPEST:
            return _error(403, f"Result window is too large, page * per_page must be <= {_DEEPEST}")
        return _listing([self._observation(base, file) for file in found], query, 30, 200)

    def _files(self, name: str) -> list[File]:
        return [
            file
            for kind in ("image", "audio")
            for file in self._offers.files(self.name, kind, name)
        ]

    def _number(self, file: File) -> int:
        """Of the file and of its observation."""
        place = self._taxa.index(file.text)
        return place * _PER_TAXON + file.number + (_SOUNDS_FROM if file.kind == "audio" else 0)

    def _numbered(self, wanted: int) -> File | None:
        place = wanted // _PER_TAXON
        files = self._files(self._taxa[place]) if place < len(self._taxa) else []
        return next((file for file in files if self._number(file) == wanted), None)

    def _file_path(self, file: File) -> str:
        if file.kind == "audio":
            return f"/sounds/{self._number(file)}.{file.extension}"
        return f"/photos/{self._number(file)}/square.{file.extension}"

    def _taxon(self, base: str, name: str) -> dict[str, Any]:
        photo = next((file for file in self._files(name) if file.kind == "image"), None)
        return {
            "id": FIRST_TAXON + self._taxa.index(name),
            "name": f"Exemplum {name.replace(' ', '-')}",
            "rank": "species",
            "rank_level": 10,
            "is_active": True,
            "matched_term": name.capitalize(),
            "preferred_common_name": name.capitalize(),
            "observations_count": len(self._files(name)),
            "default_photo": self._photo(base, photo) if photo else None,
        }

    def _observation(self, base: str, file: File) -> dict[str, Any]:
        number, author = self._number(file), author_of(file)
        taxon = self._taxon(base, file.text)
        return {
            "id": number,
            "uri": f"{base}/observations/{number}",
            "quality_grade": "research",
            "license_code": _code(file),
            "observed_on": "2020-02-02",
            "place_guess": "Nowhere",
            "user": {"login": author.lower().replace(" ", "_"), "name": author or None},
            "taxon": {key: taxon[key] for key in ("id", "name", "rank", "preferred_common_name")},
            "photos": [self._photo(base, file)] if file.kind == "image" else [],
            "sounds": [self._sound(base, file)] if file.kind == "audio" else [],
        }

    def _photo(self, base: str, file: File) -> dict[str, Any]:
        width, height = content(file).size or PICTURE
        return {
            "id": self._number(file),
            "license_code": _code(file),
            "attribution": _attribution(file),
            "url": f"{base}{self._file_path(file)}",
            "original_dimensions": {"width": width, "height": height},
            "flags": [],
        }

    def _sound(self, base: str, file: File) -> dict[str, Any]:
        mime = MIMES[file.extension]
        return {
            "id": self._number(file),
            "license_code": _code(file),
            "attribution": _attribution(file),
            "file_url": f"{base}{self._file_path(file)}",
            "file_content_type": SOUND_TYPES.get(file.extension, mime),
            "flags": [],
        }


def _error(status: int, reason: str) -> Reply:
    return json_reply({"error": reason, "status": status}, status)


def _listing(
    results: list[dict[str, Any]], query: Mapping[str, str], per_page: int, largest: int
) -> Reply:
    size = number(query, "per_page", per_page, largest)
    page = max(1, number(query, "page", 1, _DEEPEST))
    shown = results[(page - 1) * size : page * size]
    answer = {"total_results": len(results), "page": page, "per_page": size, "results": shown}
    return json_reply(answer)


def _is_found(file: File, query: Mapping[str, str]) -> bool:
    """Every observation of the sample is good enough for research."""
    for kind, has, licence in FILTERS:
        is_kind = file.kind == kind
        if has in query and (query[has] == "true") != is_kind:
            return False
        if licence in query and not (is_kind and _code(file) in query[licence].split(",")):
            return False
    return query.get("quality_grade", "research") == "research"


def _code(file: File) -> str | None:
    """Nothing for all rights reserved; it has no mark of the public domain."""
    code = licence_of(file).code
    if file.flaw == "unfree":
        return None
    return "cc0" if code in ("cc0", "pdm") else f"cc-{code}"


def _attribution(file: File) -> str:
    author = author_of(file)
    if not author:
        return ""
    code = _code(file)
    rights = "all rights reserved" if code is None else f"some rights reserved ({code.upper()})"
    return f"(c) {author}, {rights}"


def _photo(file: File, size: str) -> Reply:
    """A picture is never made larger."""
    if size in WIDTHS and not file.flaw:
        return Reply(200, thumbnail(file, WIDTHS[size]), MIMES[file.extension])
    return sent(file)

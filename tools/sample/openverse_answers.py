"""What Openverse says to a request, about the files of the sample.

Promise: paths, parameters and JSON shapes of its searches for images and audio, with its refusals
for those without a key. Some files have no type or size, as there.
Limits: only the searches; files and the pages they are from are on the same server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from ..network.reply import Reply, json_reply
from .files import content, landing_page, named, path_of, sent, title_of
from .offers import File, Licence, Offers, author_of, identity, licence_of
from .texts import Texts

SOURCE = "sample"
CATEGORIES = {"image": "photograph", "visual": "illustration", "audio": "sound_effect"}
KINDS = {"/v1/images": ("image", "visual"), "/v1/audio": ("audio",)}
FREE_LICENCES = ("cc0", "pdm", "by", "by-sa")
LICENCES = (*FREE_LICENCES, "by-nc", "by-nd", "by-nc-sa", "by-nc-nd", "sampling+", "nc-sampling+")
LICENCE_TYPES = {
    "all": LICENCES,
    "all-cc": tuple(each for each in LICENCES if each not in ("cc0", "pdm")),
    "commercial": (*FREE_LICENCES, "by-nd", "sampling+"),
    "modification": (*FREE_LICENCES, "by-nc", "by-nc-sa", "sampling+", "nc-sampling+"),
}

_LARGEST_PAGE = 20
_DEEPEST = 240
_LONGEST_QUERY = 200
_FILE = re.compile(r"/(files|pages)/([^/]+)")


class Openverse:
    name = "openverse"

    def __init__(self, texts: Texts, offers: Offers) -> None:
        self._texts = texts
        self._offers = offers

    def answer(self, base: str, path: str, query: Mapping[str, str]) -> Reply:
        if kinds := KINDS.get(path.rstrip("/")):
            return _fault(query) or self._search(base, kinds, query)
        found = _FILE.fullmatch(path)
        file = named(self._offers, self.name, found[2]) if found else None
        if found is None or file is None:
            return _refusal(404, "Not found.")
        return sent(file) if found[1] == "files" else landing_page(file, _url(base, file))

    def _search(self, base: str, kinds: tuple[str, ...], query: Mapping[str, str]) -> Reply:
        text = self._texts.find(query.get("q", "")) or ""
        offered = [file for kind in kinds for file in self._offers.files(self.name, kind, text)]
        found = [file for file in offered if _is_found(file, query)]
        page, size = int(query.get("page", "1")), int(query.get("page_size", _LARGEST_PAGE))
        results = [_result(base, file) for file in found[(page - 1) * size : page * size]]
        return json_reply(
            {
                "result_count": len(found),
                "page_count": -(-len(found) // size),
                "page_size": size,
                "page": page,
                "results": results,
            }
        )


def _fault(query: Mapping[str, str]) -> Reply | None:
    for key in ("page", "page_size"):
        if not query.get(key, "1").isdecimal() or not 0 < int(query.get(key, "1")) < 10_000:
            return _invalid(key, "A valid integer is required.")
    size = int(query.get("page_size", _LARGEST_PAGE))
    if size > _LARGEST_PAGE:
        reason = f"page_size must be between 1 & {_LARGEST_PAGE} for anonymous requests."
        return _refusal(401, reason)
    if size * int(query.get("page", "1")) > _DEEPEST:
        return _refusal(401, f"Only the first {_DEEPEST} results can be reached.")
    if len(query.get("q", "")) > _LONGEST_QUERY:
        return _invalid("q", f"Ensure this field has no more than {_LONGEST_QUERY} characters.")
    for key, allowed in (("license", LICENCES), ("license_type", tuple(LICENCE_TYPES))):
        for value in _values(query, key):
            if value not in allowed:
                return _invalid(key, f"Invalid value: {value}.")
    return None


def _refusal(status: int, reason: str) -> Reply:
    return json_reply({"detail": reason}, status)


def _invalid(key: str, reason: str) -> Reply:
    return json_reply({"detail": {key: [reason]}}, 400)


def _values(query: Mapping[str, str], key: str) -> list[str]:
    return [value.strip().lower() for value in query.get(key, "").split(",") if value.strip()]


def _is_found(file: File, query: Mapping[str, str]) -> bool:
    licence = licence_of(file).code
    types = _values(query, "license_type")
    facts = {
        "license": licence,
        "extension": file.extension,
        "category": CATEGORIES[file.kind],
        "source": SOURCE,
    }
    return (
        all(not query.get(key) or fact in _values(query, key) for key, fact in facts.items())
        and SOURCE not in _values(query, "excluded_source")
        and (not types or any(licence in LICENCE_TYPES[each] for each in types))
    )


def _result(base: str, file: File) -> dict[str, Any]:
    """What somebody collected from other sites knows little of the file itself."""
    licence, author = licence_of(file), author_of(file) or None
    is_known = identity("known", *file) % 2 == 0 and file.flaw != "cut"
    name, folder = str(_id(file)), "audio" if file.kind == "audio" else "images"
    return {
        "id": name,
        "indexed_on": "2020-02-02T20:20:20Z",
        "title": title_of(file).rpartition(".")[0],
        "foreign_landing_url": f"{base}/pages/{path_of(file)}",
        "url": _url(base, file),
        "creator": author,
        "creator_url": None,
        "license": licence.code,
        "license_version": licence.version,
        "license_url": licence.url,
        "provider": SOURCE,
        "source": SOURCE,
        "category": CATEGORIES[file.kind],
        "filesize": len(content(file).body) if is_known else None,
        "filetype": file.extension if is_known else None,
        "tags": [{"name": word, "accuracy": None} for word in file.text.split()],
        "attribution": _attribution(file, licence, author),
        "mature": False,
        "unstable__sensitivity": [],
        "fields_matched": ["title"],
        "detail_url": f"{base}/v1/{folder}/{name}/",
        "related_url": f"{base}/v1/{folder}/{name}/related/",
        **(_of_sound(file) if file.kind == "audio" else _of_image(base, file)),
    }


def _of_image(base: str, file: File) -> dict[str, Any]:
    width, height = content(file).size or (None, None)
    return {"width": width, "height": height, "thumbnail": _url(base, file)}


def _of_sound(file: File) -> dict[str, Any]:
    """Lengths are milliseconds."""
    return {
        "duration": round(1000 * (content(file).seconds or 0)),
        "bit_rate": None,
        "sample_rate": None,
        "genres": [],
        "alt_files": None,
        "audio_set": None,
        "thumbnail": None,
        "waveform": None,
    }


def _attribution(file: File, licence: Licence, author: str | None) -> str:
    by = f" by {author}" if author else ""
    name = f"{licence.code.upper()} {licence.version}"
    return (
        f'"{title_of(file)}"{by} is licensed under {name}. To view the terms, visit {licence.url}.'
    )


def _url(base: str, file: File) -> str:
    return f"{base}/files/{path_of(file)}"


def _id(file: File) -> UUID:
    return UUID(int=identity(*file) << 64 | identity("rest", *file), version=4)

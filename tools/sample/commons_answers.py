"""What Wikimedia Commons says to a request, about the files of the sample.

Promise: paths, parameters and JSON shapes of its API for searching files, its file pages, files and
thumbnails. Pages are listed by their number, and `index` is the rank of the search, as there.
Limits: of the API only `action=query` with `generator=search` and `prop=imageinfo`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import md5
from math import isqrt
from typing import Any
from urllib.parse import quote

from ..conceptnet.mirror.pages import number
from ..network.reply import Reply, html_error, json_reply
from .commons_search import Search
from .files import MIMES, content, landing_page, named, path_of, sent, thumbnail, title_of
from .offers import WANTED, File, Licence, Offers, author_of, identity, licence_of
from .texts import Texts

WIDTHS = (20, 40, 60, 120, 250, 330, 500, 960, 1280, 1920, 3840)

_FILE = re.compile(r"/wikipedia/commons/[0-9a-f]/[0-9a-f]{2}/([^/]+)")
_THUMB = re.compile(r"/wikipedia/commons/thumb/[0-9a-f]/[0-9a-f]{2}/([^/]+)/(\d{1,5})px-[^/]+")
_PAGE = re.compile(r"/wiki/File:([^/]+)")
_MOST_PAGES = 500
_URL_WIDTH = "iiurlwidth"


class Commons:
    name = "commons"

    def __init__(self, texts: Texts, offers: Offers) -> None:
        self._texts = texts
        self._offers = offers

    def answer(self, base: str, path: str, query: Mapping[str, str]) -> Reply:
        if path == "/w/api.php":
            return self._api(base, query)
        for pattern in (_FILE, _THUMB, _PAGE):
            if (found := pattern.fullmatch(path)) and (file := self._named(found[1])):
                break
        else:
            return html_error(404, "There is no such page.")
        if pattern is _PAGE:
            return landing_page(file, base + _file_path(file))
        return sent(file) if pattern is _FILE else _thumb(file, int(found[2]))

    def _named(self, name: str) -> File | None:
        return named(self._offers, self.name, name)

    def _api(self, base: str, query: Mapping[str, str]) -> Reply:
        if fault := _fault(query):
            return fault
        search = Search.of(query["gsrsearch"])
        found = self._found(search)
        start = number(query, "gsroffset", default=0, largest=10_000)
        end = start + number(query, "gsrlimit", default=10, largest=_MOST_PAGES)
        pages = [
            _page(base, file, rank, query)
            for rank, file in enumerate(found[start:end], start=start + 1)
        ]
        return json_reply(_listing(pages, end if end < len(found) else None, query))

    def _found(self, search: Search) -> list[File]:
        text = self._texts.find(search.words)
        if text is None:
            return []
        offered = [file for kind in WANTED for file in self._offers.files(self.name, kind, text)]
        return [file for file in offered if _is_found(search, file)]


def _fault(query: Mapping[str, str]) -> Reply | None:
    """The API answers most mistakes with status 200."""
    for key, allowed in (("action", "query"), ("format", "json"), ("generator", "search")):
        if query.get(key) != allowed:
            reason = f'Unrecognized value for parameter "{key}": {query.get(key, "")}.'
            return _error("badvalue", reason)
    if not query.get("gsrsearch", "").strip():
        return _error("missingparam", 'The "gsrsearch" parameter must be set.')
    for key in ("gsrlimit", "gsroffset", _URL_WIDTH):
        if not query.get(key, "0").isdecimal():
            return _error(
                "badinteger", f'Invalid value "{query[key]}" for integer parameter "{key}".'
            )
    return None


def _error(code: str, reason: str) -> Reply:
    answer = json_reply({"error": {"code": code, "info": reason}, "servedby": "sample"})
    return Reply(answer.status, answer.body, headers={"MediaWiki-API-Error": code})


def _is_found(search: Search, file: File) -> bool:
    """Measures come last: for those the file must be drawn."""
    return (
        search.takes_type(_media_type(file), MIMES[file.extension])
        and search.takes_title(title_of(file), _categories(file))
        and (not search.has_measures or search.takes_measures(_measures(file)))
    )


def _measures(file: File) -> dict[str, float]:
    drawn = content(file)
    width, height = drawn.size or (0, 0)
    return {
        "filesize": len(drawn.body) / 1024,
        "filew": width,
        "fileh": height,
        "fileres": isqrt(width * height),
        "filebits": 8,
    }


def _listing(
    pages: list[dict[str, Any]], next_offset: int | None, query: Mapping[str, str]
) -> dict[str, Any]:
    """Without results there is no `query` at all."""
    is_modern = query.get("formatversion") in ("2", "latest")
    listing: dict[str, Any] = {"batchcomplete": True if is_modern else ""}
    if next_offset is not None:
        listing["continue"] = {"gsroffset": next_offset, "continue": "gsroffset||"}
    if pages:
        in_order = sorted(pages, key=lambda page: int(page["pageid"]))
        by_number = {str(page["pageid"]): page for page in in_order}
        listing["query"] = {"pages": in_order if is_modern else by_number}
    return listing


def _page(base: str, file: File, rank: int, query: Mapping[str, str]) -> dict[str, Any]:
    page: dict[str, Any] = {
        "pageid": identity(*file),
        "ns": 6,
        "title": f"File:{title_of(file)}",
        "index": rank,
    }
    if "imageinfo" in query.get("prop", "").split("|"):
        page["imagerepository"] = "local"
        page["imageinfo"] = [_image_info(base, file, query)]
    return page


def _image_info(base: str, file: File, query: Mapping[str, str]) -> dict[str, Any]:
    info: dict[str, Any] = {}
    for part in query.get("iiprop", "timestamp|user").split("|"):
        info |= _part(base, file, part, query)
    return info


def _part(base: str, file: File, part: str, query: Mapping[str, str]) -> dict[str, Any]:
    if part == "url":
        return _urls(base, file) | _thumb_urls(base, file, query)
    if part in ("size", "dimensions"):
        return _sizes(file)
    if part == "user":
        author = author_of(file)
        return {"user": author} if author else {"userhidden": True}
    if part == "extmetadata":
        return {"extmetadata": _metadata(file, query.get("iiextmetadatafilter", ""))}
    if part == "sha1":
        return {"sha1": content(file).sha1}
    simple = {
        "mime": MIMES[file.extension],
        "mediatype": _media_type(file),
        "timestamp": "2020-02-02T20:20:20Z",
    }
    return {part: simple[part]} if part in simple else {}


def _urls(base: str, file: File) -> dict[str, Any]:
    return {
        "url": base + _file_path(file),
        "descriptionurl": f"{base}/wiki/File:{path_of(file)}",
        "descriptionshorturl": f"{base}/w/index.php?curid={identity(*file)}",
    }


def _thumb_urls(base: str, file: File, query: Mapping[str, str]) -> dict[str, Any]:
    """A picture is never made larger: the thumbnail of a small one is itself."""
    asked = number(query, _URL_WIDTH, default=0, largest=WIDTHS[-1])
    size = content(file).size
    if not asked or not size:
        return {}
    width = next(each for each in WIDTHS if each >= asked)
    if width >= size[0]:
        return {"thumburl": base + _file_path(file), "thumbwidth": size[0], "thumbheight": size[1]}
    folder = _file_path(file).replace("/commons/", "/commons/thumb/")
    return {
        "thumburl": f"{base}{folder}/{width}px-{path_of(file)}",
        "thumbwidth": width,
        "thumbheight": width * size[1] // size[0],
    }


def _sizes(file: File) -> dict[str, Any]:
    drawn = content(file)
    width, height = drawn.size or (0, 0)
    sizes: dict[str, Any] = {"size": len(drawn.body), "width": width, "height": height}
    return sizes if drawn.seconds is None else {**sizes, "duration": drawn.seconds}


def _metadata(file: File, wanted: str) -> dict[str, Any]:
    licence, author = licence_of(file), author_of(file)
    address = quote(f"//commons.wikimedia.org/wiki/User:{author.replace(' ', '_')}")
    values = {
        "ObjectName": title_of(file).rpartition(".")[0],
        "Categories": _categories(file),
        "ImageDescription": f"<p>{file.text}, drawn for the sample</p>",
        "Artist": f'<a href="{address}" title="User:{author}">{author}</a>' if author else None,
        "AttributionRequired": "false" if licence.code in ("cc0", "pdm") else "true",
        "Copyrighted": "False" if licence.code == "pdm" else "True",
        "Restrictions": "",
        **_licence_fields(licence),
    }
    names = wanted.split("|") if wanted else values
    return {
        name: {"value": values[name], "source": "commons-desc-page"}
        for name in names
        if values.get(name) is not None
    }


def _licence_fields(licence: Licence) -> dict[str, str]:
    """What is in the public domain often has no address of a licence."""
    if licence.code == "pdm":
        return {"License": "pd", "LicenseShortName": "Public domain", "UsageTerms": "Public domain"}
    short = "CC0" if licence.code == "cc0" else f"CC {licence.code.upper()} {licence.version}"
    code = "cc0" if licence.code == "cc0" else f"cc-{licence.code}-{licence.version}"
    url = licence.url.rstrip("/")
    return {"License": code, "LicenseShortName": short, "UsageTerms": short, "LicenseUrl": url}


def _media_type(file: File) -> str:
    return "AUDIO" if file.kind == "audio" else "BITMAP"


def _categories(file: File) -> str:
    return f"Sample files of {file.text}"


def _file_path(file: File) -> str:
    """Files lie in folders named by a hash of their name."""
    name = title_of(file).replace(" ", "_")
    folder = md5(name.encode(), usedforsecurity=False).hexdigest()[:2]
    return f"/wikipedia/commons/{folder[0]}/{folder}/{path_of(file)}"


def _thumb(file: File, width: int) -> Reply:
    if width not in WIDTHS or file.kind == "audio":
        return html_error(400, f"Thumbnails are {', '.join(map(str, WIDTHS))} pixels wide.")
    return Reply(200, thumbnail(file, width), MIMES[file.extension])

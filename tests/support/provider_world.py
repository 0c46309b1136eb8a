"""Providers on loopback: what each would answer to one search, and what that must become.

The answers have the providers' formats; every value in them is invented.
"""

from __future__ import annotations

import copy
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import orjson

from tests.support.worlds.faults import Request, SocketServer, answer, read_head
from tools.media.offer import Candidate
from tools.network.client import Answer
from tools.providers.archive import InternetArchive
from tools.providers.commons import Commons
from tools.providers.flickr import Flickr
from tools.providers.freesound import Freesound
from tools.providers.giphy import Giphy
from tools.providers.inaturalist import INaturalist
from tools.providers.openverse import Openverse
from tools.providers.pexels import Pexels

KEY = "s3cret-Key"
LICENCES = ("cc0", "pdm", "pd", "by", "by-sa", "pexels")
HOST = "{host}"  # stands for the server's own address

Steps = tuple[str | int, ...]


@dataclass(frozen=True)
class Case:
    """One search: its requests, their answers, and the candidates it ends with."""

    make: Callable[..., Any]
    kind: str
    answers: Mapping[str, Any]  # by path
    asked: Sequence[tuple[str, Mapping[str, str]]]
    found: Sequence[Candidate]
    spoilable: Sequence[tuple[str, Steps]]  # a path, and where in its answer one candidate is
    key: str = ""
    text: str = "guide dog"
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.make.name}-{self.kind}"  # type: ignore[attr-defined]

    def with_answer(self, path: str, found: Any) -> dict[str, Any]:
        return {**self.answers, path: found}


class Api(SocketServer):
    """Answers by path, in bytes or as JSON; other paths do not exist."""

    def __init__(self, answers: Mapping[str, Any], status: int = 200) -> None:
        super().__init__()
        self.answers = answers
        self.status = status
        self.requests: list[Request] = []

    def serve(self, connection: socket.socket) -> None:
        while (request := read_head(connection)) is not None:
            self.requests.append(request)
            found = self.answers.get(request.path)
            status = self.status if request.path in self.answers else 404
            body = found if isinstance(found, bytes) else orjson.dumps(found)
            connection.sendall(answer(status, body, "application/json; charset=utf-8"))

    @property
    def asked(self) -> list[tuple[str, dict[str, str]]]:
        return [(each.path, parameters(each)) for each in self.requests]


def parameters(request: Request) -> dict[str, str]:
    """By name; several of one name are joined, so that none is overlooked."""
    told: dict[str, str] = {}
    for name, value in parse_qsl(urlsplit(request.target).query, keep_blank_values=True):
        told[name] = f"{told[name]}+{value}" if name in told else value
    return told


class Canned:
    """A client without a network, for searches by the thousand."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self._answers = answers

    def get(self, url: str, accept: str, **_: Any) -> Answer:
        found = self._answers[urlsplit(url).path]
        body = found if isinstance(found, bytes) else orjson.dumps(found)
        return Answer(200, {"Content-Type": "text/html"}, body, url)

    def let_rest(self, _host: str, _reason: str, _seconds: float | None = None) -> float:
        return 60.0


def commons_page(index: int, **changes: Any) -> dict[str, Any]:
    """A large jpg that Commons found at this place."""
    file = {
        "url": f"https://upload.wikimedia.org/{index}/Dog.jpg",
        "thumburl": f"https://thumb.wikimedia.org/{index}/960px-Dog.jpg",
        "thumbwidth": 960,
        "descriptionurl": f"https://commons.wikimedia.org/wiki/File:Dog{index}.jpg",
        "size": 5_000_000,
        "width": 4000,
        "height": 3000,
        "mime": "image/jpeg",
        "mediatype": "BITMAP",
        "sha1": "AB" * 20,
        "extmetadata": {
            "License": {"value": "cc-by-sa-4.0"},
            "LicenseShortName": {"value": "CC BY-SA 4.0"},
            "LicenseUrl": {"value": "https://creativecommons.org/licenses/by-sa/4.0"},
            "Artist": {"value": '<a href="//x.org/User:Ann">Ann &amp; Bob</a>'},
            "ObjectName": {"value": f"Dog {index}"},
            "Restrictions": {"value": "personality"},
            "Categories": {"value": "Dogs|Guide dogs"},
        },
    }
    page = {"pageid": index, "ns": 6, "title": f"File:Dog{index}.jpg", "index": index}
    return {**page, "imageinfo": [{**file, **changes}]}


def commons_sound(index: int) -> dict[str, Any]:
    sound = {"mime": "application/ogg", "mediatype": "AUDIO", "size": 50_000, "duration": 1.75}
    return commons_page(index, **sound, thumburl=None)


def commons_gif(index: int) -> dict[str, Any]:
    return commons_page(index, mime="image/gif", width=300, size=90_000, duration=2.5)


def commons_found(index: int, **changes: Any) -> Candidate:
    usual = Candidate(
        f"https://thumb.wikimedia.org/{index}/960px-Dog.jpg",
        f"https://commons.wikimedia.org/wiki/File:Dog{index}.jpg",
        "cc-by-sa-4.0",
        "https://creativecommons.org/licenses/by-sa/4.0",
        "Ann & Bob",
        f"Dog {index}",
        mime="image/jpeg",
        remark="restrictions: personality",
    )
    return usual._replace(**changes)


def commons_original(index: int, **changes: Any) -> Candidate:
    url = f"https://upload.wikimedia.org/{index}/Dog.jpg"
    return commons_found(index, url=url, sha1="ab" * 20, **changes)


def commons_case(
    kind: str, search: str, pages: list[dict[str, Any]], found: list[Candidate]
) -> Case:
    asked = {
        "action": "query",
        "format": "json",
        "formatversion": "2",
        "maxlag": "5",
        "generator": "search",
        "gsrnamespace": "6",
        "gsrlimit": "50",
        "gsrsearch": search,
        "prop": "imageinfo",
        "iiprop": "url|size|mime|mediatype|sha1|extmetadata",
        "iiurlwidth": "960",
        "iiextmetadatalanguage": "en",
        "iiextmetadatafilter": "License|LicenseUrl|LicenseShortName|Artist|ObjectName"
        "|Restrictions|Categories",
    }
    path = "/w/api.php"
    answers = {path: {"batchcomplete": True, "query": {"pages": pages}}}
    return Case(Commons, kind, answers, [(path, asked)], found, [(path, ("query", "pages", 0))])


def openverse_item(number: int, **changes: Any) -> dict[str, Any]:
    item = {
        "id": f"id-{number}",
        "title": f"Dog {number}",
        "foreign_landing_url": f"https://pictures.example/{number}",
        "url": f"https://cdn.example/{number}.jpg",
        "creator": "Cy",
        "license": "by",
        "license_version": "2.0",
        "license_url": "https://creativecommons.org/licenses/by/2.0/",
        "filesize": 1000 + number,
        "filetype": "jpg",
        "mature": False,
    }
    return {**item, **changes}


def openverse_found(number: int, **changes: Any) -> Candidate:
    usual = Candidate(
        f"https://cdn.example/{number}.jpg",
        f"https://pictures.example/{number}",
        "cc-by-2.0",
        "https://creativecommons.org/licenses/by/2.0/",
        "Cy",
        f"Dog {number}",
        1000 + number,
        "image/jpeg",
    )
    return usual._replace(**changes)


def openverse_case(
    kind: str,
    path: str,
    asked: dict[str, str],
    items: list[dict[str, Any]],
    found: list[Candidate],
    key: str = "",
) -> Case:
    usual = {
        "q": "guide dog",
        "license": "cc0,pdm,by,by-sa",
        "page_size": "20",
        "mature": "false",
    }
    answers = {path: {"result_count": 2, "page_count": 1, "page": 1, "results": items}}
    headers = {"authorization": f"Bearer {key}"} if key else {}
    requests, spoilable = [(path, usual | asked)], [(path, ("results", 0))]
    return Case(Openverse, kind, answers, requests, found, spoilable, key, headers=headers)


def observation(number: int) -> dict[str, Any]:
    photos = [
        {
            "id": 1,
            "license_code": None,
            "attribution": "(c) all mine",
            "url": "https://p.example/1",
        },
        {
            "id": 2,
            "license_code": "cc-by",
            "attribution": "(c) Di, some rights reserved (CC BY)",
            "url": f"https://photos.example/{number}/square.jpg?15",
        },
        {"id": 3, "license_code": "cc0", "url": "https://photos.example/more/square.jpg"},
    ]
    sound = {
        "id": 4,
        "license_code": "cc0",
        "attribution": "Di, no rights reserved (CC0)",
        "file_url": f"https://sounds.example/{number}.wav?16",
        "file_content_type": "audio/x-wav",
    }
    return {
        "id": number,
        "uri": f"https://www.inaturalist.org/observations/{number}",
        "license_code": None,
        "user": {"login": "di", "name": "Di Example"},
        "taxon": {"id": 47144, "name": "Canis familiaris", "preferred_common_name": "Domestic Dog"},
        "photos": photos,
        "sounds": [sound],
    }


def inaturalist_case(kind: str, asked: dict[str, str], found: list[Candidate]) -> Case:
    taxa = [
        {"id": 1, "name": "Doggius", "preferred_common_name": "Dogs", "matched_term": "dogs"},
        {
            "id": 47144,
            "name": "Canis familiaris",
            "preferred_common_name": "Domestic Dog",
            "matched_term": "Guide Dog",
        },
    ]
    usual = {
        "taxon_id": "47144",
        "quality_grade": "research",
        "order_by": "votes",
        "per_page": "30",
    }
    answers = {
        "/v1/taxa/autocomplete": {"total_results": 2, "page": 1, "results": taxa},
        "/v1/observations": {"total_results": 2, "results": [observation(5), observation(6)]},
    }
    requests = [
        ("/v1/taxa/autocomplete", {"q": "guide dog", "is_active": "true"}),
        ("/v1/observations", usual | asked),
    ]
    return Case(INaturalist, kind, answers, requests, found, [("/v1/observations", ("results", 0))])


def inaturalist_found(number: int, **changes: Any) -> Candidate:
    usual = Candidate(
        f"https://photos.example/{number}/large.jpg?15",
        f"https://www.inaturalist.org/observations/{number}",
        "cc-by-4.0",
        "https://creativecommons.org/licenses/by/4.0/",
        "Di Example",
        "Domestic Dog",
    )
    return usual._replace(**changes)


def inaturalist_sound(number: int) -> Candidate:
    return inaturalist_found(
        number,
        url=f"https://sounds.example/{number}.wav?16",
        license="cc0-1.0",
        license_url="https://creativecommons.org/publicdomain/zero/1.0/",
        mime="audio/x-wav",
    )


def freesound_case() -> Case:
    def item(number: int) -> dict[str, Any]:
        previews = f"https://cdn.freesound.org/previews/{number}"
        return {
            "id": number,
            "url": f"https://freesound.org/people/ed/sounds/{number}/",
            "name": "bark.wav",
            "username": "ed",
            "license": "http://creativecommons.org/licenses/by/3.0/",
            "gen_ai_preference": "no-gen-ai",
            "duration": 0.75,
            "filesize": 107592,
            "md5": "0a" * 16,
            "previews": {
                "preview-hq-mp3": f"{previews}-hq.mp3",
                "preview-hq-ogg": f"{previews}-hq.ogg",
                "preview-lq-mp3": f"{previews}-lq.mp3",
            },
            "is_explicit": False,
        }

    def found(number: int) -> Candidate:
        return Candidate(
            f"https://cdn.freesound.org/previews/{number}-hq.mp3",
            f"https://freesound.org/people/ed/sounds/{number}/",
            "cc-by-3.0",
            "http://creativecommons.org/licenses/by/3.0/",
            "ed",
            "bark.wav",
            mime="audio/mpeg",
            duration=0.75,
            remark="gen_ai_preference: no-gen-ai",
        )

    path = "/apiv2/search/"
    asked = {
        "query": "guide dog",
        "filter": 'duration:[0.3 TO 30] license:("Creative Commons 0" OR "Attribution")',
        "fields": "id,url,name,username,license,gen_ai_preference,duration,previews,is_explicit",
        "page_size": "30",
    }
    return Case(
        Freesound,
        "audio",
        {path: {"count": 2, "next": None, "previous": None, "results": [item(1), item(2)]}},
        [(path, asked)],
        [found(1), found(2)],
        [(path, ("results", 0))],
        KEY,
        headers={"authorization": f"Token {KEY}"},
    )


def flickr_case() -> Case:
    def photo(number: int) -> dict[str, Any]:
        return {
            "id": f"4951{number}",
            "owner": "719@N03",
            "ownername": "Flo",
            "title": "A dog",
            "license": "4",
            "url_l": f"https://live.staticflickr.com/{number}_b.jpg",
            "url_o": f"https://live.staticflickr.com/{number}_o.jpg",
            "width_l": 1024,
        }

    def found(number: int) -> Candidate:
        return Candidate(
            f"https://live.staticflickr.com/{number}_b.jpg",
            f"https://www.flickr.com/photos/719@N03/4951{number}",
            "cc-by-2.0",
            "https://creativecommons.org/licenses/by/2.0/",
            "Flo",
            "A dog",
        )

    path = "/services/rest/"
    asked = {
        "method": "flickr.photos.search",
        "api_key": KEY,
        "text": "guide dog",
        "license": "4,5,9,10",
        "media": "photos",
        "safe_search": "1",
        "extras": "license,owner_name,url_l,url_o",
        "sort": "relevance",
        "per_page": "30",
        "format": "json",
        "nojsoncallback": "1",
    }
    photos = {"page": 1, "pages": 1, "perpage": 30, "photo": [photo(1), photo(2)]}
    return Case(
        Flickr,
        "image",
        {path: {"photos": photos, "stat": "ok"}},
        [(path, asked)],
        [found(1), found(2)],
        [(path, ("photos", "photo", 0))],
        KEY,
    )


def pexels_case() -> Case:
    def photo(number: int) -> dict[str, Any]:
        file = f"https://images.pexels.com/{number}.jpeg"
        return {
            "id": number,
            "width": 3000,
            "url": f"https://www.pexels.com/photo/{number}/",
            "photographer": "Gil",
            "alt": "a dog on grass",
            "src": {"original": file, "large": f"{file}?auto=compress&h=650&w=940"},
        }

    def found(number: int) -> Candidate:
        return Candidate(
            f"https://images.pexels.com/{number}.jpeg?auto=compress&h=650&w=940",
            f"https://www.pexels.com/photo/{number}/",
            "pexels",
            "https://www.pexels.com/license/",
            "Gil",
            "a dog on grass",
        )

    path = "/v1/search"
    return Case(
        Pexels,
        "image",
        {path: {"page": 1, "per_page": 30, "total_results": 2, "photos": [photo(1), photo(2)]}},
        [(path, {"query": "guide dog", "per_page": "30"})],
        [found(1), found(2)],
        [(path, ("photos", 0))],
        KEY,
        headers={"authorization": KEY},
    )


def giphy_case() -> Case:
    def gif(number: int) -> dict[str, Any]:
        original = {
            "height": "365",
            "size": "163523",
            "url": f"https://m.example/{number}?cid=1&r=g",
        }
        return {
            "type": "gif",
            "id": f"x{number}",
            "url": f"https://giphy.com/gifs/{number}",
            "username": "hal",
            "title": "dog gif",
            "images": {"original": original},
        }

    def found(number: int) -> Candidate:
        return Candidate(
            f"https://m.example/{number}?cid=1&r=g",
            f"https://giphy.com/gifs/{number}",
            "unknown",
            None,
            "hal",
            "dog gif",
            163523,
            "image/gif",
        )

    path = "/v1/gifs/search"
    asked = {"api_key": KEY, "q": "guide dog", "limit": "25", "rating": "g", "lang": "en"}
    return Case(
        Giphy,
        "visual",
        {path: {"data": [gif(1), gif(2)], "pagination": {"count": 2}, "meta": {"status": 200}}},
        [(path, asked)],
        [found(1), found(2)],
        [(path, ("data", 0))],
        KEY,
    )


def archive_item(name: str, *files: dict[str, Any]) -> dict[str, Any]:
    about = {
        "identifier": name,
        "title": f"Item {name}",
        "creator": ["Ida", "Ivo"],
        "licenseurl": "https://creativecommons.org/licenses/by/4.0/",
    }
    return {"d1": "ia1.example", "dir": "/0", "files": list(files), "metadata": about}


def archive_file(name: str, **changes: Any) -> dict[str, Any]:
    file = {"name": name, "source": "original", "format": "VBR MP3", "size": "2692"}
    sums = {"md5": "0B" * 16, "sha1": "0c" * 20}
    return {**file, "length": "00:01:02", **sums, **changes}


def archive_case(kind: str, query: str, names: Sequence[str], duration: float | None) -> Case:
    good, other = names
    length = {} if duration else {"length": None}
    files = [
        archive_file("__ia_thumb.jpg", format="Item Tile"),
        archive_file("notes.txt"),
        archive_file(f"large-{good}", size="999999999"),
    ]
    answers = {
        "/advancedsearch.php": {
            "responseHeader": {"status": 0},
            "response": {
                "numFound": 3,
                "start": 0,
                "docs": [
                    {
                        "identifier": "one",
                        "licenseurl": "http://creativecommons.org/licenses/by/4.0/",
                    },
                    {"identifier": "closed"},
                    {
                        "identifier": "two",
                        "licenseurl": "https://creativecommons.org/licenses/by/4.0/",
                    },
                ],
            },
        },
        "/metadata/one": archive_item("one", archive_file(good, **length), *files),
        "/metadata/two": archive_item("two", archive_file(other, **length), *files),
    }
    search = {
        "q": f"(guide dog) AND {query} AND licenseurl:*creativecommons*",
        "fl[]": "identifier+licenseurl",
        "rows": "20",
        "page": "1",
        "output": "json",
    }

    def found(item: str, file: str) -> Candidate:
        return Candidate(
            f"{HOST}/download/{item}/{file.replace(' ', '%20')}",
            f"{HOST}/details/{item}",
            "cc-by-4.0",
            "https://creativecommons.org/licenses/by/4.0/",
            "Ida",
            f"Item {item}",
            2692,
            duration=duration,
            sha1="0c" * 20,
            md5="0b" * 16,
        )

    asked = [("/advancedsearch.php", search), ("/metadata/one", {}), ("/metadata/two", {})]
    spoilable: list[tuple[str, Steps]] = [
        ("/advancedsearch.php", ("response", "docs", 0)),
        ("/metadata/one", ("files", 0)),
        ("/metadata/one", ("metadata",)),
    ]
    both = [found("one", good), found("two", other)]
    return Case(InternetArchive, kind, answers, asked, both, spoilable)


CASES = [
    commons_case(
        "image",
        "guide dog filetype:bitmap -filemime:image/gif fileres:>300",
        [commons_page(2), commons_page(1)],
        [commons_found(1), commons_found(2)],
    ),
    commons_case(
        "audio",
        "guide dog filetype:audio filesize:<3072 -intitle:LL-Q",
        [commons_sound(1), commons_sound(2)],
        [
            commons_original(number, bytes=50_000, mime="application/ogg", duration=1.75)
            for number in (1, 2)
        ],
    ),
    commons_case(
        "visual",
        "guide dog filemime:image/gif",
        [commons_gif(1), commons_gif(2)],
        [commons_original(n, bytes=90_000, mime="image/gif", duration=2.5) for n in (1, 2)],
    ),
    openverse_case(
        "image",
        "/v1/images/",
        {"extension": "jpg,png,webp"},
        [openverse_item(1), openverse_item(2)],
        [openverse_found(1), openverse_found(2)],
    ),
    openverse_case(
        "visual",
        "/v1/images/",
        {"extension": "gif"},
        [openverse_item(1, filetype="gif"), openverse_item(2, filetype=None, filesize=None)],
        [openverse_found(1, mime="image/gif"), openverse_found(2, mime=None, bytes=None)],
    ),
    openverse_case(
        "audio",
        "/v1/audio/",
        {"extension": "mp3,ogg,wav,flac", "category": "sound_effect"},
        [openverse_item(1, filetype="mp3", duration=2500), openverse_item(2, filetype="wav")],
        [
            openverse_found(1, mime="audio/mpeg", duration=2.5),
            openverse_found(2, mime="audio/wav"),
        ],
        KEY,
    ),
    inaturalist_case(
        "image",
        {"photo_license": "cc0,cc-by,cc-by-sa", "photos": "true"},
        [inaturalist_found(5), inaturalist_found(6)],
    ),
    inaturalist_case(
        "audio",
        {"sound_license": "cc0,cc-by,cc-by-sa", "sounds": "true"},
        [inaturalist_sound(5), inaturalist_sound(6)],
    ),
    freesound_case(),
    flickr_case(),
    pexels_case(),
    giphy_case(),
    archive_case("audio", "mediatype:audio", ("a bark.mp3", "sub/bark.ogg"), 62.0),
    archive_case("image", "mediatype:image", ("dog.JPG", "dog.png"), None),
    archive_case(
        "visual",
        'mediatype:image AND (format:"Animated GIF" OR format:GIF)',
        ("dog.gif", "two.gif"),
        None,
    ),
]

SPOILED: Sequence[Any] = (
    None,
    7,
    -1.5,
    True,
    [],
    {},
    [None],
    {"value": []},
    "",
    "x" * 3000,
    "\x00\u202e<script>",
    "javascript:alert(1)",
    "http://[::1",
    "<![x" * 50,
)
REMOVED = object()


def places(found: Any, begin: Steps = ()) -> list[Steps]:
    """Every place below one: branches and leaves."""
    branch = found
    for step in begin:
        branch = branch[step]
    inner: list[Steps] = []
    if isinstance(branch, dict):
        inner = [(*begin, key) for key in branch]
    elif isinstance(branch, list):
        inner = [(*begin, number) for number in range(len(branch))]
    return [begin, *(place for each in inner for place in places(found, each))]


def spoiled(found: Any, place: Steps, value: Any) -> Any:
    """The same answer with another value there, or none."""
    if not place:
        return {} if value is REMOVED else value
    changed = copy.deepcopy(found)
    branch = changed
    for step in place[:-1]:
        branch = branch[step]
    if value is REMOVED:
        del branch[place[-1]]
    else:
        branch[place[-1]] = value
    return changed

"""iNaturalist: pictures and calls of living things. Only a concept that names one is searched."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ..media import licence
from ..media.offer import Candidate, Provider
from ..network.client import Client
from ..network.limits import Limit
from .parse import allowed, ask, candidate, inner, objects, rows, text, whole_number
from .query import address, words

NAME = "inaturalist"
BASE = "https://api.inaturalist.org"
LIMITS: Mapping[str, Limit] = {
    "api.inaturalist.org": Limit(("60/minute", "10000/day")),
    # More than 5 GB of media an hour are not welcome.
    "inaturalist-open-data.s3.amazonaws.com": Limit(bytes_per_s=900_000),
    "static.inaturalist.org": Limit(bytes_per_s=450_000),
}
LICENCES = ("cc0", "by", "by-sa", "by-nd", "by-nc", "by-nc-sa", "by-nc-nd")
CC_VERSION = "4.0"  # of all its licences but cc0
PAGE_SIZE = 30
TERMS = ("matched_term", "preferred_common_name", "name")
FILTERS = {"image": "photo_license", "audio": "sound_license"}
MOST_RECENT = 32  # texts; as many as there may be workers

Taxon = tuple[str, int | None]


class INaturalist(Provider):
    name = NAME
    kinds = frozenset(FILTERS)
    is_for_relations = False

    def __init__(
        self, client: Client, licences: Collection[str], base: str = BASE, key: str = ""
    ) -> None:
        self._client = client
        self._licences = licences
        self._base = f"{base.rstrip('/')}/v1"
        self._recent: tuple[Taxon, ...] = ()  # replaced as a whole, so threads need no lock

    def search(self, text: str, kind: str) -> list[Candidate]:
        query = words(text)
        wanted = [_code_here(each) for each in LICENCES if each in self._licences]
        if not query or not wanted or kind not in FILTERS:
            return []
        taxon = self._taxon(query)
        return self._observed(taxon, kind, ",".join(wanted)) if taxon else []

    def _taxon(self, query: str) -> int | None:
        """A concept's sounds are searched right after its pictures: the answer is still known."""
        for known, taxon in self._recent:
            if known == query:
                return taxon
        url = address(f"{self._base}/taxa/autocomplete", {"q": query, "is_active": "true"})
        taxon = _named(query, rows(ask(self._client, url), "results", url))
        self._recent = ((query, taxon), *self._recent[: MOST_RECENT - 1])
        return taxon

    def _observed(self, taxon: int, kind: str, wanted: str) -> list[Candidate]:
        parameters = {
            "taxon_id": taxon,
            FILTERS[kind]: wanted,
            "photos" if kind == "image" else "sounds": "true",
            "quality_grade": "research",
            "order_by": "votes",
            "per_page": PAGE_SIZE,
        }
        url = address(f"{self._base}/observations", parameters)
        of_kind = _photos if kind == "image" else _sounds
        found: list[Candidate] = []
        for observation in rows(ask(self._client, url), "results", url):
            found += allowed(of_kind(observation), self._licences)[:1]  # the next are much the same
        return found


def _code_here(short_name: str) -> str:
    return short_name if short_name == "cc0" else f"cc-{short_name}"


def _named(query: str, taxa: list[dict[str, Any]]) -> int | None:
    """The first taxon that has exactly this name: `drum` is no fish, though some begin so."""
    for taxon in taxa:
        names = (text(taxon.get(key)) for key in TERMS)
        is_it = query.casefold() in (words(name).casefold() for name in names if name)
        if is_it and (number := whole_number(taxon.get("id"))):
            return number
    return None


def _photos(observation: Mapping[str, Any]) -> Iterator[Candidate | None]:
    for photo in objects(observation.get("photos")):
        square = photo.get("url")
        large = square.replace("/square.", "/large.") if isinstance(square, str) else None
        yield _candidate(observation, photo, large, None)


def _sounds(observation: Mapping[str, Any]) -> Iterator[Candidate | None]:
    for sound in objects(observation.get("sounds")):
        yield _candidate(observation, sound, sound.get("file_url"), sound.get("file_content_type"))


def _candidate(
    observation: Mapping[str, Any], file: Mapping[str, Any], url: object, mime: object
) -> Candidate | None:
    user = observation.get("user")
    names = (inner(user, "name"), inner(user, "login"), file.get("attribution"))
    return candidate(
        url=url,
        page=observation.get("uri"),
        code=_code(file.get("license_code")),
        author=next(filter(None, map(text, names)), None),
        title=inner(observation, "taxon", "preferred_common_name")
        or inner(observation, "taxon", "name"),
        mime=mime,
    )


def _code(license_code: object) -> str | None:
    """Without a licence all rights are reserved."""
    if not isinstance(license_code, str):
        return None
    return licence.read(f"{license_code}-{CC_VERSION}") or licence.read(license_code)

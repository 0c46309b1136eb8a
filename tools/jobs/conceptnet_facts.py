"""What a harvest of ConceptNet has written down about itself, for people and for programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import orjson

from ..add import KINDS

MEDIA = re.compile(r"(\d+) images, (\d+) sounds and (\d+) gifs for (\w+)")
WITH_RELATIONS = ("both", "relations")


def media(text: str) -> dict[str, object]:
    """
    >>> media("1 images, 5 sounds and 0 gifs for both")
    {'images': 1, 'sounds': 5, 'gifs': 0, 'for': 'both'}
    """
    if (found := MEDIA.fullmatch(text)) is None:
        raise ValueError(text)
    numbers: dict[str, object] = {
        f"{kind}s": int(number)
        for kind, number in zip(KINDS.values(), found.groups(), strict=False)
    }
    return {**numbers, "for": found[4]}


TYPES: Mapping[str, Callable[[str], object]] = {
    "depth": orjson.loads,
    "senses": orjson.loads,
    "min_weight": float,
    "languages": str.split,
    "relations": str.split,
    "media": media,
}


def media_for_people(text: str) -> str:
    """
    >>> media_for_people("1 images, 5 sounds and 0 gifs for both")
    '1 image, 5 sounds, 0 gifs for both'
    >>> media_for_people("0 images, 0 sounds and 0 gifs for nothing")
    'none'
    """
    found = MEDIA.fullmatch(text)
    if found is None or found[4] == "nothing":
        return text if found is None else "none"
    pairs = zip(found.groups(), KINDS.values(), strict=False)
    each = ", ".join(f"{number} {kind}{'' if number == '1' else 's'}" for number, kind in pairs)
    return f"{each} for {found[4]}"


def noun(facts: Mapping[str, str]) -> str:
    """What the URIs in the pools are: relations are among them if they get media.

    >>> noun({"media": "1 images, 1 sounds and 1 gifs for both"}), noun({})
    ('concepts and relations', 'concepts')
    """
    found = MEDIA.fullmatch(facts.get("media", ""))
    return "concepts and relations" if found and found[4] in WITH_RELATIONS else "concepts"

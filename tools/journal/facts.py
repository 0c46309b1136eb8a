"""What a harvest has written down about itself: texts in its state, here what they stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import orjson

PAUSED = "paused"  # by which process, and since when; empty: by none
LEASE_RUN = "lease_run"  # counts the processes that handed anything out; no matter for people
MEDIA = re.compile(r"(\d+) images, (\d+) sounds and (\d+) gifs for (\w+)")
HIDDEN = (PAUSED, LEASE_RUN)
KINDS = ("image", "sound", "gif")
WITH_RELATIONS = ("both", "relations")


def pause_of(pid: int, since: float) -> dict[str, str]:
    return {PAUSED: f"{pid} {since}"}


def paused_since(facts: Mapping[str, str], pid: int | None) -> float | None:
    """Since when this process makes a pause. What another one left behind counts for nothing.

    >>> facts = pause_of(7, 1e9)
    >>> paused_since(facts, 7), paused_since(facts, 8), paused_since(facts, None)
    (1000000000.0, None, None)
    """
    holder, _, since = facts.get(PAUSED, "").partition(" ")
    try:
        return float(since) if pid is not None and holder == str(pid) else None
    except ValueError:
        return None


def typed(facts: Mapping[str, str]) -> dict[str, object]:
    """For programs: numbers, lists and nothing as such. What cannot be read stays a text.

    >>> typed({"depth": "null", "min_weight": "1.0", "limit": "", "relations": "IsA PartOf"})
    {'depth': None, 'min_weight': 1.0, 'limit': None, 'relations': ['IsA', 'PartOf']}
    """
    return {key: _typed(key, text) for key, text in facts.items() if key not in HIDDEN}


def _typed(key: str, text: str) -> object:
    try:
        return TYPES.get(key, str)(text)
    except ValueError:
        return text


def media(text: str) -> dict[str, object]:
    """
    >>> media("1 images, 5 sounds and 0 gifs for both")
    {'images': 1, 'sounds': 5, 'gifs': 0, 'for': 'both'}
    """
    if (found := MEDIA.fullmatch(text)) is None:
        raise ValueError(text)
    numbers: dict[str, object] = {
        f"{kind}s": int(number) for kind, number in zip(KINDS, found.groups(), strict=False)
    }
    return {**numbers, "for": found[4]}


TYPES: Mapping[str, Callable[[str], object]] = {
    "depth": orjson.loads,
    "senses": orjson.loads,
    "min_weight": float,
    "limit": lambda text: int(text) if text else None,
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
    pairs = zip(found.groups(), KINDS, strict=False)
    each = ", ".join(f"{number} {kind}{'' if number == '1' else 's'}" for number, kind in pairs)
    return f"{each} for {found[4]}"


def noun(facts: Mapping[str, str]) -> str:
    """What the URIs in the pools are: relations are among them if they get media.

    >>> noun({"media": "1 images, 1 sounds and 1 gifs for both"}), noun({})
    ('concepts and relations', 'concepts')
    """
    found = MEDIA.fullmatch(facts.get("media", ""))
    return "concepts and relations" if found and found[4] in WITH_RELATIONS else "concepts"

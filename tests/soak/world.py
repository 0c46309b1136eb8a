"""The world of a soak: the built-in sample many times over, or a part of it.

Promise: the same scale gives the same lines, and everything the filter keeps can be reached from
the sample's seed. The first district is the sample itself; in the others every concept has the name
of its district behind its own (`dog` is `dog_be` in one of them), and bridges lead there. A scale
below 1 is the nearest part of the sample.

>>> district_name(1), district_name(7), district_name(101)
('ba', 'ce', 'baba')
>>> renamed("/c/en/dog/n", "ba"), renamed("http://dbpedia.org/Dog", "ba")
('/c/en/dog_ba/n', 'http://dbpedia.org/Dog')
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator

import orjson

from tests.support.command import DEFAULT_FILTER
from tests.support.worlds.conceptnet import line
from tools import uri
from tools.sample import world as sample

SEED = sample.SEED
VOWELS = "aeiou"
CONSONANTS = "bcdfghjklmnprstvwxyz"
ALIKE = ("/c/en/pet", "/c/en/animal", "/c/en/plant")  # of each district, of the first one's kind


def lines(scale: float) -> list[str]:
    """The lines of a dump."""
    first = list(sample.lines())
    if scale < 1:
        return _part(first, max(2, round(scale * len(_neighbours(first)))))
    names = [district_name(number) for number in range(1, round(scale))]
    return first + [each for name in names for each in _district(first, name)]


def district_name(number: int) -> str:
    """Without digits, so that a search for it finds nothing else."""
    number, place = divmod(number - 1, len(VOWELS) * len(CONSONANTS))
    syllable = CONSONANTS[place // len(VOWELS)] + VOWELS[place % len(VOWELS)]
    return district_name(number) + syllable if number else syllable


def renamed(node: str, district: str) -> str:
    if not node.startswith("/c/"):
        return node
    _, c, language, term, *sense = node.split("/")
    return "/".join(("", c, language, f"{term}_{district}", *sense))


def _district(first: Iterable[str], name: str) -> Iterator[str]:
    for each in first:
        _, rel, start, end, info = each.split("\t", 4)
        ends = renamed(start, name), renamed(end, name)
        yield "\t".join((uri.assertion(rel, *ends), rel, *ends, info))
    for concept in ALIKE:
        yield line("/r/IsA", renamed(concept, name), concept).rstrip("\n")


def _part(all_lines: list[str], count: int) -> list[str]:
    """So many concepts, the nearest to the seed, and what is between them."""
    neighbours = _neighbours(all_lines)
    chosen, waiting = {SEED}, deque([SEED])
    while waiting and len(chosen) < count:
        new = [each for each in dict.fromkeys(neighbours[waiting.popleft()]) if each not in chosen]
        new = new[: count - len(chosen)]
        chosen.update(new)
        waiting.extend(new)
    return [each for each in all_lines if set(each.split("\t", 4)[2:4]) <= chosen]


def _neighbours(all_lines: Iterable[str]) -> dict[str, list[str]]:
    """What each concept is tied to by relations the filter keeps."""
    found: dict[str, list[str]] = defaultdict(list)
    for each in all_lines:
        _, rel, start, end, info = each.split("\t", 4)
        if DEFAULT_FILTER.keeps(rel[3:], start, end, orjson.loads(info)["weight"]):
            found[start].append(end)
            found[end].append(start)
    return found

"""Contact sheets: pages of concepts with their media, to look at with a browser.

Promise: a page is one file that needs nothing else, runs nothing and asks nobody; it appears when
it is whole. What is recorded but cannot be shown has its place and its credit on the page.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ..add import Entity, unseen
from ..base.text import amount
from ..errors import UsageError
from ..graphs.copy import batches
from ..graphs.reader import Reader
from ..media.graph_credits import BATCH, require_known
from .album import Album, Stills
from .concept import Concept, credits_of, whole
from .document import document, write
from .places import InFile

INDEX = "index.html"
SEEDS = 8  # that have a place before the others
NEAR = 5_000  # relations of a seed that are gone along, each way
LONGEST_NAME = 80
_ODD = re.compile(r"[^a-z0-9_-]")

Shelves = Mapping[str, Sequence[str]]
"""Concepts by what they have in common."""


class Card(NamedTuple):
    """A concept as the index shows it."""

    entity: Entity
    page: str
    cover: str | None
    counts: Mapping[str, int]


def sheet(reader: Reader, media: Path, concept: str, folder: Path) -> Path:
    """Write the page of one concept."""
    require_known([concept], _number_in(reader))
    return _Folder(reader, media, folder, [concept]).write(concept)[1]


def index(
    reader: Reader,
    media: Path,
    shelves: Shelves,
    folder: Path,
    tick: Callable[[int], object] = unseen,
) -> Path:
    """Write the page of each concept, and one that shows and links them all."""
    concepts = list(dict.fromkeys(chain.from_iterable(shelves.values())))
    require_known(concepts, _number_in(reader))
    pages = _Folder(reader, media, folder, concepts, INDEX)
    covers, cards = pages.places(), dict[str, Card]()
    relations: set[str] = set()  # most are met again at their other end
    for concept in concepts:
        found, page = pages.write(concept)
        cards[concept] = Card(found.entity, page.name, covers.cover(found.pictures), found.counts)
        relations.update(each.uri for each in found.relations)
        tick(1)
    kinds = sum((Counter(card.counts) for card in cards.values()), Counter[str]())
    values = {
        "totals": {**kinds, "relation": len(relations)},
        "shelves": {title: [cards[each] for each in some] for title, some in shelves.items()},
    }
    return write(folder / INDEX, document("cards.html", amount(len(cards), "concept"), **values))


class _Folder:
    """Pages beside each other, that are there or are about to be."""

    def __init__(
        self, reader: Reader, media: Path, folder: Path, concepts: Sequence[str], *others: str
    ) -> None:
        self._reader, self._media, self._folder = reader, media, folder
        self._pages = {path.name for path in folder.glob("*.html")} | {*others}
        self._pages |= set(map(page_name, concepts))
        self._stills = Stills()

    def write(self, concept: str) -> tuple[Concept, Path]:
        found = whole(self._reader, concept)
        if found is None:
            raise UsageError(f"{concept} is not in the graph any more")
        home = INDEX if INDEX in self._pages else None
        values = {"concept": found, "credits": credits_of(concept, found.media)}
        page = document("concept.html", found.entity.name, at=self.places(), home=home, **values)
        return found, write(self._folder / page_name(concept), page)

    def places(self) -> InFile:
        """For one more page."""
        return InFile(Album(self._media, stills=self._stills), self._page_of)

    def _page_of(self, concept: str) -> str | None:
        name = page_name(concept)
        return name if name in self._pages else None


def around(reader: Reader, seeds: Sequence[str], count: int) -> Shelves:
    """The seeds that have media, then their neighbours that have, the heaviest relation first, as
    their pages lead to each other. A third of `count` is left for others."""
    first = [seed for seed in seeds[:SEEDS] if reader.media_of([seed]).get(seed)]
    room = max(0, count - count // 3 - len(first))
    others = dict.fromkeys(end for seed in first for end in _next_to(reader, seed))
    near: list[str] = []
    for batch in batches((each for each in others if each not in first), BATCH):
        shown = reader.media_of(batch)
        near += [each for each in batch if shown.get(each)]
        if len(near) >= room:
            break
    return {"Seeds": first, "Next to them": near[:room]}


def _next_to(reader: Reader, concept: str) -> Iterator[str]:
    links = reader.links([concept], NEAR)
    yield from (each.there for each in sorted(links, key=lambda each: -each.weight))


def _number_in(reader: Reader) -> Callable[[Sequence[str]], int]:
    return lambda concepts: len(reader.entities_at(concepts))


def page_name(concept: str) -> str:
    """No two concepts share one, wherever upper and lower case are the same, too.

    >>> page_name("/c/en/guide_dog"), page_name("/c/en/dog/n")
    ('en.guide_dog.html', 'en.dog.n.html')
    >>> page_name("/c/de/löffel")
    'de.l_ffel~1a6557ba6a.html'
    """
    pieces = concept.removeprefix("/c/").split("/")
    plain = ".".join(_ODD.sub("_", piece.lower()) for piece in pieces)
    if "/".join(pieces) == plain.replace(".", "/") and len(plain) <= LONGEST_NAME:
        return f"{plain}.html"
    mark = hashlib.sha256(concept.encode()).hexdigest()[:10]
    return f"{plain[:LONGEST_NAME]}~{mark}.html"

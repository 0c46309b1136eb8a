"""Contact sheets: pages of concepts with their media, to look at with a browser.

Promise: a page is one file that needs nothing else, runs nothing and asks nobody; it appears when
it is whole. What is recorded but cannot be shown has its place and its credit on the page.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..add import Entity, unseen
from ..base.text import amount
from ..errors import UsageError
from ..graphs.copy import batches
from ..graphs.reader import Reader
from ..media.graph_credits import BATCH, require_known
from .album import Album, Stills
from .concept import Concept, pictures_in, whole
from .credits import credits_of
from .document import document, write
from .places import InFile
from .wording import IN_TEMPLATES

INDEX = "index.html"
SEEDS = 8  # that have a place before the others
NEAR = 5_000  # relations of a seed that are gone along, each way
LONGEST_NAME = 80
_ODD = re.compile(r"[^a-z0-9_-]")


class Card(NamedTuple):
    """A concept as the index shows it."""

    entity: Entity
    page: str
    cover: str | None
    counts: Mapping[str, int]
    is_seed: bool


def sheet(reader: Reader, media: Path, concept: str, folder: Path) -> Path:
    """Write the page of one concept."""
    require_known([concept], _number_in(reader))
    return _Folder(reader, media, folder, [concept]).write(concept)[1]


def index(
    reader: Reader,
    media: Path,
    concepts: Sequence[str],
    folder: Path,
    tick: Callable[[int], object] = unseen,
    seeds: Collection[str] = (),
) -> Path:
    """Write the page of each concept, and one that shows and links them all."""
    require_known(concepts, _number_in(reader))
    pages = _Folder(reader, media, folder, concepts, INDEX)
    covers, cards = pages.places(), list[Card]()
    totals: Counter[str] = Counter()
    relations: set[str] = set()  # most are met again at their other end
    for concept in dict.fromkeys(concepts):
        found, page = pages.write(concept)
        cover = covers.cover(pictures_in(found.media))
        cards.append(Card(found.entity, page.name, cover, found.counts, concept in seeds))
        totals.update(found.counts)
        relations.update(each.uri for each in found.relations)
        tick(1)
    values = {"cards": cards, "totals": totals | {"relation": len(relations)}} | IN_TEMPLATES
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
        page = document(
            "concept.html",
            found.entity.name,
            concept=found,
            credits=credits_of(found.files),
            at=self.places(),
            home=home,
            **IN_TEMPLATES,
        )
        return found, write(self._folder / page_name(concept), page)

    def places(self) -> InFile:
        """For one more page."""
        return InFile(Album(self._media, stills=self._stills), self._page_of)

    def _page_of(self, concept: str) -> str | None:
        name = page_name(concept)
        return name if name in self._pages else None


def around(reader: Reader, seeds: Sequence[str], count: int) -> list[str]:
    """The seeds that have media, then their neighbours that have, the heaviest relation first, as
    their pages lead to each other. A third of `count` is left for others."""
    found = [seed for seed in seeds[:SEEDS] if reader.media_of([seed]).get(seed)]
    enough = max(len(found), count - count // 3)
    others = dict.fromkeys(end for seed in found for end in _next_to(reader, seed))
    for batch in batches((each for each in others if each not in found), BATCH):
        shown = reader.media_of(batch)
        found += [each for each in batch if shown.get(each)]
        if len(found) >= enough:
            break
    return found[:enough]


def _next_to(reader: Reader, concept: str) -> Iterator[str]:
    links = reader.links([concept], NEAR)
    yield from (
        each.there for each in sorted(links, key=lambda each: (-each.weight, each.relation))
    )


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

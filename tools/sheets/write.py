"""Contact sheets: pages of concepts with their media, to look at with a browser.

Promise: a page is one file that needs nothing else, runs nothing and asks nobody; it appears when
it is whole. What is recorded but cannot be shown has its place and its credit on the page.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from ..add import Graph, Media, unseen
from ..graphs.copy import batches
from ..media.graph_credits import BATCH, require_known
from .album import Album
from .document import write
from .page import Address, View, card, concept_page, index_page

INDEX = "index.html"
SEEDS = 8  # that have a place before the others
LONGEST_NAME = 80
_ODD = re.compile(r"[^a-z0-9_-]")


def sheet(graph: Graph, media: Path, concept: str, folder: Path) -> Path:
    """Write the page of one concept."""
    require_known(graph, [concept])
    index = INDEX if (folder / INDEX).exists() else None
    return _write_sheet(view_of(graph, concept), media, folder, _addresses(folder, ()), index)


def index(
    graph: Graph,
    media: Path,
    concepts: Sequence[str],
    folder: Path,
    tick: Callable[[int], object] = unseen,
) -> Path:
    """Write the page of each concept, and one that shows and links them all."""
    require_known(graph, concepts)
    address = _addresses(folder, concepts)
    cards, totals, album = [], Counter[str](), Album(media)
    relations: set[str] = set()  # most are met again at their other end
    for concept in dict.fromkeys(concepts):
        view = view_of(graph, concept)
        page = _write_sheet(view, media, folder, address, INDEX)
        cards.append(card(view, album, page.name))
        totals.update(view.counts)
        relations.update(each.uri for each in view.relations)
        tick(1)
    return write(folder / INDEX, index_page(cards, totals | {"relation": len(relations)}))


def around(graph: Graph, seeds: Sequence[str], count: int) -> list[str]:
    """The seeds that have media, then their neighbours that have, the heaviest relation first, as
    their pages lead to each other. A third of `count` is left for others."""
    found = [seed for seed in seeds[:SEEDS] if graph.media_of([seed])]
    enough = max(len(found), count - count // 3)
    ends = ((each.start, each.end) for seed in found for each in graph.neighbours(seed))
    others = dict.fromkeys(end for both in ends for end in both if end not in found)
    for batch in batches(others, BATCH):
        shown = graph.media_of(batch)
        found += [each for each in batch if shown.get(each)]
        if len(found) >= enough:
            break
    return found[:enough]


def view_of(graph: Graph, concept: str) -> View:
    relations = graph.neighbours(concept)
    shown: dict[str, list[Media]] = {}
    for batch in batches((each.uri for each in relations), BATCH):
        shown |= graph.media_of(batch)
    return View(concept, graph.media_of([concept]).get(concept, []), relations, shown)


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


def _addresses(folder: Path, concepts: Collection[str]) -> Address:
    """Pages that are there, or are about to be."""
    pages = {path.name for path in folder.glob("*.html")} | set(map(page_name, concepts))

    def address(concept: str) -> str | None:
        name = page_name(concept)
        return name if name in pages else None

    return address


def _write_sheet(view: View, media: Path, folder: Path, to: Address, index: str | None) -> Path:
    page = concept_page(view, Album(media), to, index)
    return write(folder / page_name(view.concept), page)

"""What the pages of a contact sheet look like: records in, HTML out.

Nothing here reads the graph or writes a file; pictures and sounds come from an Album.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from .. import uri
from ..add import Media, Relation
from ..media.credits import licence_name
from .album import Album, NotShown
from .document import chips, counted, document, text_of
from .markup import Html, element, joined, outward

LARGE, SMALL = 1280, 320  # sides of pictures in pixels: of the concept, of its relations
SHOWN = 18  # relations of one type that are seen at once, with files or without
LISTED = 300  # of the others, those that are on the page at all
SECTIONS = {"image": "Pictures", "visual": "Moving pictures", "audio": "Sounds"}
WORDS = {"image": "picture", "visual": "gif", "audio": "sound", "relation": "relation"}

Address = Callable[[str], str | None]
"""The file of a concept's page, if it has one."""


class View(NamedTuple):
    """A concept and everything its page says of it."""

    concept: str
    media: Sequence[Media]
    relations: Sequence[Relation]  # the heaviest first
    shown: dict[str, list[Media]]  # of the relations

    @property
    def counts(self) -> dict[str, int]:
        kinds = {kind: sum(each.kind == kind for each in self.media) for kind in SECTIONS}
        return kinds | {"relation": len(self.relations)}


# --- the page of a concept ---------------------------------------------------------------------


def concept_page(view: View, album: Album, address: Address, index: str | None) -> Iterator[str]:
    return document(uri.label(view.concept), _concept_body(view, album, address, index))


def _concept_body(view: View, album: Album, address: Address, index: str | None) -> Iterator[Html]:
    way = element("nav", element("a", "All concepts", href=index)) if index else Html()
    name = element("h1", text_of(uri.label(view.concept)), _sense(view.concept))
    place = element("p", text_of(view.concept), class_="uri")
    yield element("header", way, name, place, _chips(view.counts))
    for kind, title in SECTIONS.items():
        files = [each for each in view.media if each.kind == kind]
        if files:
            figures = joined(_figure(each, album, LARGE) for each in files)
            grid = element("div", figures, class_=f"media {kind}")
            yield element("section", element("h2", title), grid)
    yield from _groups(view, album, address)
    yield element("footer", *_sources(view.relations))


def _groups(view: View, album: Album, address: Address) -> Iterator[Html]:
    """The type of the heaviest relation first."""
    types = list(dict.fromkeys(each.type for each in view.relations))
    ordered = sorted(view.relations, key=lambda each: types.index(each.type))
    for type_, group in groupby(ordered, key=lambda each: each.type):
        relations = list(group)
        number = element("span", f"{len(relations):,}", class_="number")
        seen, rest = _parted(relations, view)
        rows = (_relation(each, view, album, address) for each in seen)
        more = [_relation(each, view, album, address) for each in rest[:LISTED]]
        yield element(
            "section",
            element("h2", text_of(in_words(type_)), " ", number),
            element("ul", *rows, class_="relations"),
            _folded(more, len(rest) - len(more)),
        )


def _parted(relations: Sequence[Relation], view: View) -> tuple[list[Relation], list[Relation]]:
    """What is seen at once, with every relation that has files; and the rest."""
    seen = [each for at, each in enumerate(relations) if at < SHOWN or each.uri in view.shown]
    rest = [each for each in relations[SHOWN:] if each.uri not in view.shown]
    return seen, rest


def _folded(rows: Sequence[Html], left_out: int) -> Html:
    if not rows:
        return Html()
    title = element("summary", f"{len(rows):,} more")
    note = element("p", f"{left_out:,} lighter ones are left out.") if left_out else Html()
    return element("details", title, element("ul", *rows, class_="relations"), note)


def _relation(relation: Relation, view: View, album: Album, address: Address) -> Html:
    ends = [_end(each, view.concept, address) for each in (relation.start, relation.end)]
    type_ = element("span", text_of(in_words(relation.type)), class_="type")
    weight = element("span", f"{relation.weight:.3g}", class_="weight", title="weight")
    line = element("p", ends[0], " ", type_, " ", ends[1], weight, class_="triple")
    kinds = list(SECTIONS)
    files = sorted(view.shown.get(relation.uri, ()), key=lambda each: kinds.index(each.kind))
    figures = [_figure(each, album, SMALL) for each in files]
    strip = element("div", *figures, class_="media small") if figures else Html()
    wide = "wide" if figures else None
    return element("li", line, _surface(relation.surface_text), strip, class_=wide)


def _end(concept: str, here: str, address: Address) -> Html:
    name, page = text_of(uri.label(concept)), address(concept)
    if concept == here:
        return element("strong", name)
    tip = text_of(concept)
    text = element("a", name, href=page, title=tip) if page else element("span", name, title=tip)
    return joined([text, _sense(concept)])


def _sense(concept: str) -> Html:
    sense, language = uri.sense(concept), uri.language(concept)
    words = [] if language in ("en", None) else [str(language)]
    words += sense.split("/") if sense else []
    return element("small", f" {text_of(', '.join(words))}", class_="sense") if words else Html()


def _surface(text: str | None) -> Html:
    """The words of a sentence that stand for the ends are in double brackets."""
    if not text:
        return Html()
    pieces = re.split(r"\[\[(.*?)\]\]", text_of(text))
    marked = (element("mark", piece) if at % 2 else piece for at, piece in enumerate(pieces))
    return element("p", *marked, class_="surface")


def _sources(relations: Sequence[Relation]) -> Iterator[Html]:
    sources = {(each.dataset, each.license) for each in relations if each.dataset or each.license}
    for dataset, licence in sorted(sources, key=str)[:SHOWN]:
        words = " under ".join(filter(None, (dataset, licence)))
        yield element("p", f"Relations of {text_of(words)}")


# --- one file ----------------------------------------------------------------------------------


def _figure(media: Media, album: Album, side: int) -> Html:
    return element("figure", _shown(media, album, side), _caption(media), class_=media.kind)


def _shown(media: Media, album: Album, side: int) -> Html:
    name = text_of(media.title or WORDS.get(media.kind, "file"))
    try:
        data = album.data(media, side)
    except NotShown as error:
        return element("p", str(error), class_="absent")
    if media.kind == "audio":
        return element("audio", src=data, controls="", preload="metadata", aria_label=name)
    return element("img", src=data, alt=name, decoding="async")


def _caption(media: Media) -> Html:
    title = outward(media.page, text_of(media.title or "untitled"))
    licence = outward(media.license_url, text_of(licence_name(media.license)))
    author = element("span", "by ", text_of(media.author)) if media.author else Html()
    origin = joined([licence, text_of(media.provider)] if media.provider else [licence], " · ")
    remark = element("span", text_of(media.remark), class_="remark") if media.remark else Html()
    return element("figcaption", element("b", title), author, element("span", origin), remark)


# --- the index ---------------------------------------------------------------------------------


def index_page(cards: Sequence[Html], totals: dict[str, int]) -> Iterator[str]:
    concepts = f"{len(cards):,} {'concept' if len(cards) == 1 else 'concepts'}"
    header = element("header", element("h1", concepts), _chips(totals))
    return document(concepts, [header, element("main", *cards, class_="cards")])


def card(view: View, album: Album, page: str) -> Html:
    name = element("h2", text_of(uri.label(view.concept)), _sense(view.concept))
    text = element("div", name, _chips(view.counts), class_="text")
    return element("a", _cover(view, album), text, href=page, class_="card")


def _cover(view: View, album: Album) -> Html:
    pictures = [each for kind in ("image", "visual") for each in view.media if each.kind == kind]
    for each in pictures:
        try:
            data = album.still(each, SMALL + SMALL // 2)
        except NotShown:
            continue
        return element("img", src=data, alt="", decoding="async")
    return element("span", text_of(uri.label(view.concept))[:1], class_="initial")


def _chips(counts: dict[str, int]) -> Html:
    return chips(counted(number, WORDS[kind]) for kind, number in counts.items() if number)


def in_words(relation: str) -> str:
    """
    >>> in_words("IsA"), in_words("HasFirstSubevent")
    ('is a', 'has first subevent')
    """
    return re.sub(r"(?<=.)(?=[A-Z])", " ", relation).lower()

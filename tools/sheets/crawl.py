"""What the page of a crawl looks like: figures and pages of the web in, HTML out.

Promise: whatever a site wrote is text here, and of bounded length; no link leads out of the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .document import chips, counted, document, text_of
from .markup import Html, element, joined

STYLE = "crawl.css"
LONGEST_TEXT = 1500
MOST_LINKS = 15  # of a page, in each direction
PANEL_ROWS = 12


class Panel(NamedTuple):
    """Names, each with a number that has a bar, and how that number is written."""

    title: str
    rows: Sequence[tuple[str, float, str]]


class Shown(NamedTuple):
    """A page of the crawl. `path` leads from a seed to it, `text` is what it says; if that is not
    here, `absent` says why."""

    url: str
    title: str | None
    facts: Sequence[str]
    has_failed: bool
    path: Sequence[str]
    text: str
    absent: str
    leads_to: Sequence[str]
    comes_from: Sequence[str]


class CrawlView(NamedTuple):
    """`left_out` pages have no place here; `looked_at` pages were searched for links."""

    title: str
    totals: Sequence[str]
    panels: Sequence[Panel]
    pages: Sequence[Shown]
    left_out: int
    looked_at: int


def crawl_page(view: CrawlView) -> Iterator[str]:
    return document(view.title, _body(view), STYLE)


def _body(view: CrawlView) -> Iterator[Html]:
    yield element("header", element("h1", text_of(view.title)), chips(map(text_of, view.totals)))
    panels = [_panel(each) for each in view.panels if each.rows]
    yield element("section", element("div", *panels, class_="panels"))
    places = {each.url: f"p{number}" for number, each in enumerate(view.pages)}
    number = element("span", f"{len(view.pages):,}", class_="number")
    shown = (_page(each, places) for each in view.pages)
    yield element("section", element("h2", "Pages ", number), *shown, class_="pages")
    yield element("footer", *_notes(view))


def _notes(view: CrawlView) -> Iterator[Html]:
    if view.left_out:
        left = counted(view.left_out, "page")
        yield element("p", f"{left} further away are left out; the table has them all.")
    if view.looked_at:
        looked_at = counted(view.looked_at, "page")
        yield element("p", f"Links to a page are those found on the first {looked_at}.")


def _panel(panel: Panel) -> Html:
    most = max((number for _, number, _ in panel.rows), default=0) or 1
    rows = (_row(text_of(name), number / most, text) for name, number, text in panel.rows)
    return element("div", element("h2", panel.title), element("table", *rows), class_="panel")


def _row(name: str, share: float, text: str) -> Html:
    bar = element("span", style=f"width:{100 * share:.1f}%", class_="bar")
    return element(
        "tr", element("th", name, bar, scope="row"), element("td", text_of(text), class_="figure")
    )


def _page(page: Shown, places: Mapping[str, str]) -> Html:
    name = element("b", text_of(page.title or page.url))
    facts = element("span", " · ".join(map(text_of, page.facts)), class_="facts")
    place = element("span", text_of(page.url), class_="uri")
    summary = element("summary", name, " ", facts, place)
    return element(
        "details",
        summary,
        element("p", *_path(page, places), id=places[page.url], class_="path"),
        _text(page),
        _links("Leads to", page.leads_to, places),
        _links("Linked from", page.comes_from, places),
        class_="page failed" if page.has_failed else "page",
    )


def _path(page: Shown, places: Mapping[str, str]) -> Iterator[str]:
    """From a seed. A browser that is sent here unfolds what it is in."""
    yield "" if page.path else "A seed: "
    way = [_named(url, places) for url in page.path]
    yield joined([*way, element("strong", text_of(page.url))], " → ")


def _text(page: Shown) -> Html:
    if page.absent:
        return element("p", text_of(page.absent), class_="absent")
    return element("blockquote", text_of(page.text, LONGEST_TEXT)) if page.text else Html()


def _links(title: str, urls: Sequence[str], places: Mapping[str, str]) -> Html:
    if not urls:
        return Html()
    named = [element("li", _named(url, places)) for url in urls[:MOST_LINKS]]
    more = len(urls) - len(named)
    rest = element("li", f"and {more:,} more", class_="more") if more > 0 else Html()
    heading = element("h3", f"{title} {counted(len(urls), 'page')}")
    return joined([heading, element("ul", *named, rest, class_="links")])


def _named(url: str, places: Mapping[str, str]) -> Html:
    place = places.get(url)
    name = text_of(url)
    return element("a", name, href=f"#{place}") if place else element("span", name)

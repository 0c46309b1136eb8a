"""The built-in site of the job `pages`: a small book about a garden, with what real sites have.

Promise: `pages()` is the whole site, the same on every call; each page says by itself where it
leads, so that the truth of a crawl can be told without one. It has cycles, a page that is near by
one way and far by another, pages in other charsets, the same page by other addresses and the same
text at another one, redirects, failures, a calendar and a maze without end, what robots.txt and
`nofollow` keep to themselves, and pages that only the sitemap names.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape

BASE = "http://garden.example"
HTML = "text/html; charset=utf-8"
PLANTS = {
    "rose": "Thorns keep the goats away. Roses want sun and an open soil.",
    "tulip": "Tulips sleep in the ground all summer. Plant the bulbs when the leaves fall.",
    "mint": "Mint walks. Keep it in a pot, or it will be everywhere by autumn.",
    "apple": "An apple tree bears for a hundred years. Prune it in winter.",
    "bean": "Beans climb to the left around their poles and feed the soil.",
    "fern": "Ferns were here before the first flower. They love the shade.",
    "pumpkin": "A pumpkin is a berry. Give it the sunniest corner and much water.",
    "thyme": "Bees come to thyme before they come to anything else.",
    "willow": "Cut willow in winter, put it into water, and it grows roots.",
    "poppy": "Poppies open at dawn. Every flower lasts a single day.",
    "leek": "Leeks stand in the snow and taste of spring.",
    "ivy": "Ivy flowers last in the year, when the wasps are hungry.",
}
TOOLS = ("spade", "rake", "hoe", "shears", "barrow", "hose")
WALK = 7  # pages one after the other, each a link further away
ABROAD = {  # a page in the charset of its country
    "fr": ("iso-8859-1", "Café et forêt : la rosée du matin."),
    "de": ("windows-1252", "Über den Gärten blühen Kräuter, „süß“ und schön."),
    "ru": ("koi8-r", "Сад цветёт весной."),
    "zh": ("gbk", "花园里有玫瑰。"),
    "ja": ("shift_jis", "庭にはバラがあります。"),
}


@dataclass(frozen=True, slots=True)
class SitePage:
    """`links` are followed by whoever obeys; `reached` names them as addresses of the site."""

    content: bytes
    content_type: str = HTML
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    links: tuple[str, ...] = ()


def pages() -> dict[str, SitePage]:
    """By path."""
    found = {"/": _page("The garden book", "Everything grows, one page at a time.", HOME)}
    found |= dict(_plants())
    found |= dict(_tools())
    found |= dict(_walk())
    found |= dict(_abroad())
    found |= dict(_oddities())
    return found


def robots_txt() -> str:
    return (
        "# Come in, but leave the shed alone.\n"
        "User-agent: *\nDisallow: /shed/\nCrawl-delay: 0.01\n\n"
        f"Sitemap: {BASE}/sitemap.xml.gz\n"
    )


def sitemap() -> bytes:
    """Pages that nobody links to."""
    entries = "".join(f"<url><loc>{BASE}{path}</loc></url>" for path in HIDDEN)
    text = f'<?xml version="1.0"?><urlset xmlns="{SITEMAPS}">{entries}</urlset>'
    return gzip.compress(text.encode(), mtime=0)


def calendar(month: str) -> SitePage:
    """Any month of any year, each with its neighbours: it has no end."""
    year, _, number = month.partition("-")
    at = int(year) * 12 + int(number) - 1
    near = [f"/calendar/{(at + step) // 12:04}-{(at + step) % 12 + 1:02}" for step in (-1, 1)]
    return _page(f"Calendar {month}", "What to do in this month.", near)


def maze(path: str) -> SitePage:
    """Each page leads one step further into itself."""
    return _page("Maze", "The hedge looks the same here.", [f"{path}left/right/"])


def bed(number: int) -> SitePage:
    """Of a field that is as wide as it is long, which no other page leads to: for whoever wants to
    know how many pages can be had in a minute."""
    name, *_ = others = [list(PLANTS)[(number + step) % len(PLANTS)] for step in range(3)]
    near = [f"{FIELD}{5 * number + step}" for step in range(1, 6)]
    return _page(f"Bed {number}", " ".join(PLANTS[each] for each in others), [*near, f"#{name}"])


FIELD = "/field/"
HIDDEN = ("/secret/spring", "/secret/summer", "/secret/autumn")
SITEMAPS = "http://www.sitemaps.org/schemas/sitemap/0.9"
HOME = (
    *("/plants/", "/tools/", "/walk/1", "/shortcut", "/abroad/", "/old", "/missing", "/gone"),
    *("/calendar/2026-05", "/maze/", "/shed/key", "/once", "/loop", "/picture.svg", "/seeds.csv"),
    *("/copy/rose", "/quiet", "/private-note", "/empty", "/mixed?b=2&a=1", "/mixed?a=1&b=2"),
)


def _plants() -> Iterator[tuple[str, SitePage]]:
    names = list(PLANTS)
    yield "/plants/", _page("Plants", "From A to W.", [f"/plants/{name}" for name in names])
    for at, name in enumerate(names):
        near = [names[(at + step) % len(names)] for step in (1, 5)]
        links = ["/plants/", *(f"/plants/{other}" for other in near), f"/notes/{name}"]
        # The same page by three more addresses: all of them are /plants/rose.
        links += ["/plants/rose?utm_source=book", "/plants/rose;jsessionid=7", "/plants/rose#sun"]
        yield f"/plants/{name}", _page(name.title(), PLANTS[name], links)
        yield f"/notes/{name}", _page(f"Notes on {name}", f"My {name} came up in April.", ["/"])


def _tools() -> Iterator[tuple[str, SitePage]]:
    yield "/tools/", _page("Tools", "Clean them in winter.", [f"/tools/{name}" for name in TOOLS])
    for name in TOOLS:
        yield f"/tools/{name}", _page(name.title(), f"Every garden has a {name}.", ["/tools/"])


def _walk() -> Iterator[tuple[str, SitePage]]:
    """A long way, and a shortcut to the middle of it."""
    yield "/shortcut", _page("Through the hedge", "Nobody will see us.", [f"/walk/{WALK - 2}"])
    for step in range(1, WALK + 1):
        further = [f"/walk/{step + 1}"] if step < WALK else []
        yield f"/walk/{step}", _page(f"Step {step}", "The path goes on.", further)


def _abroad() -> Iterator[tuple[str, SitePage]]:
    links = [f"/abroad/{code}" for code in ABROAD]
    yield "/abroad/", _page("Gardens abroad", "Each in its own letters.", links)
    for code, (charset, text) in ABROAD.items():
        page = _page(f"A garden ({code})", text, ["/abroad/"], charset)
        yield f"/abroad/{code}", page


def _oddities() -> Iterator[tuple[str, SitePage]]:
    rose = _page("Rose", PLANTS["rose"], ["/plants/"])
    yield "/copy/rose", rose
    yield "/copy/rose-again", rose
    yield "/old", _moved("/plants/")
    yield "/loop", _moved("/loop")
    yield "/gone", SitePage(b"<p>It was here.</p>", status=410)
    yield "/shed/key", _page("The shed", "Nobody comes in here.", [])
    yield "/quiet", _page("Quiet", "Its links lead nowhere for robots.", [], nofollow=["/unseen"])
    yield "/unseen", _page("Unseen", "Only people come here.", [])
    yield (
        "/private-note",
        _page("A note", "Read it and forget it.", ["/copy/rose-again"], wish="noarchive"),
    )
    yield "/empty", SitePage(b"")
    yield "/picture.svg", SitePage(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml")
    yield "/seeds.csv", SitePage(b"name,month\nbean,5\nleek,3\n", "text/csv")
    for query in ("b=2&a=1", "a=1&b=2"):  # the order matters to whoever answers
        yield f"/mixed?{query}", _page("Mixed border", f"Rows: {query}.", [])
    for path in HIDDEN:
        yield path, _page(path.rpartition("/")[2].title(), "Only the sitemap knows this page.", [])


def _moved(to: str) -> SitePage:
    return SitePage(b"", status=301, headers={"Location": to}, links=(to,))


def _page(
    title: str,
    text: str,
    links: Iterable[str],
    charset: str = "utf-8",
    wish: str = "",
    nofollow: Iterable[str] = (),
) -> SitePage:
    links = tuple(links)
    anchors = [f'<li><a href="{escape(link)}">{escape(link)}</a>' for link in links]
    anchors += [
        f'<li><a rel="nofollow" href="{escape(link)}">not for robots</a>' for link in nofollow
    ]
    meta = f'<meta name="robots" content="{wish}">' if wish else ""
    content = (
        f'<!doctype html><html><head><meta charset="{charset}">{meta}<title>{escape(title)}</title>'
        f"</head><body><h1>{escape(title)}</h1><p>{escape(text)}</p><ul>{''.join(anchors)}</ul>"
        "<script>var hidden = 'these words do not count';</script></body></html>"
    )
    kind = HTML if charset == "utf-8" else "text/html"
    return SitePage(content.encode(charset), kind, links=links)

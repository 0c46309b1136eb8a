"""What a crawl of the garden book must find, told by its pages alone."""

from __future__ import annotations

import re
from collections import Counter

from tools.sample import garden

HOST = "garden.example"
FORBIDDEN = "/shed/"
DEEPEST_MAZE = 2  # a third `left/right/` is a pair three times: a trap


def page_of(target: str) -> str:
    """Which page an address of the site is."""
    target = target.partition("#")[0].partition(";")[0]
    path, mark, query = target.partition("?")
    return path if query.startswith("utm_") else f"{path}{mark}{query}"


def links_of(target: str, pages: dict[str, garden.SitePage]) -> list[str]:
    if target.startswith("/calendar/"):
        return list(garden.calendar(target.removeprefix("/calendar/")).links)
    if target.startswith("/maze/"):
        return list(garden.maze(target).links) if target.count("left") < DEEPEST_MAZE else []
    if target.startswith(FORBIDDEN) or target not in pages:
        return []
    return [page_of(link) for link in pages[target].links]


def depths(most: int) -> dict[str, int]:
    """Every page at most so many links away, and how far: breadth first, redirects for nothing."""
    pages = garden.pages()
    found = dict.fromkeys(["/", "/sitemap.xml.gz", *garden.HIDDEN], 0)
    level = list(found)
    for depth in range(most + 1):
        queue, level = level, []
        while queue:
            target = queue.pop()
            is_redirect = target in pages and pages[target].status == 301
            for link in links_of(target, pages):
                where = depth if is_redirect else depth + 1
                if where <= most and found.get(link, most + 1) > where:
                    found[link] = where
                    (queue if is_redirect else level).append(link)
    return found


def words_in(page: garden.SitePage, charset: str) -> Counter[str]:
    """Counted a second time, without a parser: the pages are of our own making."""
    text = page.content.decode(charset)
    body = re.sub(r"<script>.*?</script>", " ", text.partition("<body>")[2])
    plain = re.sub(r"<[^>]*>", " ", body).replace("&amp;", "&").replace("&#x27;", "'")
    words = re.findall(r"\w+", plain.lower())
    return Counter(word for word in words if not word.isdigit())

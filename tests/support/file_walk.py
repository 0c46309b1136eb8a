"""A site that is a folder of files, walked breadth first by the standard library alone.

It shares no code with what it judges: `html.parser` finds the links, `urllib` joins them. It is
made for manuals, whose markup is well-formed; what is wrong with a page is not repaired here.
"""

from __future__ import annotations

import mimetypes
import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urldefrag, urljoin, urlsplit

SOURCES = {"a": "href", "area": "href", "iframe": "src", "frame": "src"}
UNREAD = ("script", "style", "template")
CHARSET = re.compile(
    rb"""<meta[^>]+charset=["']?([\w-]+)|<\?xml[^>]+encoding=["']([\w-]+)""", re.IGNORECASE
)
REFRESH = re.compile(r"\s*[\d.]+\s*[;,]\s*(?:url\s*=\s*)?[\"']?(.+?)[\"']?\s*", re.IGNORECASE)
BASE = "http://site.example"
SAFE = "!$&'()*+,-./:;=@_~%|[]^"  # what a browser leaves as it is in a path


class Page(HTMLParser):
    """Links of a page, each with whether it is walked for nothing; and its words."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.links: list[str] = []
        self.sent: list[str] = []
        self.words: Counter[str] = Counter()
        self.base = ""
        self._skipped: list[str] = []
        self._in_body = False
        self._text = ""
        found = CHARSET.search(content[:2048])
        charset = (found[1] or found[2]).decode() if found else "utf-8"
        charset = "cp1252" if charset.lower() in ("iso-8859-1", "latin1") else charset
        self.feed(content.decode(charset, "replace"))
        self.close()
        self._end_text()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._end_text()
        said = dict(reversed(attrs))
        if tag in UNREAD:
            self._skipped.append(tag)
        elif tag == "body":
            self._in_body = True
        elif tag == "base" and not self.base:
            self.base = said.get("href") or ""
        elif tag == "meta" and (said.get("http-equiv") or "").lower() == "refresh":
            if found := REFRESH.fullmatch(said.get("content") or ""):
                self.sent.append(found[1])
        elif "template" not in self._skipped and (link := said.get(SOURCES.get(tag, ""))):
            is_for_us = "nofollow" not in (said.get("rel") or "").lower().split()
            self.links += [link] if is_for_us else []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        self._end_text()
        if tag in self._skipped:
            self._skipped.remove(tag)

    def handle_comment(self, data: str) -> None:
        self._end_text()

    def handle_data(self, data: str) -> None:
        if self._in_body and not self._skipped:
            self._text += data

    def _end_text(self) -> None:
        for word in re.findall(r"\w+", self._text):  # made small, a Turkish I would be two
            if not word.isdigit():
                self.words[word.lower()] += 1
        self._text = ""


class Folder:
    """Pages are called as they are asked for: by path and query."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._pages: dict[str, Page] = {}

    def answer(self, target: str) -> tuple[int, str, bytes]:
        """Status, type or place, and content; as a server of files gives them."""
        path = unquote(target.partition("?")[0])
        file = self.root / path.lstrip("/")
        if "\0" in path or ".." in Path(path).parts:
            return 404, "text/html", b"no"
        if file.is_dir():
            if not path.endswith("/"):
                return 301, f"{quote(path)}/", b""
            file /= "index.html"
        if not file.is_file():
            return 404, "text/html", b"<p>There is nothing here."
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        return 200, kind, file.read_bytes()

    def page(self, target: str) -> Page:
        if target not in self._pages:
            status, kind, content = self.answer(target)
            is_page = status == 200 and kind in ("text/html", "application/xhtml+xml")
            self._pages[target] = Page(content if is_page else b"")
        return self._pages[target]

    def next_of(self, target: str) -> Iterator[tuple[str, int]]:
        """The pages that one leads to, and how many links that takes."""
        status, place, _ = self.answer(target)
        if status == 301:
            yield place, 0
        page = self.page(target)
        base = urljoin(BASE + target, page.base)
        for steps, links in ((1, page.links), (0, page.sent)):
            for link in links:
                if (found := self._own(base, link)) is not None:
                    yield found, steps

    def _own(self, base: str, link: str) -> str | None:
        """None if it leads away from the site."""
        try:
            whole = urldefrag(urljoin(base, link.strip().replace("\n", "").replace("\t", ""))).url
            parts = urlsplit(whole)
        except ValueError:
            return None
        if parts.scheme != "http" or parts.netloc != urlsplit(BASE).netloc:
            return None
        query = f"?{parts.query}" if parts.query else ""
        return quote(parts.path or "/", safe=SAFE) + query

    def depths(self, start: str, most: int) -> dict[str, int]:
        found, level = {start: 0}, [start]
        for depth in range(most + 1):
            queue, level = level, []
            while queue:
                for link, steps in self.next_of(queue.pop()):
                    where = depth + steps
                    if where <= most and found.get(link, most + 1) > where:
                        found[link] = where
                        (level if steps else queue).append(link)
            if not level:
                break
        return found

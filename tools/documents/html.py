"""What a page says: its links, title, words and wishes to robots, as a browser without scripts.

Promise: a function of the bytes, the headers and the address alone; it never raises for what a page
holds, and time and memory grow with the page's size only. Only this room knows the parser.
Limit: the words of more than 200 characters are left out, and those that follow when a page has
200,000 different ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import turbohtml

from .address import resolve
from .links import FOLLOWED, Link, Links, refresh_of
from .robots_tags import meta_wishes

LONGEST_WORD = 200
MOST_WORDS = 200_000
LONGEST_TITLE = 1000
FEW_WORDS = 20
PIECE = 1_000_000
"""Characters whose words are listed at once: the list is several times as large as the text."""

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})
HTML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html|head|body|title)", re.I)
CHARSET = re.compile(r""";\s*charset\s*=\s*["']?\s*([^\s"';,]+)""", re.IGNORECASE)
WORD = re.compile(r"\w+")
FOLDED = bytes(
    each if each >= 0x80 else ord(chr(each).lower()) if WORD.match(chr(each)) else ord(" ")
    for each in range(0x100)
)
"""ASCII without what is between words, in lower case."""
GAP = re.compile(r"\W")
UNREAD = "script,style,template"
ADDRESS_IN = {"a": "href", "area": "href", "iframe": "src", "frame": "src"}
READ = ("meta", "link", *ADDRESS_IN)

COPIED = ("b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u")
BETWEEN = r"(?:\0|\x1b[$(][@BIJ])?"  # two letters, in UTF-16 or ISO-2022-JP
NAMES = "|".join(BETWEEN.join(name) for name in COPIED)
END = rf"(?={BETWEEN}[\s/>])"
COPIED_TAG = re.compile(rf"<{BETWEEN}(?:{NAMES}){END}".encode(), re.IGNORECASE)
ITS_TAGS = re.compile(rf"<{BETWEEN}(?:/{BETWEEN})?(?:{NAMES}){END}".encode(), re.IGNORECASE)
MANY_TAGS = 4000
MOST_COPIES = 4_000_000


@dataclass(frozen=True)
class Document:
    """What was read of a page; `left_out` counts references beyond the limit."""

    charset: str
    title: str | None
    base: str
    links: list[Link] = field(repr=False)
    left_out: int
    meta_robots: frozenset[str]
    words: dict[str, int] = field(repr=False)
    text_length: int
    has_scripts: bool

    @property
    def canonical(self) -> str | None:
        return next((link.address for link in self.links if link.kind == "canonical"), None)

    @property
    def needs_browser(self) -> bool:
        """There is nothing to read without scripts."""
        if not self.has_scripts or sum(self.words.values()) >= FEW_WORDS:
            return False
        return not any(link.kind in FOLLOWED for link in self.links)


def is_html(content_type: str | None, body: bytes = b"") -> bool:
    """By what the host says it is; if it says nothing, by how it begins."""
    kind = (content_type or "").partition(";")[0].strip().lower()
    return kind in HTML_TYPES if kind else HTML_START.match(body[:1024]) is not None


def read(body: bytes, content_type: str | None, address: str) -> Document:
    """All that is asked of a page, in one go."""
    tree = _parsed(body, content_type)
    has_scripts = tree.find("script") is not None
    tree.remove(UNREAD)  # a link in a template is none
    charset = tree.encoding or "UTF-8"
    base = _base_of(tree, address)
    links = Links(base, charset)
    wishes = _take(tree, links)
    words, text_length = _words_of(tree)
    return Document(
        charset=charset,
        title=_title_of(tree),
        base=base,
        links=list(links),
        left_out=links.left_out,
        meta_robots=wishes,
        words=words,
        text_length=text_length,
        has_scripts=has_scripts,
    )


def texts_in(body: bytes, content_type: str | None, tag: str) -> Iterator[tuple[str, str]]:
    """The text of every such element with the name of the one around it, however broken the
    markup is."""
    for element in _parsed(body, content_type).iter_elements(tag):
        parent = element.parent
        around = parent.tag if isinstance(parent, turbohtml.Element) else ""
        yield around, element.text


def tree_of(text: str) -> turbohtml.Document:
    """Of what was decoded already."""
    return _tree(text.encode("utf-8", "replace"), "utf-8")


def _parsed(body: bytes, content_type: str | None) -> turbohtml.Document:
    declared = CHARSET.search(content_type or "")
    try:
        return _tree(body, declared[1] if declared else None)
    except LookupError:  # no encoding is called like that: then as if nothing were declared
        return _tree(body, None)


def _tree(body: bytes, encoding: str | None) -> turbohtml.Document:
    return turbohtml.parse(
        _tamed(body),
        encoding=encoding,
        detect_encoding=True,
        positions=False,
    )


def _tamed(body: bytes) -> bytes:
    """Unclosed bold and the like is opened anew in every paragraph that follows, so a page of a
    megabyte could become a tree of gigabytes. Called otherwise, with letters as many, they are not.
    """
    tags = body.count(b"<")
    if tags < MANY_TAGS:
        return body
    enough = islice(COPIED_TAG.finditer(body), MOST_COPIES // tags, None)
    return _renamed(body) if next(enough, None) else body


def _renamed(body: bytes) -> bytes:
    renamed = bytearray(body)
    for found in ITS_TAGS.finditer(body):
        renamed[found.end() - 1] = ord("x")
    return bytes(renamed)


def _base_of(tree: turbohtml.Document, address: str) -> str:
    """The first counts, wherever it stands."""
    element = tree.find("base", href=True)
    reference = element.attr("href") if element is not None else None
    return (resolve(address, reference) if reference else None) or address


def _title_of(tree: turbohtml.Document) -> str | None:
    """A drawing in the page may have a title of its own."""
    for element in tree.iter_elements("title"):
        if element.namespace is turbohtml.Namespace.HTML:
            return " ".join(element.text.split())[:LONGEST_TITLE] or None
    return None


def _take(tree: turbohtml.Document, links: Links) -> frozenset[str]:
    """The links go where they are kept; what is wished of robots comes back."""
    wishes: set[str] = set()
    for element in tree.iter_elements(READ):
        tag = element.tag
        if tag in ADDRESS_IN:
            reference = element.attr(ADDRESS_IN[tag])
            if reference is not None:
                links.add(tag, reference, element.attr("rel"))
        elif tag == "link":
            if reference := element.attr("href"):
                links.add_related(reference, element.attr("rel") or "")
        elif tag == "meta":
            wishes |= _of_meta(element, links)
    return frozenset(wishes)


def _of_meta(element: turbohtml.Element, links: Links) -> frozenset[str]:
    content = element.attr("content") or ""
    if (element.attr("http-equiv") or "").strip().lower() == "refresh":
        reference = refresh_of(content)
        if reference:
            links.add("refresh", reference)
    return meta_wishes(element.attr("name") or "", content)


def _words_of(tree: turbohtml.Document) -> tuple[dict[str, int], int]:
    """How often each word stands in the body, and how long its text is."""
    body = tree.find("body")
    text = " ".join(body.strings) if body is not None else ""
    counts: Counter[str] = Counter()
    for piece in _pieces(text):
        _count(piece, counts)
        if len(counts) > MOST_WORDS:
            break
    for word in [word for word in counts if word.isdigit() or len(word) > LONGEST_WORD]:
        del counts[word]
    return counts, len(text)


def _count(text: str, counts: Counter[str]) -> None:
    """Those that `WORD` finds, in lower case. Most are ASCII, and found as bytes in a third of the
    time; only what stands between two ASCII marks and is not has to be looked at as text."""
    encoded = text.replace("\xa0", " ").encode("utf-8", "surrogatepass")
    tokens = Counter(encoded.translate(FOLDED).split())
    others = {token: tokens.pop(token) for token in [*tokens] if not token.isascii()}
    words = b" ".join(tokens).decode("ascii").split()
    counts.update(dict(zip(words, tokens.values(), strict=True)))
    for token, number in others.items():
        for word in WORD.findall(token.decode("utf-8", "surrogatepass")):
            counts[word.lower()] += number


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > PIECE and (gap := GAP.search(text, start + PIECE)):
        yield text[start : gap.start()]
        start = gap.start()
    yield text[start:]

"""An answer as the work on it sees it: its text decoded, its tree or its value when asked for.

Promise: whatever a host sent, reading it ends: with a page, or with GiveUp and the reason. Nothing
outside of the page is loaded, and no entity is expanded.
Limit: 10 million characters of markup with a million tags, 2,000 deep, each of 5,000 attributes;
20 million characters of JSON or text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from lxml import etree

from ..documents.address import resolve
from ..documents.decode import decoded, without_declaration
from ..errors import GiveUp

if TYPE_CHECKING:
    from parsel import Selector, SelectorList

    from .form import Form

LARGEST_MARKUP = 10_000_000
LARGEST = 20_000_000
MOST_TAGS = 1_000_000
DEEPEST = 2_000  # a little less than what the parser itself bears
MOST_ATTRIBUTES = 5_000
SMALL = 50_000  # characters have no room for so many that reading them takes long
BASE = etree.XPath("//base[@href]/@href", smart_strings=False)
ATTRIBUTE = r"""[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))?+"""
TAG = rf"<[a-zA-Z][^\s/>]*+(?:{ATTRIBUTE}){{0,{MOST_ATTRIBUTES}}}+[\s/]*+(?:>|\Z)"
UNCROWDED = re.compile(rf"(?:[^<]++|<(?![a-zA-Z])|{TAG})*+")
"""Matches up to the first tag with more attributes, and looks at nothing twice."""
PLAIN_PATH = re.compile(r"(?:/[\w-]+(?:\.[\w-]+)*+)++/?(?:\?[\w=&.+-]*+)?", re.ASCII)
"""What the rules for addresses leave as it is; most links are so."""
Headers = Mapping[str, str] | Iterable[tuple[str, str]]


class Page:
    """`url` is where the answer came from at last; `format` says how its text is read."""

    def __init__(
        self,
        url: str,
        status: int = 200,
        headers: Headers = (),
        text: str = "",
        format: str = "html",
        charset: str = "UTF-8",
    ) -> None:
        self.url = url
        self.status = status
        self.headers = _by_name(headers)
        self.text = text
        self.format = format
        self.charset = charset
        self._forms: dict[str, Form] = {}

    @classmethod
    def of(cls, url: str, status: int, headers: Headers, body: bytes, format: str = "html") -> Self:
        """From what a host sent; RetryLater if it is no text."""
        named = _by_name(headers)
        _require_size(len(body), 4 * LARGEST)  # a character has four bytes at most
        text, charset = decoded(body, named.get("content-type"), format)
        return cls(url, status, named, text, format, charset)

    def header(self, name: str) -> str | None:
        return self.headers.get(name.lower())

    @cached_property
    def root(self) -> Any:
        """The tree of lxml."""
        _require_size(len(self.text), LARGEST_MARKUP)
        _require_simple(self.text)
        root = _xml(self.text) if self.format == "xml" else _html(self.text)
        _require_shallow(root)
        return root

    @cached_property
    def json(self) -> Any:
        _require_size(len(self.text), LARGEST)
        try:
            return json.loads(self.text)
        except RecursionError:
            raise GiveUp("the answer is JSON that is nested too deep") from None
        except ValueError as error:
            raise GiveUp(f"the answer is not JSON ({error})") from None

    @property
    def content(self) -> Any:
        """What fields are looked for in: a tree, a value or a text."""
        if self.format == "json":
            return self.json
        return self.text if self.format == "text" else self.root

    @cached_property
    def base(self) -> str:
        """What addresses on the page are relative to."""
        if self.format != "html":
            return self.url
        named = BASE(self.root)
        return (resolve(self.url, named[0]) if named else None) or self.url

    def address(self, reference: str) -> str | None:
        """Where a reference on the page leads; None if that is nowhere on the web."""
        if PLAIN_PATH.fullmatch(reference):
            return self._origin + reference
        return resolve(self.base, reference, self.charset)

    @cached_property
    def _origin(self) -> str:
        return (resolve(self.base, "/") or "").removesuffix("/")

    @cached_property
    def selector(self) -> Selector:
        from parsel import Selector  # classes use it; declared fields have no need of it

        return Selector(root=self.root, type=self.format if self.format == "xml" else "html")

    def css(self, query: str) -> SelectorList[Selector]:
        return self.selector.css(query)

    def xpath(self, query: str, **variables: Any) -> SelectorList[Selector]:
        return self.selector.xpath(query, **variables)

    def form(self, css: str = "form") -> Form:
        """The first one that this selector finds, filled in as a browser shows it; GiveUp if the
        page has none."""
        from .form import form_on

        if css not in self._forms:
            self._forms[css] = form_on(self, css)
        return self._forms[css]


def _by_name(headers: Headers) -> dict[str, str]:
    """In small letters; of those that came twice the first."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    named: dict[str, str] = {}
    for name, value in pairs:
        named.setdefault(name.lower(), value)
    return named


def _require_size(size: int, most: int) -> None:
    if size > most:
        raise GiveUp(f"the page is too large to be read ({size:,}, at most {most:,})")


def _require_simple(text: str) -> None:
    """The parser looks at every attribute of a tag for every other one, and cannot be stopped."""
    if text.count("<") > MOST_TAGS:
        raise GiveUp(f"the page has more than {MOST_TAGS:,} tags")
    if len(text) > SMALL and UNCROWDED.match(text).end() < len(text):  # type: ignore[union-attr]
        raise GiveUp(f"a tag of the page has more than {MOST_ATTRIBUTES:,} attributes")


def _require_shallow(root: Any) -> None:
    """Where it becomes too deep the parser stops, so its last element is the deepest."""
    depth = 0
    while len(root):
        root, depth = root[-1], depth + 1
    if depth > DEEPEST:
        raise GiveUp(f"the page is nested more than {DEEPEST:,} deep")


def _html(text: str) -> Any:
    """Of an empty page: an empty tree."""
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, no_network=True)
    root = etree.fromstring(_encoded(text) or b"<html/>", parser)
    return etree.Element("html") if root is None else root


def _xml(text: str) -> Any:
    """Names without their namespaces, so that selectors need no prefixes; broken markup as far as
    it goes."""
    if "<!ENTITY" in text:
        raise GiveUp("the page declares entities, which are not expanded here")
    parser = etree.XMLParser(
        encoding="utf-8",
        recover=True,
        huge_tree=True,
        no_network=True,
        resolve_entities=False,
        load_dtd=False,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(_encoded(without_declaration(text)), parser)
    except etree.XMLSyntaxError as error:
        raise GiveUp(f"the answer is not XML ({error})") from None
    if root is None:
        raise GiveUp("the answer is not XML")
    _drop_namespaces(root)
    return root


def _drop_namespaces(root: Any) -> None:
    for element in root.iter(etree.Element):
        if element.tag[0] == "{":
            element.tag = element.tag.partition("}")[2]
        for name in [name for name in element.attrib if name[0] == "{"]:
            plain = name.partition("}")[2]
            if plain not in element.attrib:
                element.set(plain, element.attrib[name])


def _encoded(text: str) -> bytes:
    """libxml2 takes a NUL for the end of the page."""
    return text.replace("\x00", "").encode("utf-8", "replace")

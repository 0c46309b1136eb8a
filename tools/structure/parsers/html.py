"""HTML: title, meta, JSON-LD, links, tables and text of a page; or the fields that are asked for.

Promise: the text is decoded as a browser does, and addresses are whole where the page's own is
known. A table is a list of objects with its header's cells as keys; one of pairs (`th`, `td`) is
one object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from .rows import is_header, names_of, objects

if TYPE_CHECKING:
    import turbohtml
    from parsel import Selector, SelectorList

Read = Callable[["Selector"], Any]
EACH = "each"
PATHS = ("/", "./", "(", "string(", "normalize-space(", "count(", "concat(")
"""How an XPath begins; every other selector is CSS."""


class RawParser:
    """`fields`: names with a selector each. In a list it means all it finds; a table of fields is
    an object, with `each` one for every element that selector finds."""

    def __init__(self, fields: Mapping[str, Any] | None = None) -> None:
        self._read = None if fields is None else _object(fields, "fields")

    def parse(self, raw: bytes, about: Mapping[str, Any]) -> Any:
        from ...documents.decode import decoded

        text, charset = decoded(raw, about.get("type"))
        if self._read is None:
            return _all_of(text, charset, str(about.get("source", "")))
        from parsel import Selector

        return self._read(Selector(text=text.replace("\x00", "") or "<html/>", type="html"))


def _object(fields: Any, place: str) -> Read:
    if not isinstance(fields, Mapping) or not fields:
        raise ValueError(f"{place} must be names with a selector each")
    others = {name: said for name, said in fields.items() if name != EACH}
    reads = {name: _field(said, f"{place}.{name}") for name, said in others.items()}
    if EACH not in fields:
        return lambda node: {name: read(node) for name, read in reads.items()}
    find = _finder(fields[EACH], f"{place}.{EACH}")
    return lambda node: [{name: read(each) for name, read in reads.items()} for each in find(node)]


def _field(said: Any, place: str) -> Read:
    if isinstance(said, Mapping):
        return _object(said, place)
    if isinstance(said, list):
        if len(said) != 1:
            raise ValueError(f"{place} must have one selector in its list")
        find_all = _finder(said[0], place)
        return lambda node: [text for each in find_all(node) if (text := _text_of(each))]
    find = _finder(said, place)
    return lambda node: next((text for each in find(node) if (text := _text_of(each))), None)


def _finder(said: Any, place: str) -> Callable[[Selector], SelectorList[Selector]]:
    from cssselect import SelectorError
    from parsel import Selector

    if not isinstance(said, str) or not said.strip():
        raise ValueError(f"{place} must be a selector, such as 'h1' or '//h1', not {said!r}")
    is_path = said.startswith(PATHS)

    def find(node: Selector) -> SelectorList[Selector]:
        return node.xpath(said) if is_path else node.css(said)

    try:
        find(Selector(text="<html/>", type="html"))
    except (ValueError, SelectorError) as error:
        why = str(error).splitlines()[0]
        raise ValueError(f"{place}: {said!r} is no selector ({why})") from None
    return find


def _text_of(found: Selector) -> str:
    """An element's is all in it, in one line."""
    root = found.root
    text = root.xpath("string()") if hasattr(root, "xpath") else found.get()
    return _one_line(text or "")


def _all_of(text: str, charset: str, source: str) -> dict[str, Any]:
    from ...documents.html import UNREAD, tree_of

    tree = tree_of(text)
    linked_data = [*_linked_data(tree)]
    tree.remove(UNREAD)
    title, body = tree.find("title"), tree.find("body")
    return {
        "title": _one_line(title.text) if title is not None else None,
        "meta": _meta(tree),
        "json_ld": linked_data,
        "links": [*_links(tree, charset, source)],
        "tables": [_table(each) for each in tree.find_all("table")],
        "text": _words(body) if body is not None else "",
    }


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _words(element: turbohtml.Element) -> str:
    return " ".join(word for each in element.strings for word in each.split())


def _linked_data(tree: turbohtml.Document) -> Iterator[Any]:
    """What is broken is left out, as everybody does who reads it."""
    for script in tree.iter_elements("script"):
        if (script.attr("type") or "").strip().lower() == "application/ld+json":
            try:
                yield orjson.loads(script.text.strip())
            except orjson.JSONDecodeError:
                continue


def _meta(tree: turbohtml.Document) -> dict[str, str | list[str]]:
    """A name that comes more than once has all that is said."""
    found: dict[str, list[str]] = {}
    for each in tree.iter_elements("meta"):
        name = each.attr("name") or each.attr("property") or each.attr("http-equiv")
        content = each.attr("content")
        if name and content is not None:
            found.setdefault(name.strip(), []).append(content.strip())
    return {name: said[0] if len(said) == 1 else said for name, said in found.items()}


def _links(tree: turbohtml.Document, charset: str, source: str) -> Iterator[dict[str, str]]:
    from ...documents.address import resolve

    given = tree.find("base", href=True)
    reference = given.attr("href") if given is not None else None
    base = (resolve(source, reference) if reference else None) or source
    for each in tree.iter_elements("a"):
        if href := each.attr("href"):
            yield {
                "text": _one_line(each.text),
                "url": resolve(base, href, charset) or href.strip(),
            }


def _table(table: turbohtml.Element) -> list[dict[str, str | None]]:
    rows = [[_one_line(cell) for cell in row] for row in table.rows()]
    kinds = [_kinds(row) for row in _own_rows(table)]
    if kinds and all(each == ["th", "td"] for each in kinds):
        return objects([[row[1] for row in rows]], names_of([row[0] for row in rows]))
    has_header = bool(kinds) and "td" not in kinds[0] and "th" in kinds[0]
    if rows and (has_header or (len(rows) > 1 and is_header(rows[0]))):
        return objects(rows[1:], names_of(rows[0]))
    return objects(rows, names_of([""] * len(rows[0]))) if rows else []


def _own_rows(table: turbohtml.Element) -> Iterator[turbohtml.Element]:
    """In the order in which they are shown: a footer may stand first."""
    for row in table.iter_elements("tr"):
        if row.closest("table") == table:
            yield row


def _kinds(row: turbohtml.Element) -> list[str]:
    tags = [getattr(each, "tag", "") for each in row.children]
    return [tag for tag in tags if tag in ("th", "td")]

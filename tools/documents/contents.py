"""All that a page holds, as JSON has it: title, meta, JSON-LD, links, tables, text.

Promise: a table is a list of objects with its header's cells as keys; one of pairs (`th`, `td`) is
one object. Addresses are whole where the page's own is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import turbohtml

from .address import resolve
from .grid import is_header, names_of, objects
from .html import UNREAD, tree_of


def contents_of(text: str, charset: str, address: str) -> dict[str, Any]:
    """`address` is the page's own, if it is known."""
    tree = tree_of(text)
    linked_data = [*_linked_data(tree)]
    tree.remove(UNREAD)
    title, body = tree.find("title"), tree.find("body")
    return {
        "title": _one_line(title.text) if title is not None else None,
        "meta": _meta(tree),
        "json_ld": linked_data,
        "links": [*_links(tree, charset, address)],
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


def _links(tree: turbohtml.Document, charset: str, address: str) -> Iterator[dict[str, str]]:
    given = tree.find("base", href=True)
    reference = given.attr("href") if given is not None else None
    base = (resolve(address, reference) if reference else None) or address
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

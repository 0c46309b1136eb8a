"""The forms of a page, filled in as a browser shows them before anybody has typed.

Promise: names and values are those that a browser submits if nobody changes anything, in its
order; nothing raises for what a page holds.
Limit: 10,000 fields. A form that begins between the rows of a table, where none may stand, has the
fields up to the table's end or the next form; a browser looks for its end tag.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import turbohtml
from turbohtml import Element

from .html import tree_of

FIELDS = ("input", "select", "textarea", "button")
MOST_FIELDS = 10_000
TYPED = frozenset({"text", "search", "tel", "url", "email", "textarea"})
TABLE_PARTS = frozenset({"table", "tbody", "thead", "tfoot", "tr"})


@dataclass(frozen=True, slots=True)
class FilledForm:
    """`files` are the names of fields for files; `charsets` what it wants to be sent in."""

    action: str
    method: str
    enctype: str
    charsets: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]
    files: tuple[str, ...]


def form_in(text: str, css: str) -> FilledForm | None:
    """The first form that the selector finds, or that what it finds stands in."""
    tree = tree_of(text)
    tree.remove("template")  # nobody sees it
    found = tree.select_one(css)
    form = found.closest("form") if found is not None else None
    if form is None:
        return None
    fields = list(islice(_fields_of(form, tree), MOST_FIELDS))
    return FilledForm(
        action=(form.attr("action") or "").strip(),
        method=(form.attr("method") or "get").strip().lower(),
        enctype=(form.attr("enctype") or "").strip().lower(),
        charsets=tuple((form.attr("accept-charset") or "").split()),
        fields=tuple(pair for each in _without_rivals(fields) for pair in _entries(each)),
        files=tuple(each.attr("name") or "" for each in fields if _kind(each) == "file"),
    )


def _fields_of(form: Element, tree: turbohtml.Document) -> Iterator[Element]:
    """Those inside it, and those that name it, wherever they stand."""
    known = form.attr("id")
    strays = _strays(form, tree)
    for field in tree.iter_elements(FIELDS):
        named = field.attr("form")
        if named is not None:
            is_mine = bool(named) and named == known and _by_id(tree, named) == form
        else:
            is_mine = field.closest("form") == form or field in strays
        if is_mine:
            yield field


def _by_id(tree: turbohtml.Document, name: str) -> Element | None:
    return tree.find(True, id=name)


def _strays(form: Element, tree: turbohtml.Document) -> list[Element]:
    """Of a form between the rows of a table the tree has an empty one, and its fields beside it."""
    parent = form.parent
    if not isinstance(parent, Element) or parent.tag not in TABLE_PARTS or list(form.children):
        return []
    table = form.closest("table")
    strays: list[Element] = []
    behind = False
    for each in table.iter_elements(("form", *FIELDS)) if table is not None else ():
        if each == form:
            behind = True
        elif behind and each.tag == "form":
            break
        elif behind and each.closest("form") is None:
            strays.append(each)
    return strays


def _kind(field: Element) -> str:
    """An input without a known type is one for text."""
    return (field.attr("type") or "text").lower() if field.tag == "input" else field.tag


def _without_rivals(fields: list[Element]) -> list[Element]:
    """Of the radio buttons of one name only the last that is checked is so."""
    checked = {
        each.attr("name"): each for each in fields if _kind(each) == "radio" and each.checked
    }
    return [
        each for each in fields if _kind(each) != "radio" or checked.get(each.attr("name")) == each
    ]


def _entries(field: Element) -> list[tuple[str, str]]:
    """What it submits: nothing, if it has no name or may not be used."""
    name, kind = field.attr("name"), _kind(field)
    if not name or field.matches(":disabled"):
        return []
    if kind == "file":
        return [(name, "")]
    if kind == "textarea":
        pairs = [(name, field.text)]
    else:
        _give_values(field)
        # alone in a form, so that what the parser knows of values is used
        alone = turbohtml.parse(f"<form>{field.html}</form>").find("form")
        pairs = [] if alone is None else alone.form_data()
    direction = field.attr("dirname")
    if direction and kind in TYPED:
        pairs.append((direction, _direction(field)))
    return pairs


def _give_values(field: Element) -> None:
    """An option without a value is worth its text, on one line."""
    for option in field.iter_elements("option"):
        if option.attr("value") is None:
            option.attrs["value"] = " ".join(option.text.split())


def _direction(field: Element) -> str:
    said = field.closest("[dir]")
    return "rtl" if said is not None and (said.attr("dir") or "").lower() == "rtl" else "ltr"

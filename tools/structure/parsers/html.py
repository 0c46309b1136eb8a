"""HTML: title, meta, JSON-LD, links, tables and text of a page; or the fields that are asked for.

Promise: the text is decoded as a browser does, and addresses are whole where the page's own is
known. A table is a list of objects with its header's cells as keys; one of pairs (`th`, `td`) is
one object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
            from ...documents.contents import contents_of

            return contents_of(text, charset, str(about.get("source", "")))
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
    return " ".join((text or "").split())

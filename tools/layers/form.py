"""A form of a page, to be sent as a browser sends it.

Promise: address, method, fields, their order and their bytes are a browser's, but for what the task
gives itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..documents.address import codec_of
from ..documents.decode import standard_name
from ..documents.forms import form_in
from ..errors import GiveUp
from .payload import ENCTYPES, URLENCODED, Encoding, Pairs, pairs_of
from .request import Layer, Request

if TYPE_CHECKING:
    from .page import Page

CHARSET = "_charset_"
"""A hidden field of this name says which encoding the form is sent in."""


@dataclass(frozen=True)
class Form:
    url: str
    method: str
    fields: Pairs
    encoding: Encoding = field(default_factory=Encoding)

    def request(self, layer: Layer, /, **fields: Any) -> Request:
        """With these fields in place of its own; those it does not have come last, None is left
        out, and a list is a field for each of it."""
        sent = self.filled(fields)
        url = self.url if sent or self.method == "POST" else f"{self.url}?"
        return Request(layer, self.method, url, None, sent, {}, self.encoding)

    def filled(self, given: Mapping[str, Any]) -> Pairs:
        """Each given field once, where the form has it first."""
        pairs: list[tuple[str, str]] = []
        left = dict(given)
        for name, value in self.fields:
            if name in left:
                pairs += _pairs(name, left.pop(name))
            elif name not in given:
                pairs.append((name, value))
        for name, value in left.items():
            pairs += _pairs(name, value)
        return tuple(pairs)


def _pairs(name: str, value: Any) -> Pairs:
    return () if value is None else pairs_of({name: value})


def form_on(page: Page, css: str = "form") -> Form:
    """GiveUp if the page has no such form, or one that leads nowhere on the web."""
    found = form_in(page.text, css)
    if found is None:
        raise GiveUp(f"the page has no form {css!r}")
    address = page.address(found.action) if found.action else page.url
    if address is None:
        raise GiveUp(f"the form {css!r} leads to {found.action[:100]!r}, which is not on the web")
    is_post = found.method == "post"
    url = address.partition("#")[0]
    if not is_post:  # what it sends is the whole query
        url = url.partition("?")[0]
    charset = _charset(found.charsets, page.charset)
    enctype = found.enctype if is_post and found.enctype in ENCTYPES else URLENCODED
    fields = tuple(
        (name, charset if name.lower() == CHARSET and not value else value)
        for name, value in found.fields
    )
    return Form(url, "POST" if is_post else "GET", fields, Encoding(charset, enctype, found.files))


def _charset(wanted: tuple[str, ...], own: str) -> str:
    """The first it wants that can be had, else the page's own; what nothing can be written in is
    written in UTF-8."""
    known = filter(None, map(standard_name, (*wanted, own)))
    charset = next(known, "UTF-8")
    return "UTF-8" if codec_of(charset) is None else charset

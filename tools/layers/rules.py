"""What a page of a declared layer gives: its rows, and what is asked next.

Promise: a row without a required field, or a request without an address, is skipped alone; the
others of its page are given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import zip_longest
from typing import Any

from ..errors import GiveUp
from ..tables.rows import Row
from .field import At, Field
from .page import Page
from .request import Layer, Request
from .selector import bounded
from .task import Skipped, Task

Fields = Mapping[str, Field]
MOST_FOUND = 1_000_000
"""Rows and requests of a page."""


@dataclass(frozen=True)
class Each:
    """What there is a row or a request for; without it the page itself is the one."""

    place: str = ""
    find: Callable[[Any, At], Iterable[Any]] | None = None

    def nodes(self, at: At) -> Iterator[Any]:
        whole = at.page.content
        for node in [whole] if self.find is None else bounded(self.find(whole, at), self.place):
            at.check_time()
            yield node


@dataclass(frozen=True)
class Rows:
    table: str
    each: Each
    fields: Fields
    texts: Fields = field(default_factory=dict)  # put together of the others
    spread: tuple[str, ...] = ()  # fields that make a row for each of their values
    required: tuple[str, ...] = ()

    def found(self, at: At) -> Iterator[Row | Skipped]:
        named = [(name, field.one) for name, field in self.fields.items()]
        texts, spread = self.texts, self.spread
        for node in self.each.nodes(at):
            values = {name: one(node, at) for name, one in named}
            if texts:
                at.known = values
                values |= {name: field.one(node, at) for name, field in texts.items()}
            if at.is_large:
                at.count(values)
            if spread:
                yield from self._spread(values)
            else:
                yield self._row(values)

    def _row(self, values: dict[str, Any]) -> Row | Skipped:
        for name in self.required:
            if values[name] is None or values[name] == "":
                return Skipped(self.table, f"no {name}")
        return Row(self.table, **values)

    def _spread(self, values: dict[str, Any]) -> Iterator[Row | Skipped]:
        columns = (values[name] or () for name in self.spread)
        for together in zip_longest(*columns):
            yield self._row(values | dict(zip(self.spread, together, strict=True)))


@dataclass(frozen=True)
class Next:
    to: Layer
    each: Each = Each()
    url: Field | None = None
    method: str = ""
    form: Fields = field(default_factory=dict)
    json: Fields | None = None
    form_of: str = ""
    carry: Fields = field(default_factory=dict)
    when: Field | None = None
    referer: bool = False

    def found(self, at: At) -> Iterator[Request | Skipped]:
        for node in self.each.nodes(at):
            at.known = {name: field.one(node, at) for name, field in self.carry.items()}
            if at.is_large:
                at.count(at.known)
            if self.when is not None and not _holds(self.when.one(node, at)):
                continue
            made = self._request(node, at)
            if made is not None:
                yield made
            elif self.each.find is not None:
                yield Skipped(f"-> {self.to}", "no address")

    def _request(self, node: Any, at: At) -> Request | Skipped | None:
        sent = {name: each.one(node, at) for name, each in (self.json or self.form).items()}
        if missing := _missing(self.carry, at.known) or _missing(self.json or self.form, sent):
            return Skipped(f"-> {self.to}", f"no {missing}")
        try:
            made = self._of_form(sent, at) if self.form_of else self._plain(node, sent, at)
        except GiveUp as error:  # without the form there are still rows
            return Skipped(f"-> {self.to}", str(error))
        if made is None:
            return None
        new = {name: value for name, value in at.known.items() if value is not None}
        carried = {**at.request.carried, **new}
        referer = at.page.url if self.referer else None
        return replace(made, carried=carried, referer=referer)

    def _of_form(self, sent: Mapping[str, Any], at: At) -> Request:
        given = {name: value for name, value in sent.items() if value is not None}
        return at.page.form(self.form_of).request(self.to, **given)

    def _plain(self, node: Any, sent: Mapping[str, Any], at: At) -> Request | None:
        said = at.page.url if self.url is None else self.url.one(node, at)
        url = at.page.address(str(said)) if said else None
        if url is None:
            return None
        if self.json is not None:
            return Request(self.to, "JSON", url, payload=_plain_values(sent))
        given = {name: value for name, value in sent.items() if value is not None}
        return Request(self.to, self.method or ("POST" if self.form else "GET"), url, payload=given)


@dataclass(frozen=True)
class Rules:
    rows: tuple[Rows, ...] = ()
    next: tuple[Next, ...] = ()


class DeclaredTask(Task):
    """A task of a TOML file."""

    rules: Mapping[Layer, Rules]

    def work(self, request: Request, page: Page) -> Iterator[Request | Row | Skipped]:
        rules, at = self.rules[request.layer], At(request, page)
        count = 0
        given: tuple[Rows | Next, ...] = (*rules.rows, *rules.next)
        for rule in given:
            for count, each in enumerate(rule.found(at), count + 1):  # noqa: B020
                if count > MOST_FOUND:
                    raise GiveUp(f"the page gives more than {MOST_FOUND:,} rows and requests")
                yield each


def _holds(value: Any) -> bool:
    """As JMESPath has it: a number always does."""
    return bool(value) or (isinstance(value, int | float | Decimal) and value is not False)


def _missing(fields: Fields, values: Mapping[str, Any]) -> str | None:
    """A field that is required and says nothing."""
    for name, each in fields.items():
        if each.required and (values[name] is None or values[name] == ""):
            return name
    return None


def _plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: float(each) if isinstance(each, Decimal) else each for name, each in values.items()
    }

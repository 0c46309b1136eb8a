"""A task: which layers a site has, what is asked first, and what a page of each layer gives.

A user's class inherits from Task and says what differs; a declared task is one too. What is said
here is what the job knows of any task.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ..base.text import did_you_mean
from ..errors import UsageError
from .request import Layer, Request

if TYPE_CHECKING:
    from ..tables.rows import Row
    from .page import Page

FORMATS = ("html", "xml", "json", "text")
COOKIES = ("none", "task")
STEPS = ("retry", "refill")


@dataclass(frozen=True, slots=True)
class LayerOptions:
    """How the pages of a layer are asked for and read."""

    format: str = "html"
    accept: str = ""  # the header; "" is what the format suggests
    status: tuple[int, ...] = (200,)
    age_s: float | None = None  # asked again when its answer is older
    keep: bool = False
    with_referer: bool = False  # the same address from another page is another request


USUAL = LayerOptions()


class Refill(NamedTuple):
    """A query on the task's own tables: the addresses it gives are asked in the next activity."""

    query: str
    layer: Layer


class Skipped(NamedTuple):
    """A row or a request that a page should have given, and why it did not."""

    table: str
    reason: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What a host is spared; what is None is as the job has it."""

    delay_s: float | None = None
    per_host: int | None = None
    rates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Task:
    name: str = ""
    about: str = ""
    base: str = ""
    database: str = "sqlite:items.db"
    layers: Mapping[Layer, int] = {}  # layer -> how deep it is
    layer_options: Mapping[Layer, LayerOptions] = {}
    first: Sequence[Request] = ()
    start_from: str = ""  # a query on the task's own tables
    tables: Mapping[str, Any] = {}
    forget: Collection[str] = ()
    every: float = 0.0  # seconds from the end of an activity to the next; 0: once
    at: str = ""  # or by the clock, as cron writes it
    again: Collection[Layer] = ()
    after_steps: Collection[str] = STEPS
    refill: Sequence[Refill] = ()
    workers: int = 8
    attempts: int = 5
    rounds: int = 3
    robots: bool = True
    cookies: str = "none"
    limits: Limits = Limits()

    file: Path | None = None  # where it is written
    digest: str = ""  # of all that is written of it
    left_out: frozenset[Layer] = frozenset()
    """Layers that the whole task has and this part of it has not."""

    def work(self, request: Request, page: Page) -> Iterable[Request | Row | Skipped]:
        """What a page gives: rows for the tables, and what to ask next."""
        raise NotImplementedError

    def create(self, tables: Any) -> None:
        """Called when the tables are made, before anything is asked."""

    def after(self, tables: Any) -> Iterable[Request]:
        """Called when an activity has nothing left to ask; its requests wait for the next."""
        return ()

    def options(self, layer: Layer) -> LayerOptions:
        return self.layer_options.get(layer, USUAL)

    def layer_named(self, text: str) -> Layer | None:
        """As somebody types it; None if there is none."""
        return next((layer for layer in self.layers if str(layer) == text), None)

    @property
    def first_layer(self) -> Layer:
        """Of the least deep ones the first."""
        return min(self.layers, key=lambda layer: self.layers[layer])

    def starts(self) -> Iterator[Request]:
        """The first requests with whole addresses; those of layers left out are none."""
        for request in self.first:
            whole = request.on(self.base)
            if whole is None:
                raise UsageError(f"{self.place}: {request.url!r} is not an address of the web")
            if request.layer not in self.left_out:
                yield whole

    def asked_by(self, rows: Iterable[Any], layer: Layer | None = None) -> Iterator[Request]:
        """Requests for the rows of a query: the first column is the address, others are carried."""
        layer = self.first_layer if layer is None else layer
        for row in rows:
            named: dict[str, Any] = dict(row._mapping if hasattr(row, "_mapping") else row)
            url, *rest = named.items()
            request = Request(layer, "GET", str(url[1] or ""), carried=dict(rest)).on(self.base)
            if request is not None:
                yield request

    def only(self, layers: Collection[Layer]) -> Self:
        """A part of this task: depths are counted from 0, all other layers do not exist."""
        for layer in layers:
            if layer not in self.layers:
                near = did_you_mean(str(layer), map(str, self.layers))
                raise UsageError(f"{self.place}: no layer {layer!r}{near}")
        part = copy.copy(self)
        depths = sorted({self.layers[layer] for layer in layers})
        part.layers = {
            layer: depths.index(deep) for layer, deep in self.layers.items() if layer in layers
        }
        part.left_out = self.left_out | (self.layers.keys() - part.layers.keys())
        part.again = [layer for layer in self.again if layer in part.layers]
        part.refill = [each for each in self.refill if each.layer in part.layers]
        return part

    @property
    def place(self) -> str:
        """For messages: where it is written."""
        return str(self.file or self.name)

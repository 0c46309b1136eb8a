"""Which addresses belong to what was asked for.

Promise: a scope never changes; to join a host makes a new one. Expressions are compiled once, and a
wrong one is named by its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Self

from ..errors import UsageError
from .address import host_of, identity, lane_of, registrable
from .scope_kinds import KINDS, Kind


@dataclass(frozen=True)
class Scope:
    """The seeds' hosts, domains or folders, all that an `include` finds, and no `exclude`."""

    kind: Kind
    seeds: frozenset[str] = frozenset()
    include: tuple[re.Pattern[str], ...] = ()
    exclude: tuple[re.Pattern[str], ...] = ()
    _places: frozenset[str] = field(init=False, repr=False, compare=False)
    _folders: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        places = frozenset(PLACES[self.kind](identity(seed)) for seed in self.seeds)
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_folders", tuple(sorted(places)))

    @classmethod
    def of(
        cls,
        kind: str,
        seeds: Iterable[str],
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> Self:
        """
        >>> scope = Scope.of("host", ["https://h.example/a"], exclude=["[.]pdf$"])
        >>> scope.allows("http://h.example/b"), scope.allows("http://h.example/b.pdf")
        (True, False)
        """
        if kind not in KINDS:
            raise UsageError(f"no scope is called {kind!r}: choose one of {', '.join(KINDS)}")
        return cls(
            kind,  # type: ignore[arg-type]
            frozenset(seeds),
            _compiled("include", include),
            _compiled("exclude", exclude),
        )

    def with_seed(self, address: str) -> Self:
        """The same scope with one seed more: where a seed was redirected to."""
        return type(self)(self.kind, self.seeds | {address}, self.include, self.exclude)

    def allows(self, address: str) -> bool:
        """May raise ValueError for what `address.resolve` did not give."""
        if any(expression.search(address) for expression in self.exclude):
            return False
        if self._holds(address):
            return True
        return any(expression.search(address) for expression in self.include)

    def _holds(self, address: str) -> bool:
        if self.kind == "any":
            return True
        name = identity(address)
        if self.kind == "prefix":
            return name.startswith(self._folders)
        return PLACES[self.kind](name) in self._places


def _folder_of(name: str) -> str:
    path = name.partition("?")[0]
    return path[: path.rfind("/") + 1]


PLACES: dict[str, Callable[[str], str]] = {
    "host": lane_of,
    "domain": lambda name: registrable(host_of(name)),
    "prefix": _folder_of,
    "list": str,  # the seeds themselves, and what `include` finds
    "any": str,
}


def _compiled(setting: str, expressions: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(_expression(setting, number, text) for number, text in enumerate(expressions, 1))


def _expression(setting: str, number: int, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(
            f"{setting}, expression {number}, {text!r} is no regular expression: {error}"
        ) from None

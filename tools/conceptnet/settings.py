"""What is kept of ConceptNet, where it is asked, and how its files are read.

Nobody else knows that a seed is a concept, what a language is, or which relations there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from .. import uri
from ..base.bounds import bounded, require, require_known
from .rules import ALL_RELATIONS, RELATIONS, spelled

SEEDS = ("/c/en/pet",)
SOURCE = "http://api.conceptnet.io"
LIMITS = {"api.conceptnet.io": ("120/minute", "3600/hour")}


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSettings:
    languages: tuple[str, ...] = ("en",)
    min_weight: float = 1.0
    relations: tuple[str, ...] = RELATIONS
    senses: bool = True

    def check(self, where: str) -> None:
        weight, languages = self.min_weight, f"{where}languages"
        require(math.isfinite(weight), f"{where}min_weight must be a number, not {weight}")
        require(bool(self.languages), f"{languages} must name at least one language")
        for each in self.languages:
            sentence = f"{each!r} is no language: write it like en"
            require(uri.is_concept(f"/c/{each}/x"), sentence, languages)
        _require_relations(self.relations, where)
        require(bool(self.relations), f"{where}relations must name at least one relation")

    def narrowed(
        self,
        languages: tuple[str, ...] | None = None,
        relations: tuple[str, ...] | None = None,
        plus: tuple[str, ...] | None = None,
        minus: tuple[str, ...] | None = None,
        min_weight: float | None = None,
    ) -> FilterSettings:
        """The same, but for what is given. `plus` and `minus` change the chosen relations."""
        names = self.relations if relations is None else spelled(relations)
        names = ALL_RELATIONS if names in (("all",), ("All",), ("ALL",)) else names
        more, fewer = spelled(plus or ()), spelled(minus or ())
        _require_relations([*more, *fewer])
        lower = tuple(each.lower() for each in languages or ())
        return replace(
            self,
            languages=self.languages if languages is None else lower,
            relations=tuple(each for each in dict.fromkeys([*names, *more]) if each not in fewer),
            min_weight=self.min_weight if min_weight is None else min_weight,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpSettings:
    """For a source that is an assertions file."""

    index: Path | None = None  # unset: beside the file
    max_malformed: int = bounded(1000, least=0)


def _require_relations(names: Iterable[str], where: str = "") -> None:
    listed = "docs/dump.md lists them all"
    require_known("relation", names, ALL_RELATIONS, f"{where}relations", listed)

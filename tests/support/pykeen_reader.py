"""What PyKEEN's `TriplesFactory.from_path` requires of a file, without PyKEEN (which takes PyTorch
with it): three columns of text between tabs, without a header, quotes as in any CSV file, and with
the ids of a training set no name that this set does not have.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, Self

import pandas
import pytest

Triple = tuple[str, str, str]


class TriplesFactory(NamedTuple):
    triples: list[Triple]
    entity_to_id: Mapping[str, int]
    relation_to_id: Mapping[str, int]

    @property
    def num_triples(self) -> int:
        return len(self.triples)

    @classmethod
    def from_path(
        cls,
        path: str | Path,
        entity_to_id: Mapping[str, int] | None = None,
        relation_to_id: Mapping[str, int] | None = None,
    ) -> Self:
        table = pandas.read_csv(path, sep="\t", header=None, dtype=str, keep_default_na=False)
        assert list(table.columns) == [0, 1, 2], "three columns, and no more in any line"
        triples = [(head, relation, tail) for head, relation, tail in table.to_numpy().tolist()]
        assert len(set(triples)) == len(triples)
        entities = [name for head, _, tail in triples for name in (head, tail)]
        entity_to_id = entity_to_id or _ids(entities)
        relation_to_id = relation_to_id or _ids(relation for _, relation, _ in triples)
        assert entity_to_id.keys() >= set(entities), "an unknown one would be left out"
        assert relation_to_id.keys() >= {relation for _, relation, _ in triples}
        return cls(triples, entity_to_id, relation_to_id)


def _ids(names: Iterable[str]) -> dict[str, int]:
    """Consecutive, in the order of the names."""
    return {name: number for number, name in enumerate(sorted(set(names)))}


def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """What imports PyKEEN gets this."""
    for name in ("pykeen", "pykeen.triples"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["pykeen.triples"].TriplesFactory = TriplesFactory  # type: ignore[attr-defined]

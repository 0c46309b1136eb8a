"""An assertions file as a source: the same relations as a server over the same file gives.

Promise: `page` gives every relation of a concept and its senses that the filter could keep, from
any number of threads. The first use makes an index beside the file.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..add import Relation
from ..errors import LeftOut, UnknownConcept
from ..reports.progress import byte_bar
from .dump.shown import relation_in
from .index.build import open_index, whole_index
from .index.index import Index
from .rules import Filter

if TYPE_CHECKING:
    from .settings import DumpSettings


class DumpSource:
    def __init__(self, path: Path, wanted: Filter, settings: DumpSettings, quiet: bool) -> None:
        self._path = path
        self._wanted = wanted
        self._settings = settings
        self._quiet = quiet

    def check(self) -> None:
        """Open the index, made now if there is none."""
        self._index = opened(self._path, self._wanted, self._settings, self._quiet)

    def page(self, concept: str) -> list[Relation]:
        relations = [relation_in(edge) for edge in self._index.about(concept, self._wanted)]
        if not relations and not self._index.knows(concept):
            self._require_in_file(concept)
        return relations

    def _require_in_file(self, concept: str) -> None:
        """An index of what a filter keeps does not know what it left out."""
        if self._whole is None:
            raise LeftOut
        if not self._whole.knows(concept):
            raise UnknownConcept

    @cached_property
    def _whole(self) -> Index | None:
        return whole_index(self._path, self._settings.index)

    def near(self, concept: str) -> list[str]:
        """What may have been meant by one that is not in the file."""
        return self._index.near(concept)


def opened(path: Path, wanted: Filter | None, settings: DumpSettings, quiet: bool) -> Index:
    """The index of a file, with a bar while it is made."""
    with byte_bar("index", quiet) as show:
        return open_index(path, wanted, settings.max_malformed, settings.index, show)

"""The records of a graph as rows of three tables, the same for every format that has tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

from ..add import by_kind
from ..graphs.copy import Part
from ..graphs.fields import TABLES, names

Row = tuple[object, ...]

COLUMNS = {table: names(fields) for table, fields in TABLES.items()}


def rows(part: Part) -> dict[str, list[Row]]:
    """A list of paths is None where there are none."""
    owned = part.media
    return {
        "entities": [(*each, *by_kind(owned.get(each.uri, ())).values()) for each in part.entities],
        "relations": [
            (*each, *by_kind(owned.get(each.uri, ())).values()) for each in part.relations
        ],
        "media": [
            (each.path, owner, *each[1:]) for owner, files in owned.items() for each in files
        ],
    }


@contextmanager
def text_files(folder: Path, names: Iterable[str]) -> Iterator[dict[str, TextIO]]:
    """New files by their names without the ending; lines end as they are written."""
    with ExitStack() as stack:
        yield {
            Path(name).stem: stack.enter_context(
                (folder / name).open("w", encoding="utf-8", newline="")
            )
            for name in names
        }

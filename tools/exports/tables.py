"""The records of a graph as rows of three tables, the same for every format that has tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Protocol, TextIO

from ..add import Graph, by_kind
from ..graphs.copy import Part, Show, parts
from ..graphs.fields import TABLES, Field, names

Row = tuple[object, ...]

COLUMNS = {table: names(fields) for table, fields in TABLES.items()}


class TableFile(Protocol):
    """A file that takes rows, whatever it makes of them."""

    def add(self, rows: Sequence[Row]) -> None: ...

    def close(self) -> None: ...


MakeTable = Callable[[Path, Sequence[Field]], TableFile]


def write_tables(make: MakeTable, ending: str, graph: Graph, folder: Path, show: Show) -> None:
    with begun_tables(make, ending, folder) as tables:
        for part in parts(graph):
            add_part(part, tables)
            show(part.size)


@contextmanager
def begun_tables(make: MakeTable, ending: str, folder: Path) -> Iterator[Mapping[str, TableFile]]:
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(closing(make(folder / f"{name}.{ending}", fields)))
            for name, fields in TABLES.items()
        }


def add_part(part: Part, tables: Mapping[str, TableFile]) -> None:
    for name, found in rows(part).items():
        tables[name].add(found)


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
        yield {Path(name).stem: stack.enter_context(text_file(folder / name)) for name in names}


def text_file(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="")

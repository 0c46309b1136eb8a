"""`python main.py structure check FILE`: what an export makes of documents, without a database."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from . import flags

if TYPE_CHECKING:
    from ..structure.export_mappings import Mapped
    from ..structure.mapping import Export
    from ..tables.declared import Option, Table
    from ..tables.replacement import Replacement

EXAMPLES = (
    "python main.py structure check register.json                 its tables",
    "python main.py structure check register.json --with a.json   a document's rows",
    "python main.py structure check pages.json --with a.json --outer url",
)

MOST = 20  # rows of a table
LONGEST = 40  # columns of a terminal for a value
MOST_PROBLEMS = 50


class Options(flags.Options):
    file: Path | None
    document: Path | None
    outer: str


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="the export's file, or a job's"
    )
    parser.add_argument(
        "--with", dest="document", type=Path, metavar="DOCUMENT", help="a document as JSON"
    )
    parser.add_argument(
        "--outer",
        default="",
        metavar="FIELD",
        help="documents are no {key: record}: this field is the key",
    )


def run(options: Options) -> int:
    from ..structure.mapping import read_mapping

    if options.file is None:
        raise UsageError("which file? Give the export's file, such as register.json")
    if options.outer and options.document is None:
        raise UsageError("--outer is about a document: give one by --with DOCUMENT")
    file, outer = _of_a_job(options.file) if options.file.suffix == ".toml" else (options.file, "")
    export = read_mapping(file)
    lines = [*_tables(export)]
    warnings = export.warnings
    if options.document is not None:
        found, never = _rows(export, options.document, options.outer or outer)
        lines, warnings = [*lines, *found], [*warnings, *never]
    print("\n".join(lines))
    if warnings:
        print("\n".join(["", "Warnings", *(f"  {_shown(each, 400)}" for each in warnings)]))
    return 0


def _of_a_job(file: Path) -> tuple[Path, str]:
    """The file of its export, and the field that is the key of its documents."""
    from ..base.toml_file import read_toml

    said = read_toml(file, "job")
    export, outer = said.get("export"), said.get("outer", "")
    if not isinstance(export, str) or not isinstance(outer, str):
        raise UsageError(f'{file} names no export: write export = "register.json"')
    return file.parent / export, outer


# --- tables --------------------------------------------------------------------------------


def _tables(export: Export) -> Iterator[str]:
    from ..base.text import amount
    from ..reports.tables import table as lines_of

    place = export.destination.url if export.destination else "nowhere yet: --to URL says where"
    counts = f"{amount(len(export.tables), 'table')}, {amount(len(export.mappings), 'mapping')}"
    yield f"{_shown(export.file.name)}: {counts}; rows go to {_shown(place, 200)}"
    for name, table in export.tables.items():
        mappings = [each for each in export.mappings.values() if each.table == name]
        by = ", ".join(f"mapping.{_shown(each.name)}" for each in mappings)
        yield f"\n{_shown(name)}, filled by {by or 'no mapping'}"
        head = ("column", "type", "option", "from")
        columns = [_column(table, column, mappings) for column in table.columns]
        yield from lines_of([head, *columns], left=range(4), yielding=3)


def _column(table: Table, name: str, mappings: Sequence[Mapped]) -> tuple[str, ...]:
    is_key = name in table.key
    option = _option(table.option(name), is_key)
    sources = "; ".join(filter(None, (_sources(each, name) for each in mappings)))
    shown = (_shown(each) for each in (name, str(table.columns[name]), option, sources))
    return tuple(shown)


def _option(option: Option, is_key: bool) -> str:
    words = {
        "PRIMARY KEY": is_key,
        "NOT NULL": option.is_required and not is_key,
        "UNIQUE": option.is_unique,
        "AUTO_INCREMENT": option.is_counted,
        f"DEFAULT {_said(option.default)}": option.has_default,
    }
    return " ".join(word for word, is_so in words.items() if is_so)


def _sources(mapped: Mapped, column: str) -> str:
    """Fields, and for those that are carried where they come from."""
    found = []
    for field in mapped.sources().get(column, ()):
        levels = [at for at, each in enumerate(mapped.carried) if each == field]
        above = "/".join(mapped.path[: levels[-1]]) or "the record" if levels else ""
        found.append(f"{field} of {above}" if above else field)
    return ", ".join(found)


# --- rows ----------------------------------------------------------------------------------


def _rows(export: Export, document: Path, outer: str) -> tuple[list[str], list[str]]:
    """What is shown of them, and warnings."""
    from ..structure.json_file import read_document
    from ..structure.mapping import never_matched
    from ..structure.walk import Walker
    from ..tables.replacement import Replacer
    from ..tables.rows import Extract

    walked = Walker(export, outer)(read_document(document), document.name)
    extract = Extract(document.name, walked.rows, list(export.tables))
    replacement = Replacer(export.tables)([extract], "widen")
    never = never_matched(export, dict.fromkeys(walked.unmatched, 1), 1)
    if not walked.rows and not outer:
        never.append(
            f"{document.name} gives no rows: is it {{key: record}}? Otherwise --outer FIELD names "
            "the field that is the key"
        )
    return [*_filled(replacement, document.name), *_problems(replacement)], never


def _filled(replacement: Replacement, name: str) -> Iterator[str]:
    from ..base.text import amount

    yield f"\nRows of {_shown(name)}"
    for table, _, rows in replacement.portions:
        if rows:
            width = len(table.columns)
            yield f"\n{_shown(table.name)}: {amount(len(rows), 'row')}"
            yield from _grid(list(table.columns), [row[:width] for row in rows[:MOST]])
            if len(rows) > MOST:
                yield f"  ... and {len(rows) - MOST:,} more"


def _grid(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Beside each other, or below each other where a line is too short for that."""
    from ..base.text import width
    from ..reports.tables import WIDTH
    from ..reports.tables import table as lines_of

    cells = [tuple(map(_shown, names)), *(tuple(_said(each) for each in row) for row in rows)]
    needed = sum(2 + max(map(width, column)) for column in zip(*cells, strict=True))
    if needed <= WIDTH:
        yield from lines_of(cells, left=range(len(names)))
        return
    for row in cells[1:]:
        yield from lines_of(list(zip(cells[0], row, strict=True)), left=(0, 1), yielding=1)
        yield ""


def _problems(replacement: Replacement) -> Iterator[str]:
    wider = [
        f"{table}.{column} would become {kind}"
        for table, columns in replacement.wider.items()
        for column, kind in columns.items()
    ]
    wrong = [
        f"{each.table}.{each.column}, row {each.row + 1}: {each.why}"
        for each in replacement.problems
    ]
    for title, lines in (("Wider columns", wider), ("Problems", wrong)):
        if lines:
            yield f"\n{title}"
            yield from (f"  {_shown(each, 200)}" for each in lines[:MOST_PROBLEMS])
            if len(lines) > MOST_PROBLEMS:
                yield f"  ... and {len(lines) - MOST_PROBLEMS:,} more"


def _said(value: Any) -> str:
    """As a value of a table: nothing and an empty text are not the same."""
    if value is None:
        return "NULL"
    return _shown("''" if value == "" else str(value))


def _shown(text: str, longest: int = LONGEST) -> str:
    from ..base.text import clipped, plain

    return clipped(plain(text), longest)

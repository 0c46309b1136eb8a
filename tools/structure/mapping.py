"""An export's file: what its tables are, and what of a document fills them.

Promise: all mistakes of the file are told at once, each with its place and what to do, before
anything is made; a file that is read can be used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..base.mistakes import Mistakes
from ..errors import UsageError
from ..tables.declared import Table
from .destination import PARTS, Destination, destination, source_db
from .export_mappings import Mapped, doubts, export_mappings
from .export_tables import export_tables
from .json_file import JsonSection, read_json

FILE = ("database", "mapping", "table")
DATABASES = ("source_db", "destination_db")


@dataclass(frozen=True)
class Export:
    file: Path
    tables: Mapping[str, Table]
    mappings: Mapping[str, Mapped]
    destination: Destination | None = None
    source_db: Destination | None = None
    warnings: list[str] = field(default_factory=list)


def read_mapping(file: Path) -> Export:
    """Raises UsageError with every mistake, a line each."""
    said = read_json(file)
    mistakes = Mistakes(file.name)
    try:
        export = _export(file, said, mistakes)
        mistakes.raise_if_any()
        warnings = [f"{file.name}: {each}" for each in doubts(export.mappings, export.tables)]
    except RecursionError:  # from a value where none belongs, which is shown
        raise UsageError(f"{file.name} is nested too deep to be an export's file") from None
    export.warnings.extend(warnings)
    return export


def _export(file: Path, said: Any, mistakes: Mistakes) -> Export:
    if not isinstance(said, dict):
        mistakes.say('the file must be an object: {"database": ..., "mapping": ..., "table": ...}')
        mistakes.raise_if_any()
    whole = JsonSection(said, "", mistakes, FILE)
    tables = export_tables(whole.section("table"))
    mappings = export_mappings(whole.section("mapping"), tables)
    databases = whole.section("database", DATABASES)
    return Export(
        file,
        tables,
        mappings,
        destination(databases.section("destination_db", PARTS), file),
        source_db(databases.section("source_db", PARTS), file),
    )


def never_matched(export: Export, unmatched: Mapping[str, int], documents: int) -> list[str]:
    """Warnings about mappings that found nothing in all of so many documents."""
    count = f"{documents:,} document{'s' * (documents != 1)}"
    return [
        f"{export.file.name}: mapping.{name} matched nothing in {count}"
        for name in export.mappings
        if documents and unmatched.get(name, 0) >= documents
    ]

"""Which structure is meant, where its state and its rows are, and what it would do."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..base.credentials import hidden
from ..base.text import did_you_mean, duration
from ..errors import UsageError
from ..layers.settings import database_of
from ..settings import Settings
from ..structure.declared import Structure, load_structure
from ..structure.mapping import Export, read_mapping
from ..structure.registry import Limits
from ..structure.settings import StructureSettings
from ..tables.address import is_mysql, is_postgres, sqlite_path

if TYPE_CHECKING:
    from ..tables.target import Target

STAMP = "%Y%m%d_%H%M"
OWN_FILES = ("pools.db", "documents.db", "LOCK", "log")


class Place(NamedTuple):
    """The database that rows go into, as `open_target` takes it."""

    url: str
    folder: Path
    password_file: Path | None
    password: str | None

    @property
    def is_server(self) -> bool:
        return is_postgres(self.url) or is_mysql(self.url)

    def is_there(self) -> bool:
        """A file is, or a server may have it."""
        return self.is_server or sqlite_path(self.url, self.folder).exists()

    def opened(self) -> Target:
        from ..tables.target import open_target  # it takes SQLAlchemy with it

        return open_target(*self)

    def visited(self) -> Target | None:
        from ..tables.target import visit_target

        return visit_target(*self)


def limits_of(settings: StructureSettings) -> Limits:
    memory, longest = int(settings.memory_mb * 1e6), int(settings.max_json_mb * 1e6)
    return Limits(settings.timeout_s, memory, longest)


def with_structure(settings: Settings, arguments: Namespace) -> Settings:
    """The settings for the structure that the command line names."""
    structure, given = settings.structure, vars(arguments)
    if given.get("folder") is not None:
        structure = replace(structure, folder=given["folder"])
    name = given.get("name")
    if not name:
        raise UsageError("which structure? `python main.py structure` lists them")
    loaded = load_structure(structure.folder, name, limits_of(structure))
    database = given.get("to") or ""
    structure = replace(structure, name=name, loaded=loaded, database=database)
    state = settings.state if given.get("state") is not None else structure.state / name
    timeout = max(structure.task_timeout_s, *(2 * rule.timeout_s for rule in loaded.rules))
    clock = replace(settings.clock, task_timeout_s=timeout, scan_s=structure.scan_s)
    settings = replace(settings, structure=structure, state=state, clock=clock)
    if loaded.export is not None:
        _check_place(place_in(settings, read_mapping(loaded.export)), loaded)
    return settings


def structure_in(settings: Settings) -> Structure:
    structure: Structure = settings.structure.loaded
    return structure


def export_in(settings: Settings) -> Export | None:
    file = structure_in(settings).export
    return None if file is None else read_mapping(file)


def place_in(settings: Settings, export: Export) -> Place:
    """That of the command line, or of the export file."""
    structure, said = settings.structure, export.destination
    if structure.database:
        database = database_of(settings.databases, structure.database, structure.password_file)
        return Place(database.url, settings.state, database.password_file, None)
    if said is None:
        raise UsageError(
            f"{export.file}: database.destination_db names no database: give its dbtype and dbname "
            "there, or --to URL"
        )
    return Place(said.url, settings.state, structure.password_file, said.password)


def require_database(settings: Settings) -> None:
    """Unreachable if a server does not answer."""
    export = export_in(settings)
    if export is not None and (place := place_in(settings, export)).is_server:
        target = place.visited()
        if target is not None:
            target.close()


def _check_place(place: Place, structure: Structure) -> None:
    """Rows and the record of what was done are never one file."""
    if not place.is_server:
        path = sqlite_path(place.url, place.folder).absolute()
        is_here = path.parent.resolve() == place.folder.absolute().resolve()
        if is_here and path.name in OWN_FILES:
            raise UsageError(
                f"{structure.export}: {place.url} is a file of the state itself: take another name"
            )


def plan(settings: Settings) -> Iterator[tuple[str, str]]:
    structure, export = structure_in(settings), export_in(settings)
    yield "structure", f"{structure.name} ({structure.file}): {structure.about}"
    yield "sources", ", ".join(map(hidden, structure.sources))
    yield "parsers", ", ".join(f"{rule.match}: {rule.parser}" for rule in structure.rules)
    yield "again", structure.again.when
    yield "every", duration(structure.every) if structure.every else structure.at or "by hand"
    if export is not None:
        where = hidden(place_in(settings, export).url)
        yield "tables", f"{', '.join(export.tables)} in {where}"


def tables_archived(settings: Settings, names: Sequence[str] = ()) -> Sequence[str]:
    """A file in the state folder has gone with that; tables elsewhere get other names."""
    export = export_in(settings)
    if export is None or not (place := place_in(settings, export)).is_there():
        return ()
    with closing(place.opened()) as target:
        others = [name for name in names if name not in export.tables]
        for unknown in sorted({*others} - {*target.counts(others)}):
            hint = did_you_mean(unknown, [*export.tables])
            raise UsageError(
                f"no table {unknown!r} of this structure is in {hidden(place.url)}{hint}"
            )
        moved = target.set_aside(time.strftime(STAMP), names or [*export.tables])
    return [f"the old table {old} is called {new} now" for old, new in moved.items()]

"""What the tables of a structure hold, for whoever looks at it from outside."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

from ..journal.reader import facts_in
from ..layers.settings import database_of
from ..settings import Settings
from .structure_declared import Place, export_in, place_in

DATABASE, TABLES = "database", "tables"
"""What a state remembers: where its rows go, and into which tables."""


def rows_in(settings: Settings) -> Mapping[str, int] | None:
    """By what the state says of itself; None if there is nothing yet."""
    if not settings.pools_file.exists():
        return None
    facts = facts_in(settings.pools_file)
    if not (said := facts.get(DATABASE)):
        return None
    database = database_of(settings.databases, said, settings.structure.password_file)
    target = Place(database.url, settings.state, database.password_file, None).visited()
    if target is None:
        return None
    with closing(target):
        counts = target.counts(facts.get(TABLES, "").split("\n"))
        return {name: each.rows for name, each in counts.items()}


def require_database(settings: Settings) -> None:
    """Unreachable if a server does not answer."""
    export = export_in(settings)
    if export is not None and (place := place_in(settings, export)).is_server:
        target = place.visited()
        if target is not None:
            target.close()

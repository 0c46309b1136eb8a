"""What the tables of a task hold, for whoever looks at it from outside."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

from ..journal.reader import facts_in
from ..layers.settings import database_of
from ..settings import Settings
from ..tables.rows import TableCount
from ..tables.target import visit_target
from .layers_task import database_in, is_server

DATABASE, TABLES = "database", "tables"
"""What a state remembers: where its rows go, and into which tables."""


def counts_in(settings: Settings) -> Mapping[str, TableCount] | None:
    """By what the state says of itself; None if there is nothing yet."""
    if not settings.pools_file.exists():
        return None
    facts = facts_in(settings.pools_file)
    if not (said := facts.get(DATABASE)):
        return None
    database = database_of(settings.databases, said, settings.layers.password_file)
    target = visit_target(database.url, settings.state, database.password_file)
    if target is None:
        return None
    with closing(target):
        return target.counts(facts.get(TABLES, "").split("\n"))


def require_answer(settings: Settings) -> None:
    """Unreachable if a server does not answer."""
    database = database_in(settings)
    if is_server(database.url):
        target = visit_target(database.url, settings.state, database.password_file)
        if target is not None:
            target.close()

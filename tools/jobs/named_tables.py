"""The tables of a job that has a state for each name, for whoever looks at them from outside.

Promise: nothing is made; what is looked at is what the state says of itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..journal.reader import facts_in
from ..layers.settings import database_of
from ..settings import Settings

if TYPE_CHECKING:  # they take SQLAlchemy with them
    from ..tables.listing import Listing
    from ..tables.rows import TableCount
    from ..tables.target import Target

DATABASE, TABLES = "database", "tables"
"""What a state remembers: where its rows go, and into which tables."""


class Visited(NamedTuple):
    target: Target
    names: list[str]


def counts_of(settings: Settings, password_file: Path | None) -> Mapping[str, TableCount] | None:
    """None if there is nothing yet."""
    with visited(settings, password_file) as found:
        return None if found is None else found.target.counts(found.names)


def names_in(settings: Settings, password_file: Path | None) -> Sequence[str]:
    with visited(settings, password_file) as found:
        return () if found is None else found.target.known(found.names)


def listing_in(
    settings: Settings, password_file: Path | None, name: str, after: str, most: int
) -> Listing | None:
    """None of a table that is another's, or nobody's."""
    with visited(settings, password_file) as found:
        if found is None or name not in found.names:
            return None
        return found.target.listing(name, after, most)


@contextmanager
def visited(settings: Settings, password_file: Path | None) -> Iterator[Visited | None]:
    facts = facts_in(settings.pools_file) if settings.pools_file.exists() else {}
    target = _target(settings, facts.get(DATABASE, ""), password_file)
    if target is None:
        yield None
        return
    with closing(target):
        yield Visited(target, [each for each in facts.get(TABLES, "").split("\n") if each])


def _target(settings: Settings, said: str, password_file: Path | None) -> Target | None:
    if not said:
        return None
    from ..tables.target import visit_target

    database = database_of(settings.databases, said, password_file)
    return visit_target(database.url, settings.state, database.password_file)

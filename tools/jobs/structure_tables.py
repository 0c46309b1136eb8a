"""The tables of a structure: the database they are in, found to be its own, and what fills them."""

from __future__ import annotations

import logging
from argparse import Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..base.credentials import hidden
from ..base.text import amount
from ..engine.pools import Pools
from ..errors import StateDamaged, UsageError
from ..settings import Settings
from ..structure.ahead import Ahead
from ..structure.documents import Documents
from ..structure.export import EXPORTED, UNMATCHED, Exporter
from ..structure.mapping import Export, never_matched
from ..structure.store import Rowing
from ..structure.walk import Walker
from ..tables.rows import Extract, Problem
from .named_tables import DATABASE, TABLES
from .ownership import Past
from .structure_declared import export_in, place_in, structure_in, tables_archived

if TYPE_CHECKING:  # it takes SQLAlchemy with it
    from ..tables.target import Target

logger = logging.getLogger(__name__)

WHOSE = "document"  # the fact that says whose the rows are


class Tables(NamedTuple):
    target: Target
    url: str
    file: Export
    worked: int  # documents that were exported before this start
    is_forced: bool  # all of them come again: nothing is lost if the tables are new
    document: str  # whose the rows are

    @property
    def place(self) -> str:
        return hidden(self.url)

    def make(self, pools: Pools, owner: str, name: str) -> None:
        """They may be those of several structures; the first one's name stays in them."""
        for warning in self.file.warnings:
            logger.warning("%s", warning)
        if self.file.source_db is not None:
            logger.warning(
                "%s: database.source_db is not read: documents come from the job's source, which "
                "may be mongodb://host/database/collection?body=FIELD",
                self.file.file.name,
            )
        tables = self.file.tables
        is_new = self.target.owner(tables) is None
        if is_new and self.worked and not self.is_forced:
            raise _lost(self.url, self.file, self.worked)
        was = pools.remembered().get(WHOSE, self.document)
        if not is_new and was != self.document:
            raise _doubled(was, self.document, self.file, name)
        for sentence in self.target.prepare(tables, name):
            logger.info("%s", sentence)
        if is_new:
            self.target.claim(owner, tables)
        facts = {TABLES: "\n".join(tables), DATABASE: self.place, WHOSE: self.document}
        pools.remember(facts)

    def rowing(self, settings: Settings, documents: Documents) -> Rowing:
        structure = structure_in(settings)
        ways = [*self.file.tables], structure.document, structure.too_long
        return Rowing(documents, self.target, *ways)

    def worker(self, settings: Settings, documents: Documents, ahead: Ahead) -> Exporter:
        structure = structure_in(settings)
        by_key = structure.document == "key"
        walker = Walker(self.file, structure.outer, wants_keys=by_key)

        def judge(extract: Extract) -> list[Problem]:
            return self.target.problems_of(extract, structure.too_long)

        names = [*self.file.tables]
        return Exporter(
            documents, ahead, walker, by_key, names, judge if structure.strict else None
        )

    def tell(self, rowing: Rowing, tally: Mapping[str, int]) -> None:
        """At the end: what was widened, what did not fit, what nothing was found for."""
        for change in dict.fromkeys(rowing.changes):
            logger.warning("%s", change)
        for table, number in rowing.problems.items():
            values = amount(number, "value")
            logger.warning("%s: %s did not fit: see the table _problems", table, values)
        unmatched = {name.removeprefix(UNMATCHED): count for name, count in tally.items()}
        for warning in never_matched(self.file, unmatched, tally.get(EXPORTED, 0)):
            logger.warning("%s", warning)


def opened_tables(settings: Settings, arguments: Namespace, past: Past) -> Tables | None:
    """None if nothing is exported. What was lost is not made anew, unless all is exported again."""
    export = export_in(settings)
    if export is None:
        return None
    place, worked = place_in(settings, export), past.counts.get(EXPORTED, 0)
    if worked and not place.is_there() and not arguments.again:
        raise _lost(place.url, export, worked)
    for sentence in tables_archived(settings, arguments.archive) if arguments.archive else ():
        logger.info("%s", sentence)
        if not arguments.again:
            logger.warning("the new one is empty: `structure export NAME --again` fills it")
    is_forced = arguments.again or bool(arguments.archive)
    arguments.archive = ()  # the next round has its own
    document = structure_in(settings).document
    return Tables(place.opened(), place.url, export, worked, is_forced, document)


def _doubled(was: str, now: str, export: Export, name: str) -> UsageError:
    """Rows are replaced by whose they are: those of the old way would stay beside the new ones."""
    return UsageError(
        f'document was "{was}" and is "{now}" now, and the tables have rows of the old way: '
        f"`structure export {name} --archive {','.join(export.tables)} --again` makes new tables, "
        f'or write document = "{was}"'
    )


def _lost(name: str, export: Export, worked: int) -> StateDamaged:
    return StateDamaged(
        f"{hidden(name)} has no tables of this structure ({', '.join(export.tables)}), though "
        f"{worked:,} documents were exported: bring back the database that their rows went into, "
        "or fill this one with `structure export NAME --again`, or begin anew with --fresh"
    )

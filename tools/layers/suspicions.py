"""What seems to be wrong with the rows of a task: a site that changed, a key that is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..tables.declared import Table
from ..tables.rows import TableCount
from ..tables.target import Target

MOST_COMPARED = 100_000  # rows of a table that are compared after each activity


def suspicions(
    target: Target, tables: Mapping[str, Table], activity: int, most: int | None = MOST_COMPARED
) -> list[str]:
    """A sentence each. What is filled is asked of the rows of this activity: those of a site as it
    was before would hide that it has changed. Tables with more than `most` rows are not compared
    row by row."""
    found: list[str] = []
    latest = target.counts(tables, activity)
    for name, count in target.counts(tables).items():
        found += _rare(tables[name], latest[name])
        is_large = most is not None and count.rows > most
        if not tables[name].key and not is_large and (number := target.doubled(name)):
            found.append(
                f"{name} has no key, and {number:,} rows of it came from two requests or more: "
                "give it a key"
            )
    return found


def _rare(table: Table, count: TableCount) -> Iterator[str]:
    """Where fewer rows have something in a column than should."""
    for column, share in table.at_least.items() if count.rows else ():
        there = count.filled.get(column, 0) / count.rows
        if there < share:
            yield f"{table.name}.{column} is in {there:.0%} of the latest rows, not in {share:.0%}"

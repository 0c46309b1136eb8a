"""Worker of the last stage: the JSON of a document -> its rows, by the mapping of the job's export.

Promise: it needs no database; whose the rows are is decided when they are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from ..base.text import amount, clipped, one_line
from ..engine.stage import Done, Task
from ..errors import GiveUp
from ..tables.rows import Extract, Problem
from .ahead import Ahead
from .documents import Documents
from .queues import hash_of, queue_of
from .walk import Walked, Walker

EXPORTED, UNMATCHED = "exported", "unmatched "
LONGEST = 200  # characters of a value in a reason

Rows = Mapping[str, Sequence[tuple[Any, ...]]]


class Exported(NamedTuple):
    """The rows of a document, by their outer key where rows belong to that; else under ""."""

    hash: str
    parts: Mapping[str, Rows]


class Exporter:
    """`judge` says what would be wrong with rows, where a document with such is refused."""

    def __init__(
        self,
        documents: Documents,
        ahead: Ahead,
        walker: Walker,
        by_key: bool,
        tables: Sequence[str],
        judge: Callable[[Extract], Sequence[Problem]] | None = None,
    ) -> None:
        self._documents = documents
        self._ahead = ahead
        self._walker = walker
        self._by_key = by_key
        self._tables = tables
        self._judge = judge

    def __call__(self, task: Task) -> Done:
        hash_ = hash_of(task.uri)
        found = self._ahead.json_of(task)
        if found is None:
            return self._without(hash_)
        json, source = found
        walked = self._walker(orjson.loads(json), source)
        if self._judge is not None:
            _refuse(self._judge(Extract(hash_, walked.rows, self._tables)))
        parts = _by_key(walked) if self._by_key else {"": walked.rows}
        tally = {EXPORTED: 1, queue_of(task): 1}
        for name in walked.unmatched:
            tally[f"{UNMATCHED}{name}"] = 1
        return Done("finished", records=Exported(hash_, parts), tally=tally)

    def _without(self, hash_: str) -> Done:
        """Bytes that changed before anybody parsed them have no document; others must."""
        if self._documents.holders([hash_]):
            raise GiveUp("its document is not in documents.db: `structure parse --again` makes it")
        return Done("finished", records=Exported(hash_, {}))


def _refuse(problems: Sequence[Problem]) -> None:
    """GiveUp if there are any."""
    if problems:
        first = problems[0]
        more = f" and {amount(len(problems) - 1, 'other problem')}" if problems[1:] else ""
        value = clipped(one_line(str(first.value)), LONGEST)
        raise GiveUp(f"{first.table}.{first.column}: {value!r}: {first.why}{more}")


def _by_key(walked: Walked) -> dict[str, dict[str, list[tuple[Any, ...]]]]:
    parts: dict[str, dict[str, list[tuple[Any, ...]]]] = {}
    for table, rows in walked.rows.items():
        for key, row in zip(walked.keys[table], rows, strict=True):
            parts.setdefault(key, {}).setdefault(table, []).append(row)
    return parts

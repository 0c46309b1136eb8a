"""Files by what they are: sixty a page, the latest first.

Files that no filter tells apart share a bucket, and there are few of those. Only the sixty buckets
whose next file is the latest can have a part in the next page, so a million files cost what sixty
cost; and how many files a filter would leave is a sum over buckets.

Promise: a page is found by the key of the last file of the one before, never by counting.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from heapq import merge
from itertools import islice
from typing import Any, NamedTuple

from ...graphs.reader import File, Reader
from .growing import hash_key
from .sidecar import Sidecar

PAGE = 60
MOST_BUCKETS = 20_000
_KEY = re.compile(r"(-?\d{1,18})\.(\d{1,18})")
NEWEST = (2**62, 0)

Bucket = tuple[Any, ...]
"""Its traits, and how many files it has."""

Place = tuple[int, int]
"""When a file was fetched, and its number here."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Empty means any; `type` is "-" for files of concepts."""

    kind: str = ""
    provider: str = ""
    licence: str = ""
    language: str = ""
    type: str = ""
    size: str = ""

    def wants(self) -> dict[str, str]:
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in given.items() if value}


TRAITS = tuple(each.name for each in fields(Filter))
NO_TYPE = "-"


class Page(NamedTuple):
    files: Sequence[File]
    after: str  # the key of the next page; empty at the end


class Choice(NamedTuple):
    """One value of a filter, and how many files it would leave beside the other filters."""

    value: str
    number: int


class Facets(NamedTuple):
    total: int  # files that all filters leave
    choices: Mapping[str, Sequence[Choice]]


def page(reader: Reader, sidecar: Sidecar, filter_: Filter, after: str = "") -> Page:
    start, wants = _place(after), filter_.wants()
    found = _filtered(sidecar, wants, start) if wants else _any(sidecar, start)
    return _page(reader, found)


def _page(reader: Reader, found: Sequence[tuple[int, int, str]]) -> Page:
    """A file that was replaced a moment ago is left out."""
    files = reader.files_at([path for _, _, path in found])
    shown = [files[path] for _, _, path in found if path in files]
    key = f"{found[-1][0]}.{found[-1][1]}" if len(found) == PAGE else ""
    return Page(shown, key)


def _place(key: str) -> Place:
    """What is no key is the beginning."""
    found = _KEY.fullmatch(key)
    return (int(found[1]), int(found[2])) if found else NEWEST


BEFORE = "(fetched, id) < (?, ?) ORDER BY fetched DESC, id DESC LIMIT"
ANY = f"SELECT fetched, id, path FROM file WHERE {BEFORE} {PAGE}"
OF_BUCKET = f"SELECT fetched, id, path FROM file WHERE bucket = ? AND {BEFORE} {PAGE}"
FIRST_OF_EACH = """SELECT b.id, f.fetched, f.id FROM bucket AS b JOIN file AS f ON f.id = (
        SELECT id FROM file WHERE bucket = b.id AND {before} 1)
    WHERE {wanted} ORDER BY 2 DESC, 3 DESC LIMIT {page}"""


def _any(sidecar: Sidecar, start: Place) -> list[tuple[int, int, str]]:
    return sidecar.reading.execute(ANY, start).fetchall()


def _filtered(
    sidecar: Sidecar, wants: Mapping[str, str], start: Place
) -> list[tuple[int, int, str]]:
    db = sidecar.reading
    wanted = " AND ".join(f"b.{name} = ?" for name in wants)
    query = FIRST_OF_EACH.format(before=BEFORE, wanted=wanted, page=PAGE)
    buckets = db.execute(query, (*start, *map(_stored, wants.values()))).fetchall()
    each = [db.execute(OF_BUCKET, (bucket, *start)).fetchall() for bucket, _, _ in buckets]
    return list(islice(merge(*each, reverse=True), PAGE))


def _stored(value: str) -> str:
    return "" if value == NO_TYPE else value


def facets(sidecar: Sidecar, filter_: Filter) -> Facets:
    """For each filter its values; each as if the others stood."""
    rows = sidecar.reading.execute(
        f"SELECT {', '.join(TRAITS)}, number FROM bucket WHERE number > 0 LIMIT {MOST_BUCKETS}"
    ).fetchall()
    wants = {TRAITS.index(name): _stored(value) for name, value in filter_.wants().items()}
    counted = {name: _counted(rows, at, wants) for at, name in enumerate(TRAITS)}
    total = sum(row[-1] for row in rows if _fits(row, wants))
    return Facets(total, counted)


def _counted(rows: Iterable[Bucket], at: int, wants: Mapping[int, str]) -> list[Choice]:
    others = {place: value for place, value in wants.items() if place != at}
    numbers: Counter[str] = Counter()
    for row in rows:
        if _fits(row, others):
            numbers[row[at]] += row[-1]
    return [Choice(value or NO_TYPE, number) for value, number in numbers.most_common()]


def _fits(row: Bucket, wants: Mapping[int, str]) -> bool:
    for place, value in wants.items():  # noqa: SIM110  (`all` takes thrice as long)
        if row[place] != value:
            return False
    return True


def judged_page(reader: Reader, sidecar: Sidecar, hashes: Sequence[str], after: str = "") -> Page:
    """Of files that people judged, in the order of their judgements; the key is the last hash."""
    start = hashes.index(after) + 1 if after in hashes else 0
    chosen = hashes[start : start + PAGE]
    paths = {sha256: _path(sidecar.reading, sha256) for sha256 in chosen}
    files = reader.files_at([path for path in paths.values() if path])
    shown = [files[path] for path in paths.values() if path in files]
    return Page(shown, chosen[-1] if start + PAGE < len(hashes) else "")


def _path(db: sqlite3.Connection, sha256: str) -> str | None:
    row = db.execute("SELECT path FROM file WHERE hash = ?", (hash_key(sha256),)).fetchone()
    return row[0] if row else None

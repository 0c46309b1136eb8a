"""Files by what they are: sixty a page, the latest first.

Files that no filter tells apart share a bucket, and there are few of those. Only the sixty buckets
whose next file is the latest can have a part in the next page, so a million files cost what sixty
cost; and how many files a filter would leave is a sum over buckets.

Promise: a page is found by the key of the last file of the one before, never by counting.
"""

from __future__ import annotations

import re
import sqlite3
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Any, NamedTuple

from ...graphs.reader import File, Reader
from .growing import SAME_BEGINNING, TRAITS, hash_key
from .sidecar import Sidecar

PAGE = 60
LOOKED_AT = 3_000  # files, at most, for one page
MOST_BUCKETS = 20_000
_KEY = re.compile(r"(-?\d{1,18})\.(\d{1,18})", re.ASCII)
_LINE = re.compile(r"\d{1,18}", re.ASCII)
NEWEST = (2**62, 0)

Bucket = tuple[Any, ...]
"""Its traits, and how many files it has."""

Place = tuple[int, int]
"""When a file was fetched, and its number here."""

Row = tuple[Any, ...]
"""A file's place, its path, and the key of its hash."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Empty means any; "-" is for files that have none of it, so `type` for those of concepts."""

    kind: str = ""
    provider: str = ""
    licence: str = ""
    language: str = ""
    type: str = ""
    size: str = ""
    remark: str = ""

    def wants(self) -> dict[str, str]:
        """By trait, as it is stored."""
        given = {name: getattr(self, name) for name in TRAITS}
        return {name: _stored(value) for name, value in given.items() if value}


NONE = "-"


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


def page(
    reader: Reader,
    sidecar: Sidecar,
    filter_: Filter,
    after: str = "",
    without: Collection[str] = (),
) -> Page:
    """But for files with these hashes. Where very many of those stand together a page has fewer
    files, or none, and the next one goes on."""
    passed_over, wants = {hash_key(each) for each in without}, filter_.wants()
    start, found, is_end = _place(after), list[Row](), False
    for size in _rounds():
        rows = _filtered(sidecar, wants, start, size) if wants else _any(sidecar, start, size)
        found += [row for row in rows if row[3] not in passed_over]
        is_end = len(rows) < size
        if is_end or len(found) >= PAGE:
            break
        start = rows[-1][:2]
    last = found[PAGE - 1][:2] if len(found) >= PAGE else start
    is_last = is_end and len(found) <= PAGE
    return Page(
        _shown(reader, [row[2] for row in found[:PAGE]]), "" if is_last else f"{last[0]}.{last[1]}"
    )


def _rounds() -> Iterator[int]:
    """How many files are looked at in each: where buckets are many, what a round costs hardly
    depends on that, so it is twice as many each time."""
    size, left = PAGE, LOOKED_AT
    while left > 0:
        yield min(size, left)
        size, left = size * 2, left - size


def _shown(reader: Reader, paths: Sequence[str]) -> list[File]:
    """A file that was replaced a moment ago is left out."""
    files = reader.files_at(paths)
    return [files[path] for path in paths if path in files]


def _place(key: str) -> Place:
    """What is no key is the beginning."""
    found = _KEY.fullmatch(key)
    return (int(found[1]), int(found[2])) if found else NEWEST


BEFORE = "(fetched, id) < (?, ?) ORDER BY fetched DESC, id DESC LIMIT"
ANY = f"SELECT fetched, id, path, hash FROM file WHERE {BEFORE} ?"
OF_BUCKET = f"SELECT fetched, id, path, hash FROM file WHERE bucket = ? AND {BEFORE} ?"
FIRST_OF_EACH = """SELECT b.id, f.fetched, f.id FROM bucket AS b JOIN file AS f ON f.id = (
        SELECT id FROM file WHERE bucket = b.id AND {before} 1)
    WHERE {wanted} ORDER BY 2 DESC, 3 DESC LIMIT ?"""


def _any(sidecar: Sidecar, start: Place, size: int) -> list[Row]:
    return sidecar.rows(ANY, *start, size)


def _filtered(sidecar: Sidecar, wants: Mapping[str, str], start: Place, size: int) -> list[Row]:
    wanted = " AND ".join(f"b.{name} = ?" for name in wants)
    query = FIRST_OF_EACH.format(before=BEFORE, wanted=wanted)
    buckets = [row[0] for row in sidecar.rows(query, *start, *wants.values(), size)]
    return sidecar.read(lambda db: _merged(db, buckets, start, size))


def _merged(db: sqlite3.Connection, buckets: Iterable[int], start: Place, size: int) -> list[Row]:
    """Of every bucket only those rows are read that have a part in the round, and one more."""
    with ExitStack() as opened:
        each = [
            opened.enter_context(closing(db.execute(OF_BUCKET, (bucket, *start, size))))
            for bucket in buckets
        ]
        return list(islice(merge(*each, reverse=True), size))


def _stored(value: str) -> str:
    return "" if value == NONE else value


def facets(sidecar: Sidecar, filter_: Filter) -> Facets:
    """For each filter its values; each as if the others stood."""
    rows = sidecar.rows(
        f"SELECT {', '.join(TRAITS)}, number FROM bucket WHERE number > 0 LIMIT {MOST_BUCKETS}"
    )
    wants = _by_place(filter_)
    counted = {name: _counted(rows, at, wants) for at, name in enumerate(TRAITS)}
    total = sum(row[-1] for row in rows if _fits(row, wants))
    return Facets(total, counted)


def _by_place(filter_: Filter) -> dict[int, str]:
    return {TRAITS.index(name): value for name, value in filter_.wants().items()}


def _counted(rows: Iterable[Bucket], at: int, wants: Mapping[int, str]) -> list[Choice]:
    others = {place: value for place, value in wants.items() if place != at}
    numbers: Counter[str] = Counter()
    for row in rows:
        if _fits(row, others):
            numbers[row[at]] += row[-1]
    return [Choice(value or NONE, number) for value, number in numbers.most_common()]


def _fits(row: Bucket, wants: Mapping[int, str]) -> bool:
    for place, value in wants.items():  # noqa: SIM110  (`all` takes thrice as long)
        if row[place] != value:
            return False
    return True


OF_HASH = f"""SELECT {", ".join(TRAITS)}, path FROM file JOIN bucket ON bucket.id = bucket
    WHERE hash = ? ORDER BY file.id LIMIT {SAME_BEGINNING}"""


def judged_page(
    reader: Reader,
    sidecar: Sidecar,
    judged: Sequence[tuple[int, str]],
    filter_: Filter | None = None,
    after: str = "",
) -> Page:
    """Of files that people judged, each the line of its judgement and its hash, the last first.
    The key is the last line that was looked at: whatever is said of its file meanwhile, those
    before it follow."""
    wants, found, looked_at = _by_place(filter_ or Filter()), list[str](), 0
    below = int(after) if _LINE.fullmatch(after) else sys.maxsize
    rest = [each for each in judged if each[0] < below]
    for looked_at, (_, sha256) in enumerate(rest[:LOOKED_AT], 1):  # noqa: B007
        found += _path(sidecar, sha256, wants)
        if len(found) == PAGE:
            break
    is_end = looked_at == len(rest)
    return Page(_shown(reader, found), "" if is_end else str(rest[looked_at - 1][0]))


def _path(sidecar: Sidecar, sha256: str, wants: Mapping[int, str]) -> list[str]:
    """Of one file of these bytes, if any is as it is wanted."""
    rows = sidecar.rows(OF_HASH, hash_key(sha256))
    return [row[-1] for row in rows if _fits(row, wants)][:1]

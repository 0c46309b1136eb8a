"""Files by what they are: sixty a page, the latest first.

Files that no filter tells apart share a bucket, and there are few of those. Only the sixty buckets
whose next file is the latest can have a part in the next page, so a million files cost what sixty
cost; and how many files a filter would leave is a sum over buckets.

Promise: a page is found by the key of the last file of the one before, never by counting.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Any, NamedTuple

from ...graphs.reader import File, Reader
from .growing import SAME_BEGINNING, TRAITS, hash_key
from .sidecar import Sidecar

PAGE = 60
MOST_ROUNDS = 50  # of sixty files that are looked at for one page
MOST_BUCKETS = 20_000
_KEY = re.compile(r"(-?\d{1,18})\.(\d{1,18})")
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
    for _ in range(MOST_ROUNDS):
        rows = _filtered(sidecar, wants, start) if wants else _any(sidecar, start)
        found += [row for row in rows if row[3] not in passed_over]
        is_end = len(rows) < PAGE
        if is_end or len(found) >= PAGE:
            break
        start = rows[-1][:2]
    last = found[PAGE - 1][:2] if len(found) >= PAGE else start
    is_last = is_end and len(found) <= PAGE
    return Page(
        _shown(reader, [row[2] for row in found[:PAGE]]), "" if is_last else f"{last[0]}.{last[1]}"
    )


def _shown(reader: Reader, paths: Sequence[str]) -> list[File]:
    """A file that was replaced a moment ago is left out."""
    files = reader.files_at(paths)
    return [files[path] for path in paths if path in files]


def _place(key: str) -> Place:
    """What is no key is the beginning."""
    found = _KEY.fullmatch(key)
    return (int(found[1]), int(found[2])) if found else NEWEST


BEFORE = "(fetched, id) < (?, ?) ORDER BY fetched DESC, id DESC LIMIT"
ANY = f"SELECT fetched, id, path, hash FROM file WHERE {BEFORE} {PAGE}"
OF_BUCKET = f"SELECT fetched, id, path, hash FROM file WHERE bucket = ? AND {BEFORE} {PAGE}"
FIRST_OF_EACH = """SELECT b.id, f.fetched, f.id FROM bucket AS b JOIN file AS f ON f.id = (
        SELECT id FROM file WHERE bucket = b.id AND {before} 1)
    WHERE {wanted} ORDER BY 2 DESC, 3 DESC LIMIT {page}"""


def _any(sidecar: Sidecar, start: Place) -> list[Row]:
    return sidecar.rows(ANY, *start)


def _filtered(sidecar: Sidecar, wants: Mapping[str, str], start: Place) -> list[Row]:
    wanted = " AND ".join(f"b.{name} = ?" for name in wants)
    query = FIRST_OF_EACH.format(before=BEFORE, wanted=wanted, page=PAGE)
    buckets = sidecar.rows(query, *start, *wants.values())
    each = [sidecar.rows(OF_BUCKET, bucket, *start) for bucket, _, _ in buckets]
    return list(islice(merge(*each, reverse=True), PAGE))


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
    hashes: Sequence[str],
    filter_: Filter | None = None,
    after: str = "",
) -> Page:
    """Of files that people judged, in the order of their judgements; the key is the last hash that
    was looked at."""
    wants, found, last = _by_place(filter_ or Filter()), list[str](), ""
    start = hashes.index(after) + 1 if after in hashes else 0
    for last in hashes[start : start + MOST_ROUNDS * PAGE]:
        found += _path(sidecar, last, wants)
        if len(found) == PAGE:
            break
    return Page(_shown(reader, found), "" if last in hashes[-1:] else last)


def _path(sidecar: Sidecar, sha256: str, wants: Mapping[int, str]) -> list[str]:
    """Of one file of these bytes, if any is as it is wanted."""
    rows = sidecar.rows(OF_HASH, hash_key(sha256))
    return [row[-1] for row in rows if _fits(row, wants)][:1]

"""What a harvest has come to: is it sound, and is it the same as another?"""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.command import finished, records
from tools.base.sqlite import reading
from tools.journal.reader import look
from tools.journal.snapshots import newest_good_snapshot, snapshots

BOOKS = ("MEDIA.jsonl", "ATTRIBUTION.csv", "SEARCHES.jsonl", "HARVEST")
TIME = -2  # the column of a media record that says when
SHOWN = 5
OWNER, PATH, SHA256, BYTES = 1, 0, 4, 5  # columns of a media record


class Places(NamedTuple):
    """Where one harvest keeps everything."""

    state: Path
    media: Path

    @property
    def pools(self) -> Path:
        return self.state / "pools.db"

    @property
    def graph(self) -> Path:
        return self.state / "graph.db"


class Essence(NamedTuple):
    """What must be the same in every harvest of the same world."""

    finished: Sequence[str]
    graph: Mapping[str, Sequence[tuple[Any, ...]]]
    files: Mapping[str, str]  # SHA-256 by path
    searches: Mapping[str, str]  # how many were kept, by owner


def essence(places: Places) -> Essence:
    graph = records(places.graph)
    graph["media"] = [(*row[:TIME], *row[TIME + 1 :]) for row in graph["media"]]
    hashes = {name: _sha256(path) for name, path in on_disk(places.media).items()}
    searches = _json_lines(places.media / "SEARCHES.jsonl")
    kept = {each["owner"]: str(each["kept"]) for each in searches}
    return Essence(finished(places.state), graph, hashes, kept)


def differences(one: Essence, other: Essence) -> list[str]:
    """In words, `one` being what the other should be."""
    found = list(_compared("finished", one.finished, other.finished))
    for table, rows in one.graph.items():
        found += _compared(f"graph, {table}", rows, other.graph[table])
    found += _compared("files", one.files.items(), other.files.items())
    return found + list(_compared("searches", one.searches.items(), other.searches.items()))


def _compared(what: str, wanted: Iterable[Any], found: Iterable[Any]) -> Iterator[str]:
    wanted, found = Counter(wanted), Counter(found)
    for word, rest in (("missing", wanted - found), ("too much", found - wanted)):
        for each in sorted(map(repr, rest))[:SHOWN]:
            yield f"{what}: {word}: {each}"
        if len(rest) > SHOWN:
            yield f"{what}: {word}: {len(rest) - SHOWN} more"


def flaws(places: Places) -> list[str]:
    """What is wrong with a harvest that has come to its end."""
    return [*_pool_flaws(places), *_media_flaws(places), *_book_flaws(places)]


def _pool_flaws(places: Places) -> Iterator[str]:
    seen = look(places.pools)
    left = {pool: count for pool, count in seen.pools.items() if count and pool != "finished"}
    if left:
        yield f"pools: not everything is finished: {left} {seen.failures}"
    yield from state_flaws(places.pools)
    taken = snapshots(places.pools)  # none, if it was killed amid the first
    if taken and taken[-1] != newest_good_snapshot(places.pools):
        yield "snapshots: the newest one is not good"
    if drafts := list((places.state / "drafts").rglob("*.json")):
        yield f"drafts: {len(drafts)} are left over"


def state_flaws(pools: Path) -> Iterator[str]:
    """What must not be at any moment, whoever was killed."""
    with closing(reading(pools)) as db:
        if (verdict := db.execute("PRAGMA integrity_check").fetchone()) != ("ok",):
            yield f"pools: {verdict}"
        twice = db.execute("SELECT uri FROM uri GROUP BY uri HAVING count(*) > 1").fetchall()
        lost = db.execute("SELECT id FROM lease WHERE id NOT IN (SELECT id FROM uri)").fetchall()
        known = db.execute("SELECT count(*) FROM uri WHERE pool IN (SELECT id FROM pool)")
        all_uris, in_pools = db.execute("SELECT count(*) FROM uri").fetchone(), known.fetchone()
    if twice or lost or all_uris != in_pools:
        yield f"pools: not in one pool each: {twice[:SHOWN]} {lost[:SHOWN]} {in_pools} {all_uris}"
    if short := {name: count for name, count in look(pools).pools.items() if count < 0}:
        yield f"pools: fewer than none: {short}"


def _media_flaws(places: Places) -> Iterator[str]:
    known = {row[PATH]: row for row in records(places.graph)["media"]}
    files = on_disk(places.media)
    yield from (f"media: a file without a record: {name}" for name in files.keys() - known.keys())
    yield from (f"media: a record without a file: {name}" for name in known.keys() - files.keys())
    for name in files.keys() & known.keys():
        wanted = known[name][SHA256], known[name][BYTES]
        if wanted != (_sha256(files[name]), files[name].stat().st_size):
            yield f"media: another file than recorded: {name}"
    twice = Counter((row[OWNER], row[SHA256]) for row in known.values())
    yield from (f"media: there twice: {key}" for key, count in twice.items() if count > 1)


def _book_flaws(places: Places) -> Iterator[str]:
    known = [row[PATH] for row in records(places.graph)["media"]]
    lines = _json_lines(places.media / "MEDIA.jsonl")
    with (places.media / "ATTRIBUTION.csv").open(encoding="utf-8", newline="") as file:
        credited = [row["path"] for row in csv.DictReader(file)]
    yield from _compared("MEDIA.jsonl", known, (line["path"] for line in lines))
    yield from _compared("ATTRIBUTION.csv", known, credited)
    owners = Counter(each["owner"] for each in _json_lines(places.media / "SEARCHES.jsonl"))
    yield from (f"SEARCHES.jsonl: {key} is there twice" for key, n in owners.items() if n > 1)


def _json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def on_disk(media: Path) -> dict[str, Path]:
    """Every file of a media folder but its books."""
    files = (path for path in media.rglob("*") if path.is_file())
    found = {path.relative_to(media).as_posix(): path for path in files}
    return {name: path for name, path in found.items() if name not in BOOKS}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def counted(pools: Path) -> dict[str, int]:
    """How many URIs are in each pool, those that are at work where they wait."""
    query = "SELECT name, (SELECT count(*) FROM uri WHERE pool = pool.id) FROM pool"
    with closing(reading(pools)) as db:
        return dict(db.execute(query))

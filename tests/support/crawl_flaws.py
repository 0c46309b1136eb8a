"""Do the archive and the table of a crawl agree, record by record? Read by other people's tools."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import zstandard
from warcio.archiveiterator import ArchiveIterator

Ask = Callable[[str], list[Any]]
"""A question in SQL -> its rows."""
CAPTURES = """SELECT file, "offset", length, kind, address, digest, status FROM captures"""
KEPT = ("response", "revisit")


def flaws(archive: Path, ask: Ask) -> list[str]:
    return [*_of_archive(archive, ask), *_of_words(ask), *_of_pages(ask)]


def captures_of(ask: Ask) -> Counter[str]:
    """How often each page is in the archive."""
    return Counter(url for (url,) in ask("SELECT url FROM captures JOIN pages ON pages.id = page"))


def _of_archive(archive: Path, ask: Ask) -> Iterator[str]:
    told = {(row[0], int(row[1])): row[2:] for row in ask(CAPTURES)}
    ends = dict(ask("SELECT name, bytes FROM files"))
    files = {str(each.relative_to(archive)): each for each in archive.rglob("*.warc.gz")}
    if set(ends) != set(files):
        yield f"files differ: {set(ends) ^ set(files)}"
    for name, path in files.items():
        if path.stat().st_size != ends.get(name):
            yield f"{name} has {path.stat().st_size} bytes, committed are {ends.get(name)}"
        for offset, length, *found in _records(path):
            said = told.pop((name, offset), None)
            if said is None:
                yield f"{name} at {offset} is in no row: {found}"
            elif (length, *found) != tuple(said):
                yield f"{name} at {offset}: {said} in the table, {found} in the archive"
    yield from (f"{place} is not in the archive" for place in told)


def _records(path: Path) -> Iterator[tuple[Any, ...]]:
    """Offset, length, kind, address, digest and status of each answer."""
    with path.open("rb") as file:
        records = ArchiveIterator(file)
        for record in records:
            kind, about = record.rec_type, record.rec_headers
            if kind in KEPT:
                digest = about.get_header("WARC-Payload-Digest")
                payload = record.raw_stream.read()
                if kind == "response" and _digest(payload) != digest:
                    digest = f"not {digest}"
                status = int(record.http_headers.get_statuscode())
                place = records.get_record_offset(), records.get_record_length()
                yield (*place, kind, about.get_header("WARC-Target-URI"), digest, status)


def _digest(payload: bytes) -> str:
    return f"sha1:{base64.b32encode(hashlib.sha1(payload).digest()).decode()}"


def _of_words(ask: Ask) -> Iterator[str]:
    """The words of all are the sum of those of each."""
    summed: Counter[str] = Counter()
    for page, packed in ask("SELECT page, counts FROM page_words"):
        counts = json.loads(zstandard.ZstdDecompressor().decompress(bytes(packed)))
        summed.update(counts)
        ((number,),) = ask(f"SELECT words FROM pages WHERE id = {page}")
        if number != sum(counts.values()):
            yield f"page {page} has {number} words, counted are {sum(counts.values())}"
    told = {word: int(count) for word, count in ask("SELECT word, count FROM words")}
    if told != summed:
        yield f"words differ: {Counter(told) - summed} {summed - Counter(told)}"


def _of_pages(ask: Ask) -> Iterator[str]:
    kept = captures_of(ask)
    for url, state, status in ask("SELECT url, state, status FROM pages"):
        if state == 0:
            yield f"{url} was not finished"
        if status is not None and not kept[url]:
            yield f"{url} has an answer that is not in the archive"

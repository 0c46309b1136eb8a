"""A crawl as files for other tools: its pages as a tree, its archive, or its table.

Promise: the folder appears when everything is in it. Though the crawl may go on meanwhile, whatever
is named in it is in it, too; a few thousand rows are in memory, and one body.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from importlib import import_module
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple, get_args, get_type_hints

import orjson

from ..archive import cdxj, wacz
from ..base import extras
from ..errors import GiveUp, StateDamaged, UsageError
from ..exports.folder import new_folder
from ..exports.tables import Row, text_file
from ..graphs.fields import Field
from .archived import Archived, indexed
from .file_names import apart, by_itself, file_of
from .page import FETCHED, Page
from .table import PageTable

ROWS = 1000  # written together
CHUNK = 2**20
LIST, WACZ, TABLE = "files.csv", "pages.wacz", "pages"
Show = Callable[[int], object]


class Crawled(NamedTuple):
    """What is exported, and who is told how far it is."""

    table: PageTable
    archive: Path
    most_bytes: int
    show: Show


class Format(NamedTuple):
    write: Callable[[Crawled, Path], None]
    contents: str
    needs_archive: bool = True


def export(crawled: Crawled, folder: Path, name: str) -> None:
    chosen = format_named(name)
    if chosen.needs_archive:
        _require_files(crawled)
    with extras.named(), new_folder(folder, f"{chosen.contents}\n", "pages export") as part:
        chosen.write(crawled, part)


def format_named(name: str) -> Format:
    if name not in FORMATS:
        raise UsageError(f"pages export cannot write {name!r}: take one of {', '.join(FORMATS)}")
    return FORMATS[name]


def _require_files(crawled: Crawled) -> None:
    for file in crawled.table.files():
        if not (crawled.archive / file.name).exists():
            where = "was shipped to the receiving node" if file.shipped_at else "is gone"
            raise StateDamaged(f"{crawled.archive / file.name} {where}: bring it back first")


# --- the pages, a file each ------------------------------------------------------------------


def _write_files(crawled: Crawled, folder: Path) -> None:
    archived = Archived(crawled.table, crawled.archive, crawled.most_bytes)
    with text_file(folder / LIST) as listing:
        rows = csv.writer(listing)
        rows.writerow(("url", "address", "file"))
        for page in crawled.table.pages():
            if (body := _body(archived, page, crawled.most_bytes)) is not None:
                file = _written(folder, page, body)
                rows.writerow((page.url, page.address, file))
            crawled.show(1)


def _body(archived: Archived, page: Page, most_bytes: int) -> bytes | None:
    """None of what failed, leads elsewhere, or asked not to be kept."""
    if page.state != FETCHED or page.redirect is not None or page.digest is None:
        return None
    try:
        kept = archived.latest(page.url)
        return None if kept is None else kept.body(most_bytes)
    except GiveUp as error:
        raise StateDamaged(f"{error}: `python main.py pages check` tells what is lost") from error


def _written(folder: Path, page: Page, body: bytes) -> PurePosixPath:
    """Under the first of its names that is free; the pages come in the order of their urls, so that
    the same table gives the same names."""
    first = file_of(page.url, page.content_type)
    for file in (first, apart(first, page.url)):
        try:
            return _new_file(folder, file, body)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue
    return _new_file(folder, by_itself(page.url), body)


def _new_file(folder: Path, file: PurePosixPath, body: bytes) -> PurePosixPath:
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    with (folder / file).open("xb") as opened:
        opened.write(body)
    return file


# --- the archive -----------------------------------------------------------------------------


def _write_warc(crawled: Crawled, folder: Path) -> None:
    ends = crawled.table.ends_of_files()
    for name, size in ends.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with (crawled.archive / name).open("rb") as source, (folder / name).open("xb") as target:
            while chunk := source.read(min(CHUNK, size)):
                target.write(chunk)
                size -= len(chunk)
        if size:
            raise StateDamaged(f"{crawled.archive / name} has fewer bytes than the table says")
    cdxj.write_index(folder / cdxj.FILE, _captures(crawled, ends))


def _write_wacz(crawled: Crawled, folder: Path) -> None:
    ends = crawled.table.ends_of_files()
    captures, pages = _captures(crawled, ends), _listed(crawled)
    wacz.export(crawled.archive, folder / WACZ, ends, captures, pages)


def _captures(crawled: Crawled, ends: dict[str, int]) -> Iterator[cdxj.Capture]:
    """Those that are in the files as they are copied."""
    for capture in indexed(crawled.table):
        if capture.place.offset + capture.place.length <= ends.get(capture.place.file, 0):
            yield capture


def _listed(crawled: Crawled) -> Iterator[wacz.Page]:
    for page in crawled.table.pages():
        crawled.show(1)
        if page.state == FETCHED and page.title is not None and page.digest is not None:
            moment = datetime.fromisoformat(page.fetched_at or page.updated_at)
            yield wacz.Page(page.address, moment, page.title)


# --- the table -------------------------------------------------------------------------------


AS_TEXT = ("paths", "extra")
"""In JSON, where a cell cannot be a list of lists or an object."""


def _fields() -> list[Field]:
    return [_field(name, hint) for name, hint in get_type_hints(Page).items()]


def _field(name: str, hint: object) -> Field:
    kinds = [each for each in get_args(hint) if each is not type(None)] or [hint]
    is_optional = type(None) in get_args(hint)
    if name in AS_TEXT:
        return Field(name, str, is_optional)
    if name == "sub_urls":
        return Field(name, list, is_optional)
    kind = kinds[0]
    return Field(name, kind if isinstance(kind, type) else str, is_optional)


def _write_table(module: str) -> Callable[[Crawled, Path], None]:
    def write(crawled: Crawled, folder: Path) -> None:
        make = import_module(f"...exports.{module}", __name__).Table  # pyarrow takes its time
        file = folder / f"{TABLE}.{module.partition('_')[0]}"
        row = tuple if module == "jsonl" else _flat
        pages = crawled.table.pages()
        with closing(make(file, _fields())) as table:
            while rows := [row(page) for page in islice(pages, ROWS)]:
                table.add(rows)
                crawled.show(len(rows))

    return write


def _flat(page: Page) -> Row:
    cells = page._asdict()
    return tuple(_json(cells[name]) if name in AS_TEXT else cells[name] for name in cells)


def _json(value: object) -> str | None:
    return None if value is None else orjson.dumps(value).decode()


OF_TABLE = "the page table, a row for each page that is known, with the columns of docs/pages.md"
FORMATS: dict[str, Format] = {
    "files": Format(
        _write_files,
        "In it: a folder for each host with its pages as they were sent, unpacked. files.csv\n"
        "tells which page each file is: names are bounded, and no two pages have the same.",
    ),
    "warc": Format(
        _write_warc,
        "In it: the WARC files of the archive with their index, index.cdxj, for programs that\n"
        "replay them, such as pywb.",
    ),
    "wacz": Format(
        _write_wacz,
        "In it: pages.wacz, the archive as one file for viewers such as ReplayWeb.page.",
    ),
    "csv": Format(_write_table("csv_files"), f"In it: pages.csv, {OF_TABLE}.", False),
    "jsonl": Format(_write_table("jsonl"), f"In it: pages.jsonl, {OF_TABLE}.", False),
    "parquet": Format(_write_table("parquet"), f"In it: pages.parquet, {OF_TABLE}.", False),
}

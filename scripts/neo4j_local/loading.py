"""Loading an export: the folder is looked through first, and the old database stays until the new
one is complete.

Promise: whatever fails, and whenever this is killed, there is the old database or the new one. Both
need room at the same time. Looking through takes about 100 bytes of memory for each entity.
"""

from __future__ import annotations

import csv
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from neo4j_local.problem import Problem

TABLES = ("entities", "media", "relations")
PARTS = ("databases", "transactions")  # of a database, each in a folder of its own
csv.field_size_limit(sys.maxsize)


# --- the folder --------------------------------------------------------------------------------


def check_export(folder: Path) -> None:
    """Every file is there, every line is whole, and every relation has both ends."""
    names = [f"{name}{suffix}.csv" for name in TABLES for suffix in ("-header", "")]
    if missing := [name for name in names if not (folder / name).is_file()]:
        raise Problem(f"{folder} is no export folder, it lacks {', '.join(missing)}", 2)
    (uri,) = _columns(folder, "entities", ":ID(")
    known = {hash(row[uri]) for row in _rows(folder, "entities")}
    for _ in _rows(folder, "media"):
        pass
    ends = _columns(folder, "relations", ":START_ID(", ":END_ID(")
    for row in _rows(folder, "relations"):
        for end in ends:
            if hash(row[end]) not in known:
                raise Problem(
                    f"{folder} is not whole: a relation needs {row[end]}, which is not in"
                    " entities.csv. Nothing was changed; export the graph again",
                    2,
                )


def _rows(folder: Path, table: str) -> Iterator[list[str]]:
    width, file = len(_header(folder, table)), folder / f"{table}.csv"
    if not _ends_its_line(file):
        raise _cut(file)
    with file.open(encoding="utf-8", newline="") as lines:
        try:
            for row in csv.reader(lines, strict=True):
                if len(row) != width:
                    raise _cut(file)
                yield row
        except (csv.Error, UnicodeDecodeError) as error:
            raise _cut(file) from error


def _columns(folder: Path, table: str, *marks: str) -> list[int]:
    header = _header(folder, table)
    found = [at for mark in marks for at, name in enumerate(header) if mark in name]
    if len(found) != len(marks):
        raise _cut(folder / f"{table}-header.csv")
    return found


def _header(folder: Path, table: str) -> list[str]:
    return (folder / f"{table}-header.csv").read_text(encoding="utf-8").rstrip("\n").split(",")


def _ends_its_line(file: Path) -> bool:
    with file.open("rb") as content:
        size = content.seek(0, os.SEEK_END)
        content.seek(max(0, size - 1))
        return content.read() in (b"", b"\n")


def _cut(file: Path) -> Problem:
    return Problem(
        f"{file} is cut short or damaged. Nothing was changed; export the graph again", 2
    )


# --- the database ------------------------------------------------------------------------------


def new_home(home: Path) -> Path:
    """An empty home beside the data, to import into."""
    new = home / "import.part"
    shutil.rmtree(new, ignore_errors=True)
    (new / "data").mkdir(parents=True)
    return new


def swap_in(home: Path, new: Path) -> None:
    """From the first rename on the new database counts, though a kill may leave the rest to
    `settle`."""
    (new / "data").rename(home / "data/imported")
    shutil.rmtree(new, ignore_errors=True)
    settle(home)


def settle(home: Path) -> None:
    """Complete what a kill interrupted: the new database takes the place of the old one."""
    imported = home / "data/imported"
    for part in PARTS:
        if (imported / part / "neo4j").is_dir():
            place = home / "data" / part / "neo4j"
            if place.exists():
                shutil.rmtree(place)
            place.parent.mkdir(exist_ok=True)
            (imported / part / "neo4j").rename(place)
    if imported.exists():
        shutil.rmtree(imported)

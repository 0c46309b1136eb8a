"""The archive's files and the table, made to agree after whatever ended the last run.

What was appended but never committed is cut off. A file without any known record goes only if its
first record proves that this harvest wrote it. Of one that is shorter than the table says nothing
is cut: its pages are put back, and then it is cut to those that are left.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..base.files import sync
from .names import ENDING, number_of
from .origin import Origin


class Short(NamedTuple):
    """A file that ends before the last record of it in the table; 0 bytes if it is gone."""

    file: str
    bytes: int
    expected: int


@dataclass(frozen=True, slots=True)
class Recovery:
    """What the start found."""

    cut: dict[str, int] = field(default_factory=dict)  # bytes behind the last known record
    removed: list[str] = field(default_factory=list)  # files of ours without any known record
    short: list[Short] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)  # unknown, and not proven ours: left alone


def cut_back(
    folder: Path, origin: Origin, ends: Mapping[str, int], shipped: Collection[str] = ()
) -> Recovery:
    """Files that were `shipped` are whole on the receiving node, whatever is left of them here."""
    found = Recovery()
    for name, end in ends.items():
        if name not in shipped and (size := _size(folder / name)) < end:
            found.short.append(Short(name, size, end))
    for name in [*our_files(folder)]:
        if name in shipped:
            continue
        if ends.get(name):
            _cut(folder / name, name, ends[name], found)
        elif origin.wrote(folder / name):
            (folder / name).unlink()
            found.removed.append(name)
        else:
            found.strange.append(name)
    for name in [*our_files(folder, f"{ENDING}.part")]:
        (folder / name).unlink()  # a kill came before its first record had a name
    return found


def our_files(folder: Path, ending: str = ENDING) -> Iterator[str]:
    """Those that are called as ours are, from the folder on."""
    for path in folder.glob(f"[0-9a-f][0-9a-f]/*/*{ending}"):
        name = path.relative_to(folder).as_posix()
        if number_of(name.removesuffix(".part")) is not None and not path.is_symlink():
            yield name


def _cut(path: Path, name: str, end: int, found: Recovery) -> None:
    behind = _size(path) - end
    if behind > 0:
        os.truncate(path, end)
        sync(path)
        found.cut[name] = behind


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0

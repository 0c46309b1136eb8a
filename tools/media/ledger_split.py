"""Books that list too many files for one batch, cut into several."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from .ledger_lines import CREDITS, FILES, OWNER_IN, SEARCHES, csv_lines, owner_in_json


def divide(folder: Path, most: int, place: Callable[[int], Path]) -> None:
    """The books there, cut between owners into parts that list about so many files each."""
    part_of = _parts(folder, most)
    for name, owner_in in OWNER_IN.items():
        if not (folder / name).exists():
            continue
        with ExitStack() as stack, (folder / name).open("rb") as lines:
            parts: dict[int, IO[bytes]] = {}
            for line in lines:
                number = part_of.get(owner_in(line) or "")
                if number is None:  # the head of a table, or torn
                    continue
                if number not in parts:
                    parts[number] = stack.enter_context((place(number) / name).open("wb"))
                    parts[number].write(csv_lines([], header=True) if name == CREDITS else b"")
                parts[number].write(line)


def _parts(folder: Path, most: int) -> dict[str, int]:
    """The number of the part that an owner goes into."""
    found: dict[str, int] = {}
    number = files = 0
    for owner in _owners(folder / FILES):
        if owner not in found and files >= most:
            number, files = number + 1, 0
        found.setdefault(owner, number)
        files += 1
    for owner in _owners(folder / SEARCHES):
        found.setdefault(owner, number)  # those without any file
    return found


def _owners(book: Path) -> Iterator[str]:
    if book.exists():
        with book.open("rb") as lines:
            yield from filter(None, map(owner_in_json, lines))

"""Where a crawl begins: web addresses as a user types them, or keeps them in a file.

Promise: every line that is no web address is named with its number before anything is asked; what
has no scheme is taken for https.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ..base.list_file import lines_in
from ..documents.address import as_seed
from ..errors import UsageError

MOST_NAMED = 20
EXAMPLE = "write it like https://example.org/"


def seeds_of(given: Iterable[str], file: Path | None) -> tuple[str, ...]:
    """As they were typed, in their order, each once."""
    found, wrong = [], []
    for where, text in [*_typed(given), *(_in_file(file) if file else ())]:
        if as_seed(text) is None:
            wrong.append(f"{where} {text!r}")
        else:
            found.append(text)
    if wrong:
        raise UsageError(_refused(wrong))
    if not found:
        missing = f"{file} names none" if file else "give --seeds FILE or --seed URL"
        raise UsageError(f"there is no seed: {missing}; {EXAMPLE}")
    return tuple(dict.fromkeys(found))


def _typed(given: Iterable[str]) -> Iterator[tuple[str, str]]:
    for each in given:
        yield "the seed", each.strip()


def _in_file(file: Path) -> Iterator[tuple[str, str]]:
    """One a line; what follows a `#` that stands alone or begins the line is a remark."""
    for number, line in lines_in(file):
        text = "" if line.lstrip().startswith("#") else line.partition(" #")[0].strip()
        if text:
            yield f"line {number} of {file}:", text


def _refused(wrong: list[str]) -> str:
    more = len(wrong) - MOST_NAMED
    rest = f"; and {more:,} more" if more > 0 else ""
    number = "is no web address" if len(wrong) == 1 else "are no web addresses"
    return f"{'; '.join(wrong[:MOST_NAMED])}{rest} {number}: {EXAMPLE}"

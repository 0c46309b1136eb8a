"""What a page shows as a table to download, for spreadsheets and programs.

Promise: no text of a stranger is a formula to whoever opens it: one that begins like that has an
apostrophe before it, which says to a spreadsheet that this is text. A long one is made while it is
sent, some rows at a time, so that it costs no memory and keeps nobody waiting. One that ends before
its time was not sent to its end: the connection breaks.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from itertools import chain, islice
from typing import NamedTuple

from starlette.responses import Response, StreamingResponse

FORMULA = tuple(
    "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
)  # the last ones are wide, as Japanese has them
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
AT_ONCE = 1_000  # rows
LONGEST = 60  # characters of a file's name


class Sheet(NamedTuple):
    name: str
    columns: Sequence[str]
    rows: Iterable[Sequence[object]]


def download(sheet: Sheet) -> Response:
    headers = {
        "content-type": "text/csv; charset=utf-8",
        "content-disposition": f'attachment; filename="{_plain(sheet.name)}.csv"',
    }
    return StreamingResponse(_pieces(chain([sheet.columns], sheet.rows)), headers=headers)


def _pieces(rows: Iterable[Sequence[object]]) -> Iterator[bytes]:
    rest = iter(rows)
    while some := list(islice(rest, AT_ONCE)):
        text = StringIO(newline="")
        csv.writer(text).writerows(map(_harmless, row) for row in some)
        yield text.getvalue().encode(errors="replace")


def _harmless(cell: object) -> object:
    """
    >>> [_harmless(each) for each in ("=1+1", "-x", "-1.5", -1.5, "a=b", None)]
    ["'=1+1", "'-x", '-1.5', -1.5, 'a=b', None]
    """
    is_formula = isinstance(cell, str) and cell.startswith(FORMULA) and not NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def _plain(name: str) -> str:
    r"""Nothing that a header or a disk takes for more than a name.

    >>> _plain('/c/en/o"neil\r\n../x'), _plain("犬")
    ('c_en_o_neil_x', 'table')
    """
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:LONGEST] or "table"

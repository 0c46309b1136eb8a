"""The books beside the media: what they are called, their lines, and whose each line is."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

import orjson

from .credits import COLUMNS, Credit, as_csv

FILES, CREDITS, SEARCHES = "MEDIA.jsonl", "ATTRIBUTION.csv", "SEARCHES.jsonl"
BOOKS = (FILES, CREDITS, SEARCHES)
LONGEST_LINE = 2**25  # bytes

# The credits are read back, and some names are longer than csv takes by itself.
csv.field_size_limit(LONGEST_LINE)


def owner_in_json(line: bytes) -> str | None:
    """None if the line was torn by a power cut."""
    try:
        owner: str = orjson.loads(line)["owner"]
        return owner if line.endswith(b"\n") else None
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None


def owner_in_csv(line: bytes) -> str | None:
    try:
        cells = next(csv.reader([line.decode(errors="replace")]), [])
    except csv.Error:
        return None
    return cells[1] if len(cells) == len(COLUMNS) and line.endswith(b"\n") else None


def json_line(value: Mapping[str, object]) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def csv_lines(credits: Sequence[Credit], header: bool) -> bytes:
    text = io.StringIO(newline="")
    if credits or header:
        as_csv(credits, text, header)
    return text.getvalue().encode()


OWNER_IN = {FILES: owner_in_json, CREDITS: owner_in_csv, SEARCHES: owner_in_json}

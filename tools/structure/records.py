"""What the stages bring home for the store: plain data that may come from another process."""

from __future__ import annotations

from typing import NamedTuple


class ParsedDocument(NamedTuple):
    """The JSON of some raw bytes; `memory` is the most their parser held."""

    hash: str
    source: str
    parser: str
    parser_hash: str
    at: float
    seconds: float
    length: int
    json: bytes
    memory: int = 0


class Failure(NamedTuple):
    """Raw bytes that no JSON came of; with another hash of the parser it may."""

    hash: str
    parser: str
    parser_hash: str
    at: float


class ExportLine(NamedTuple):
    """How an export of a document ended, for the log."""

    document: str
    at: float
    status: str
    rows: int = 0
    problems: int = 0
    reason: str | None = None

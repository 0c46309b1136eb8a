"""A peer of `bench/structure.py`: the same rows into SQLite by sqlite-utils.

It runs in an environment of its own. It cannot take documents apart, so a few lines written for
these documents do it (`rows_of`); it checks no value, and keeps neither queue nor documents.

    python bench/structure_sqlite_utils.py FILE.jsonl insert|upsert FILE.db
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import sqlite_utils
from structure_documents import rows_of

AT_ONCE = 1000  # documents
KEY = ("_document", "_row")


def chunks(file: str) -> Iterator[dict[str, list[dict[str, Any]]]]:
    with Path(file).open(encoding="utf-8") as lines:
        while some := list(islice(lines, AT_ONCE)):
            tables: dict[str, list[dict[str, Any]]] = defaultdict(list)
            for line in some:
                for key, farm in json.loads(line).items():
                    for number, (table, row) in enumerate(rows_of(key, farm)):
                        tables[table].append({"_document": key, "_row": number, **row})
            yield tables


def main(file: str, way: str, path: str) -> None:
    db = sqlite_utils.Database(path)
    for tables in chunks(file):
        for table, rows in tables.items():
            store = db[table].insert_all if way == "insert" else db[table].upsert_all
            store(rows, pk=KEY, batch_size=AT_ONCE)
    print(sum(db[table].count for table in db.table_names()))


if __name__ == "__main__":
    main(*sys.argv[1:])

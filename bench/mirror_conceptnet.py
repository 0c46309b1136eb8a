"""The peer of `bench/mirror.py`: ConceptNet's own package over its own tables in PostgreSQL.

Its web application is in no package, so the few lines of Flask here stand for it: they ask what it
asks (`conceptnet5.api.lookup_paginated`) and leave out its limits, templates and error reports.
Tables, indexes, queries and JSON are the package's. Run by the Python it is installed for:

    python bench/mirror_conceptnet.py FILE.csv.gz FOLDER     makes and fills the tables
    gunicorn mirror_conceptnet:app                           serves them
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flask
from conceptnet5 import api
from conceptnet5.db import prepare_data, schema
from conceptnet5.db.connection import get_db_connection

WITHOUT_TEXTS = dict.fromkeys(("surfaceText", "surfaceStart", "surfaceEnd"))

app = flask.Flask(__name__)
app.json.ensure_ascii = False


def concept(rest: str) -> flask.Response:
    limit = flask.request.args.get("limit", 20, int)
    offset = flask.request.args.get("offset", 0, int)
    return flask.jsonify(api.lookup_paginated(f"/c/{rest.strip('/')}", limit, offset))


app.add_url_rule("/c/<path:rest>", view_func=concept)


def assertions(file: str) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            uri, rel, start, end, info = line.rstrip("\n").split("\t")
            named = {"uri": uri, "rel": rel, "start": start, "end": end}
            yield {**WITHOUT_TEXTS, **json.loads(info), **named}


def load(file: str, folder: str) -> None:
    prepare_data.read_msgpack_stream = assertions  # its own format is one of its build's
    prepare_data.assertions_to_sql_csv(file, folder)
    shuffle(Path(folder, "edges_gin.csv"), Path(folder, "edges_gin.shuf.csv"))
    connection = get_db_connection()
    schema.create_tables(connection)
    prepare_data.load_sql_csv(connection, folder)
    schema.create_indices(connection)
    connection.cursor().execute("VACUUM ANALYZE")


def shuffle(file: Path, into: Path) -> None:
    """As its build does, so that the first 10,000 edges found are any."""
    lines = file.read_bytes().splitlines(keepends=True)
    random.Random(0).shuffle(lines)
    into.write_bytes(b"".join(lines))


if __name__ == "__main__":
    load(sys.argv[1], sys.argv[2])

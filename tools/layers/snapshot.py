"""What is left of a task, for people: `requests.json`, by depth, a request on each line.

Promise: it is read as data and never evaluated; a broken one is refused with its place. Nobody
waits while it is written. Limit: the record that counts is the pools'.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from ..base.files import write_whole
from ..errors import UsageError
from ..journal.reader import moment
from .request import Request, request_of

FILE = "requests.json"
KINDS = ("unvisited", "visiting", "failed")
LEFT = """
SELECT depth, iif(lease.id, 1, iif(pool.name = 'failed', 2, 0)) AS kind, uri, note FROM uri
JOIN pool ON pool.id = uri.pool LEFT JOIN lease ON lease.id = uri.id
WHERE pool.name IN ('to_visit', 'failed') ORDER BY depth, kind, uri.id"""


def write(pools_file: Path) -> Path:
    """Beside the state; where it is."""
    path = pools_file.with_name(FILE)
    write_whole(path, _lines(pools_file), durable=False)
    return path


def _lines(pools_file: Path) -> Iterator[bytes]:
    """Parts that a depth has none of are there and empty."""
    with moment(pools_file) as db:
        begin = "{"
        for depth, rows in groupby(db.execute(LEFT), key=lambda row: row[0]):
            yield f'{begin}\n"{depth}": {{'.encode()
            begin = ","
            done = 0
            for kind, some in groupby(rows, key=lambda row: row[1]):
                while done < kind:
                    yield f'{"," if done else ""}\n  "{KINDS[done]}": []'.encode()
                    done += 1
                yield f'{"," if done else ""}\n  "{KINDS[kind]}": ['.encode()
                yield from _requests(some)
                yield b"\n  ]"
                done += 1
            for name in KINDS[done:]:
                yield f',\n  "{name}": []'.encode()
            yield b"\n}"
        yield b"\n}\n" if begin == "," else b"{}\n"


def _requests(rows: Iterator[tuple[int, int, str, str | None]]) -> Iterator[bytes]:
    comma = ""
    for _, _, uri, note in rows:
        text = json.dumps(request_of(uri, note).as_list(), ensure_ascii=False)
        yield f"{comma}\n    {text}".encode("utf-8", "replace")
        comma = ","


def read(path: Path) -> list[Request]:
    """All that are in it, whether visited, visiting or failed; UsageError if it is none."""
    try:
        depths = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    try:
        return [Request.of_list(each) for each in _listed(depths)]
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None


def _listed(depths: Any) -> Iterator[list[Any]]:
    if not isinstance(depths, dict):
        raise ValueError('it must be like {"0": {"unvisited": [...], ...}}')
    for depth, kinds in depths.items():
        if not isinstance(kinds, dict) or not kinds.keys() <= {*KINDS}:
            raise ValueError(f"depth {depth!r} must have {', '.join(KINDS)} and nothing else")
        for kind, requests in kinds.items():
            if not isinstance(requests, list):
                raise ValueError(f"{kind} of depth {depth!r} must be a list")
            for each in requests:
                if not isinstance(each, list):
                    raise ValueError(f"{kind} of depth {depth!r} has {each!r}, which is no request")
                yield each

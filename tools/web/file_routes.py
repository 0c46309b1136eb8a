"""Media files, found only by what the graph says of them.

Promise: no path is ever made of an address; what is sent is a file that the graph names, in the
media folder, as the type that was recorded, and a browser runs nothing of it.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from ..base.sqlite import reading
from ..graphs.open import is_embedded, sqlite_path
from ..sheets.album import TYPES
from .site import Site

HEADERS = {"content-security-policy": "sandbox; default-src 'none'", "cache-control": "no-cache"}
RECORD = "SELECT kind, mime FROM media WHERE path = ?"


def routes(site: Site) -> list[Route]:
    async def file(request: Request) -> Response:
        found = await run_in_threadpool(lookup, site, request.path_params["path"])
        if found is None:
            raise HTTPException(404)
        return FileResponse(found[0], media_type=found[1], headers=HEADERS)

    return [Route("/file/{path:path}", file)]


def lookup(site: Site, path: str) -> tuple[Path, str] | None:
    """Where it lies and of which type it is, if the graph knows it by this very name."""
    settings = site.sources.settings
    record = _record(settings.graph_url, path)
    if record is None:
        return None
    kind, mime = record
    folder: Path = settings.media.resolve()
    place = (folder / path).resolve()
    if not place.is_relative_to(folder) or not place.is_file():
        return None
    return place, mime if mime in TYPES.get(kind, ()) else "application/octet-stream"


def _record(url: str, path: str) -> tuple[str, str] | None:
    if not is_embedded(url) or not sqlite_path(url).exists():
        return None
    try:
        with closing(reading(sqlite_path(url))) as db:
            found: tuple[str, str] | None = db.execute(RECORD, (path,)).fetchone()
            return found
    except sqlite3.Error:
        return None

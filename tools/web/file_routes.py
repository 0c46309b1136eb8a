"""Media files, found only by what the graph says of them.

Promise: no path is ever made of an address; what is sent is a file that the graph names, in the
media folder, as the type that was recorded, and a browser runs nothing of it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from ..errors import HarvestError
from ..sheets.album import FILE_BYTES, PICTURES, NotShown, smaller
from .data.media_file import Found, by_path
from .site import Site

HEADERS = {"content-security-policy": "sandbox; default-src 'none'", "cache-control": "no-cache"}
SIDE = 320  # pixels of a small picture
SMALL_BYTES = 40_000  # a file below that needs no smaller copy
KEPT = 512  # small pictures, some kilobytes each


def routes_of_files(site: Site) -> list[Route]:
    async def file(request: Request) -> Response:
        found = await run_in_threadpool(lookup, site, request.path_params["path"])
        if found is None:
            raise HTTPException(404)
        return FileResponse(found[0], media_type=found[1], headers=HEADERS)

    async def thumb(request: Request) -> Response:
        found = await run_in_threadpool(_found, site, request.path_params["path"])
        if found is None or found.mime not in PICTURES:
            raise HTTPException(404)
        if found.bytes <= SMALL_BYTES or found.bytes > FILE_BYTES:
            return FileResponse(found.place, media_type=found.mime, headers=HEADERS)
        try:
            made = await run_in_threadpool(_small, found.place, found.file.media.sha256)
        except (NotShown, OSError):
            raise HTTPException(404) from None
        return Response(made, media_type="image/webp", headers=HEADERS)

    return [Route("/file/{path:path}", file), Route("/thumb/{path:path}", thumb)]


def lookup(site: Site, path: str) -> tuple[Path, str] | None:
    """Where it lies and of which type it is, if the graph knows it by this very name."""
    found = _found(site, path)
    return None if found is None else (found.place, found.mime)


def _found(site: Site, path: str) -> Found | None:
    try:
        return by_path(site.explorer.reader, site.explorer.media, path)
    except HarvestError:  # there is no graph yet
        return None


@lru_cache(KEPT)
def _small(place: Path, _sha256: str) -> bytes:
    """The first picture of a gif; decoded once, then kept by its content."""
    return smaller(place.read_bytes(), SIDE)

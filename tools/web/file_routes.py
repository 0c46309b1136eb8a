"""Media files, found only by what the graph says of them.

Promise: no path is ever made of an address; what is sent is a file that the graph names, in the
media folder, as the type that was recorded, and a browser runs nothing of it.
"""

from __future__ import annotations

from asyncio import Semaphore
from functools import lru_cache
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from ..base.sha256 import is_sha256
from ..sheets.album import FILE_BYTES, PICTURES, NotShown, smaller
from .data.media_file import Found, by_path
from .site import Site

HEADERS = {"content-security-policy": "sandbox; default-src 'none'", "cache-control": "no-cache"}
SIDE = 320  # pixels of a small picture
SMALL_BYTES = 40_000  # a picture below that needs no smaller copy; a gif would move
KEPT = 512  # small pictures, some kilobytes each
MAKERS = 2  # a large picture takes hundreds of megabytes while it is made smaller


def routes_of_files(site: Site) -> list[Route]:
    turn = Semaphore(MAKERS)

    async def file(request: Request) -> Response:
        found = await run_in_threadpool(_found, site, request.path_params["path"])
        if found is None:
            raise HTTPException(404)
        return _seen(found, request) or _whole(found)

    async def thumb(request: Request) -> Response:
        found = await run_in_threadpool(_found, site, request.path_params["path"])
        if found is None or found.mime not in PICTURES:
            raise HTTPException(404)
        if seen := _seen(found, request):
            return seen
        is_small = found.bytes <= SMALL_BYTES and found.file.media.kind != "visual"
        if is_small or found.bytes > FILE_BYTES:
            return _whole(found)
        try:
            async with turn:  # no thread is kept waiting, which others need
                made = await run_in_threadpool(_small, found.place, found.file.media.sha256)
        except (NotShown, OSError):
            raise HTTPException(404) from None
        return Response(made, media_type="image/webp", headers=_headers(found))

    return [Route("/file/{path:path}", file), Route("/thumb/{path:path}", thumb)]


def _headers(found: Found) -> dict[str, str]:
    sha256 = found.file.media.sha256
    return HEADERS | ({"etag": f'"{sha256}"'} if is_sha256(sha256) else {})


def _seen(found: Found, request: Request) -> Response | None:
    """A browser that has it still need not be sent it again."""
    headers = _headers(found)
    mark, known = headers.get("etag"), request.headers.get("if-none-match", "")
    return Response(status_code=304, headers=headers) if mark and mark in known else None


def _whole(found: Found) -> Response:
    return FileResponse(found.place, media_type=found.mime, headers=_headers(found))


def _found(site: Site, path: str) -> Found | None:
    """If the graph knows it by this very name."""
    return by_path(site.explorer.reader, site.explorer.media, path)


@lru_cache(KEPT)
def _small(place: Path, _sha256: str) -> bytes:
    """The first picture of a gif; decoded once, then kept by its content."""
    return smaller(place.read_bytes(), SIDE)

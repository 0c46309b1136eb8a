"""Answers packed for the archive, in the thread of whoever asked.

Promise: a body that is in the archive already is referred to, not kept again.
"""

from __future__ import annotations

import re
from datetime import datetime

from ..archive.answer import Answered, exchange_of
from ..archive.record import Earlier, Packed, pack, payload_digest
from ..documents.address import host_of
from ..network.response import Response
from .archived import NOT_PAGES
from .lookup import ArchiveLookup
from .page import Capture, moment
from .visit import Visit

MIME = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,60}")


class Keeper:
    def __init__(self, table: ArchiveLookup) -> None:
        self._table = table

    def keep(self, visit: Visit, response: Response) -> None:
        digest = payload_digest(response.payload)
        same = self._table.digest_known(digest) if response.payload else None
        self._add(visit, response, digest, same)

    def keep_unchanged(self, visit: Visit, response: Response) -> None:
        """The host says that it is as it was, which is how it was kept last."""
        kept = [each for each in self._table.captures(visit.task.uri) if each.digest]
        pages = [each for each in kept if each.status not in NOT_PAGES]
        digest = (pages[-1].digest if pages else None) or payload_digest(response.payload)
        same = self._table.digest_known(digest) if pages else None
        self._add(visit, response, digest, same)

    def _add(self, visit: Visit, response: Response, digest: str, same: Capture | None) -> None:
        earlier = _earlier(same) if same else None
        packed = pack(exchange_of(response, visit.begun), digest=digest, earlier=earlier)
        visit.answers.append(_answered(visit, response, packed))


def mime_of(response: Response) -> str | None:
    return mime_in(response.header("Content-Type"))


def mime_in(header: str) -> str | None:
    """Of bounded length: it names a count.

    >>> mime_in("Text/HTML; charset=utf-8"), mime_in("text html")
    ('text/html', None)
    """
    kind = header.partition(";")[0].strip().lower()
    return kind if MIME.fullmatch(kind) else None


def _answered(visit: Visit, response: Response, packed: Packed) -> Answered:
    return Answered(
        domain=host_of(visit.task.uri),
        address=response.url,
        time=moment(visit.begun),
        status=response.status,
        mime=mime_of(response),
        packed=packed,
    )


def _earlier(capture: Capture) -> Earlier:
    return Earlier(capture.address, datetime.fromisoformat(capture.time), capture.digest or "")

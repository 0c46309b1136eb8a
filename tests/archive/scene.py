"""Answers to keep, and an archive to keep them in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tools.archive.origin import Origin
from tools.archive.record import Exchange
from tools.archive.store import Archive

HARVEST = "0123456789abcdef"
TIME = datetime(2026, 5, 4, 3, 2, 1, 654321, tzinfo=UTC)
HTML = ("Content-Type", "text/html; charset=utf-8")


def answer(
    address: str = "http://example.org/",
    payload: bytes = b"<p>hello",
    headers: Sequence[tuple[str, str]] = (HTML,),
    status: int = 200,
    time: datetime = TIME,
) -> Exchange:
    return Exchange(
        address,
        time,
        status,
        headers,
        payload,
        reason="OK" if status == 200 else "Other",
        request="GET / HTTP/1.1",
        request_headers=[("Host", "example.org"), ("User-Agent", "sheaf")],
        ip="192.0.2.1",
    )


def archive_in(folder: Path, *, known: int = 0, **options: int) -> Archive:
    archive = Archive(folder, Origin(HARVEST, "me@example.org"), **options)
    archive.claim(known=known)
    return archive

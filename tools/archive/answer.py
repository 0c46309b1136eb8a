"""An answer of the network as what the records are made of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from ..network.response import Response
from .record import Exchange, Packed


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer, packed for the archive of its domain."""

    domain: str
    address: str
    time: str
    status: int
    mime: str | None
    packed: Packed


def exchange_of(response: Response, asked_at: float) -> Exchange:
    first, *lines = response.request.decode("latin-1").rstrip("\r\n").split("\r\n")
    headers = [(name, value.strip()) for name, _, value in (each.partition(":") for each in lines)]
    return Exchange(
        address=response.url,
        time=datetime.fromtimestamp(asked_at, UTC),
        status=response.status,
        headers=response.headers,
        payload=response.payload,
        reason=response.reason,
        version=response.version,
        request=first,
        request_headers=headers,
        ip=response.ip,
    )

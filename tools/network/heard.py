"""A whole answer in memory, as it was sent.

Promise: no more bytes of it than it may have, and of the large ones few at a time.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from io import BytesIO

from ..base.why import Why
from .arrival import Arrival
from .head import Head
from .large_answers import LARGE, Turn
from .trouble import NoUse
from .wire import Patience, Wire

PIECE = 2**20


@dataclass(frozen=True, slots=True)
class Heard:
    head: Head
    payload: bytes  # without the marks between its chunks
    ip: str
    request: bytes


def hear(wire: Wire, arrival: Arrival, patience: Patience) -> Heard:
    return Heard(arrival.head, _payload(wire, arrival, patience), wire.ip, wire.head)


def _payload(wire: Wire, arrival: Arrival, patience: Patience) -> bytes:
    most, length = patience.most, arrival.length or 0
    if length > most:
        raise _too_large(most)
    if length and length <= PIECE:
        return arrival.read(length)
    whole = BytesIO()
    if length <= LARGE:
        _append(whole, arrival, min(LARGE, most) + 1)
    if length > LARGE or whole.tell() > LARGE:
        with Turn() if patience.turn is None else nullcontext(patience.turn) as turn:
            turn.take(wire.left)
            _append(whole, arrival, most + 1)
    if whole.tell() > most:
        raise _too_large(most)
    return whole.getvalue()


def _append(whole: BytesIO, arrival: Arrival, until: int) -> None:
    """What is still to come."""
    while (left := until - whole.tell()) > 0 and (piece := arrival.some(min(left, PIECE))):
        whole.write(piece)


def _too_large(most: int) -> NoUse:
    return NoUse(f"the answer is larger than {most:,} bytes", Why.LARGE)

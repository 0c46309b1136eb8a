"""Which harvests a graph in Neo4j knows, and which of them write into it now.

Each is a node of a label of its own. While it writes, its node carries the server's time, renewed
by the minute: a process that was killed leaves it behind, so it counts for a few minutes only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ..errors import AlreadyRunning, HarvestError, StateDamaged
from . import cypher

FRESH_S = 180  # a sign of life is renewed by the minute

Ask = Callable[..., list[list[Any]]]
"""A text of `cypher` and its parameters in, rows out."""


class Neo4jMembers:
    def __init__(self, address: str, read: Ask, change: Ask) -> None:
        self._address = address
        self._read = read
        self._change = change

    def known(self) -> dict[str, int]:
        return {harvest: run for harvest, run in self._read(cypher.KNOWN_MEMBERS)}

    def admit(self, harvest: str, run: int = 0) -> None:
        self._change(cypher.ADMIT_MEMBER, harvest=harvest, run=run)

    def confirm(self, harvest: str) -> None:
        ((found,),) = self._change(cypher.MEMBER_LIVES, harvest=harvest)
        if not found:
            raise StateDamaged(
                f"{self._address} was emptied while the harvest ran: bring back what it held, then "
                "start again, or begin anew with --fresh"
            )

    @contextmanager
    def at_work(self, harvest: str) -> Iterator[None]:
        self._change(cypher.MEMBER_BEGINS, harvest=harvest)
        try:
            yield
        finally:
            with suppress(HarvestError):  # a server that went away forgets it in a few minutes
                self._change(cypher.MEMBER_ENDS, harvest=harvest)

    @contextmanager
    def nobody_at_work(self) -> Iterator[None]:
        if living := self._read(cypher.LIVING_MEMBERS, fresh_ms=FRESH_S * 1000):
            harvest, age = living[0]
            raise AlreadyRunning(
                f"the harvest {harvest[:8]} writes into {self._address} (last sign of life "
                f"{age} s ago): stop it, or if it was killed try again in {FRESH_S - age} s"
            )
        yield

"""What of a job is done on other machines, and what these are given for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from ..engine.stage import Done, Task
from ..errors import HarvestError
from ..network.limits import Limits
from ..network.traffic import Traffic
from .cargo import Cargo


class StaysHere(Exception):
    """Raised by `outgoing`: this task is no good for a node, threads of the coordinator do it."""


class NodeCargo(Cargo, Protocol):
    """Files, if there are any, stay on the node that has fetched them. What cannot travel, or need
    not, stays with the coordinator: `StaysHere`."""

    def has_files(self, cargo: Any) -> bool:
        """Does what came with a result lie on the node?"""

    def is_stored(self, uri: str, cargo: Any) -> bool:
        """Is this, files and all, what the store has of it?"""


class Plain:
    """Of a stage whose tasks take nothing along and leave no files; made a cargo by `incoming`."""

    def outgoing(self, task: Task) -> Any:
        return None

    def incoming(self, task: Task, result: Done | HarvestError, cargo: Any) -> object:
        return None

    def lost(self, task: Task) -> None:
        """There is nothing of it here."""

    def has_files(self, cargo: Any) -> bool:
        return False

    def is_stored(self, uri: str, cargo: Any) -> bool:
        return False


class Abroad(NamedTuple):
    harvest: str
    job: str
    setup: Mapping[str, Any]  # without secrets
    cargoes: Mapping[str, NodeCargo]  # by stage: these are done on nodes
    limits: Limits | None = None
    traffic: Traffic | None = None
    codes: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    """By stage, the hashes of code of the user's that a node must have, too."""
    keys: Mapping[str, Collection[str]] = MappingProxyType({})
    """By stage, the providers whose keys a node must have, too."""
    questions: Mapping[str, Callable[..., Any]] = MappingProxyType({})
    """What nodes may look up here. Any thread may call them; ValueError for a wrong question."""
    advice: Sequence[str] = ()
    """Where nodes cannot help, in words for whoever starts this."""

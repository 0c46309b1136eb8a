"""What a job gives a node: who works there, and what becomes of the files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Event
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..engine.executor import Executor
from ..engine.stage import Done, Stage
from ..errors import HarvestError
from ..network.traffic import Traffic
from .limits import SharedRests
from .messages import Result, Table, Welcome
from .post import Post

if TYPE_CHECKING:
    from ..transport import Transport  # it takes paramiko with it
    from .engagement import Engagement


class NodeCarrier(Protocol):
    """What comes along with a stage's tasks, goes home with what they found, and stays here."""

    keeps_files: bool

    def arrived(self, uri: str, cargo: Any, is_again: bool) -> None:
        """`is_again`: it was given to another node before, which may have begun it."""

    def given_back(self, uri: str) -> None:
        """Nobody has begun it: it goes to another node."""

    def leaving(self, uri: str, result: Done | HarvestError) -> Any: ...
    def judged(self, result: Result, verdict: str) -> None:
        """What became of it: settled (book its files), stale (drop them) or again (it comes
        back)."""


class Passing:
    """Of a stage whose tasks bring nothing along and leave nothing here; what goes home is what
    `packed` makes of the records."""

    keeps_files = False

    def __init__(self, packed: Callable[[Any], Any] = lambda records: None) -> None:
        self._packed = packed

    def arrived(self, uri: str, cargo: Any, is_again: bool) -> None: ...
    def given_back(self, uri: str) -> None: ...

    def leaving(self, uri: str, result: Done | HarvestError) -> Any:
        return self._packed(result.records) if isinstance(result, Done) else None

    def judged(self, result: Result, verdict: str) -> None: ...


AtQuietPoint = Callable[[Callable[[], None]], None]
"""Does something while nobody writes into the books."""

Arrived = Callable[[Sequence[str]], None]
"""Told of the owners whose files are safe."""

MakeTransport = Callable[[AtQuietPoint, Arrived], "Transport"]


class NodeStaff(NamedTuple):
    executor: Executor
    stages: Mapping[str, Stage]  # with as many workers as this node has places
    carriers: Mapping[str, NodeCarrier]
    traffic: Traffic | None = None
    rests: SharedRests | None = None
    codes: Mapping[str, Any] = MappingProxyType({})
    """By stage, the hashes of code of the user's; under `STAGE lacks`, why it cannot be done."""
    transport: MakeTransport | None = None  # if its files go to a receiving node
    close: Callable[[], None] = lambda: None


Hire = Callable[[Welcome, Post, Event], NodeStaff]
"""Makes the staff for a harvest. UsageError if that cannot be here."""


class Beside(Protocol):
    """What goes on beside the work of a node, in its main thread."""

    def tick(self, work: Engagement) -> None:
        """Often, while there is a harvest."""

    def sight(self) -> Table:
        """How it fares, for the coordinator."""

    def finish(self) -> None:
        """Nothing more comes: what is here can go."""

    def ended(self, is_over: bool) -> None:
        """With this harvest; `is_over`: all is done."""

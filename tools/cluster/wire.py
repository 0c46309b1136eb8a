"""What the coordinator and those who work for it say to each other, as bytes.

Promise: a message is names, numbers and texts; nothing is pickled, nothing is run. What comes is a
message of this list with every field of its kind, or it is Malformed. Whoever carries the bytes
knows nothing of this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar, get_type_hints

import orjson

from .. import errors
from ..engine.stage import Done, Found, Stage, Task
from ..errors import HarvestError

FORMAT = 1
LARGEST = 8 * 2**20  # bytes of a message
LONGEST_TEXT = 100_000
LARGEST_NUMBER = 2**63 - 1
Table = dict[str, Any]


class Malformed(ValueError):
    """No message of ours."""


# --- to a node ---------------------------------------------------------------------------------


class Hello(NamedTuple):
    """The first word: what the node shall be."""

    format: int
    job: str
    places: Table  # by stage
    setup: Table  # only the job knows what it is
    log_level: int


class Work(NamedTuple):
    """A task, and what goes along with it."""

    token: int
    stage: str
    id: int
    uri: str
    rank: int | None
    depth: int
    attempts: int
    is_hurried: bool
    priority: int
    note: str | None
    lane: str | None
    cargo: Any


class Stop(NamedTuple):
    """Whoever waits for something gives up waiting."""


class Permit(NamedTuple):
    """The host may be asked, once, until this moment of the clock that all here share."""

    number: int
    until: float


class Refusal(NamedTuple):
    number: int
    error: Table


class Resting(NamedTuple):
    """Nobody asks this host for so many seconds."""

    host: str
    seconds: float
    reason: str


class Rested(NamedTuple):
    """The answer to a Pause: how long it is."""

    number: int
    seconds: float


# --- from a node -------------------------------------------------------------------------------


class Ready(NamedTuple):
    format: int
    pid: int


class Result(NamedTuple):
    """What became of a task: done or an error, never both."""

    token: int
    done: Table | None
    error: Table | None
    cargo: Any
    traffic: Table | None


class Beat(NamedTuple):
    """It is alive."""

    memory: int
    traffic: Table | None


class Ask(NamedTuple):
    """May this host be asked?"""

    number: int
    host: str


class Back(NamedTuple):
    """A permit is over; so many bytes came."""

    number: int
    size: int


class Pause(NamedTuple):
    """A host wants to be left alone, for so long or for a while that grows."""

    number: int
    host: str
    reason: str
    seconds: float | None


class Answered(NamedTuple):
    """A host that has rested is well."""

    host: str


class Said(NamedTuple):
    """A line of the log."""

    level: int
    logger: str
    text: str


Message = (
    Hello | Work | Stop | Permit | Refusal | Resting | Rested
    | Ready | Result | Beat | Ask | Back | Pause | Answered | Said
)  # fmt: skip
KINDS: Mapping[str, type[Message]] = {
    kind.__name__: kind
    for kind in (
        *(Hello, Work, Stop, Permit, Refusal, Resting, Rested),
        *(Ready, Result, Beat, Ask, Back, Pause, Answered, Said),
    )
}


def encoded(message: Message) -> bytes:
    """Malformed if it is too long: the other side would not take it."""
    content = orjson.dumps([type(message).__name__, *message], default=tuple)
    if len(content) > LARGEST:
        raise Malformed(f"a message of {len(content):,} bytes")
    return content


def decoded(content: bytes) -> Message:
    """
    >>> decoded(encoded(Back(3, 17)))
    Back(number=3, size=17)
    """
    try:
        name, *fields = orjson.loads(content)
        kind = KINDS[name]
    except (ValueError, TypeError, KeyError):
        raise Malformed("no message of ours") from None
    hints = HINTS[name]
    if len(fields) != len(hints):
        raise Malformed(f"{name} with {len(fields)} fields")
    for (field, hint), value in zip(hints.items(), fields, strict=True):
        if not is_of(value, hint):
            raise Malformed(f"{name}.{field} is not of its kind")
    message: Message = kind(*fields)
    return message


def is_of(value: object, hint: object) -> bool:
    """JSON knows one kind of number: a whole one is good where any is."""
    if hint is Any:
        return True
    if value is None:
        return hint in (int | None, float | None, str | None, Table | None)
    if isinstance(value, bool):
        return hint is bool
    if isinstance(value, int):
        return hint in (int, int | None, float, float | None) and abs(value) <= LARGEST_NUMBER
    if isinstance(value, float):
        return hint in (float, float | None)
    if isinstance(value, str):
        return hint in (str, str | None) and len(value) <= LONGEST_TEXT
    return isinstance(value, dict) and hint in (Table, Table | None)


HINTS = {name: get_type_hints(kind) for name, kind in KINDS.items()}


# --- tasks -------------------------------------------------------------------------------------


def work_of(task: Task, cargo: object) -> Work:
    return Work(
        task.token,
        task.stage.name,
        task.id,
        task.uri,
        task.rank,
        task.depth,
        task.attempts,
        task.is_hurried,
        task.priority,
        task.note,
        task.lane,
        cargo,
    )


def task_of(work: Work, stage: Stage) -> Task:
    task = Task(work.id, work.uri, stage, work.rank, work.depth, work.attempts, token=work.token)
    task.is_hurried, task.priority = work.is_hurried, work.priority
    task.note, task.lane = work.note, work.lane
    return task


# --- what they bring ---------------------------------------------------------------------------


def table_of_done(done: Done) -> Table:
    """Without its records and its luggage: those are cargo."""
    found = [[*(getattr(each, name) for name in FOUND)] for each in done.found]
    return {
        "to": done.to,
        "found": found,
        "tally": dict(done.tally),
        "reason": done.reason,
        "facts": dict(done.facts),
    }


FOUND = ("stage", "uris", "priority", "depth", "notes", "again")
FOUND_HINTS = (str, list, int, int | None, list, str | None)


def done_of(table: Table, records: object) -> Done:
    """Malformed if it is none."""
    try:
        to, reason = table["to"], table["reason"]
        found = [_found(each) for each in table["found"]]
        tally, facts = table["tally"], table["facts"]
    except (KeyError, TypeError, ValueError):
        raise Malformed("a result that is none") from None
    is_whole = is_of(to, str) and is_of(reason, str | None)
    if not (is_whole and _all_of(tally, int) and _all_of(facts, str)):
        raise Malformed("a result that is none")
    return Done(to, found, records, tally, reason, facts)


def _found(fields: list[Any]) -> Found:
    stage, uris, priority, depth, notes, again = fields
    texts = (*uris, stage)
    if not all(is_of(each, str) for each in texts) or not is_of(again, str | None):
        raise ValueError
    if not is_of(priority, int) or not is_of(depth, int | None):
        raise ValueError
    if notes is not None and not all(is_of(each, str | None) for each in notes):
        raise ValueError
    return Found(stage, uris, priority, depth, notes, again)


def _all_of(table: object, hint: object) -> bool:
    return isinstance(table, dict) and all(is_of(value, hint) for value in table.values())


# --- errors ------------------------------------------------------------------------------------

ERRORS = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, HarvestError)
}
E = TypeVar("E", bound=HarvestError)


def table_of_error(error: HarvestError) -> Table:
    """As the nearest one that everybody knows."""
    name = next(each.__name__ for each in type(error).__mro__ if ERRORS.get(each.__name__) is each)
    return {
        "name": name,
        "text": str(error)[:LONGEST_TEXT],
        "delay": getattr(error, "delay", None),
        "status": getattr(error, "status", None),
    }


def error_of(table: Table) -> HarvestError:
    try:
        kind, text, delay, status = (table[key] for key in ("name", "text", "delay", "status"))
        found = ERRORS[kind]
    except (KeyError, TypeError):
        raise Malformed("an error that is none") from None
    if not (is_of(text, str) and is_of(delay, float | None) and is_of(status, int | None)):
        raise Malformed("an error that is none")
    error = found.__new__(found)  # some of them word their text themselves
    Exception.__init__(error, text)
    vars(error).update(delay=delay, status=status)
    return error

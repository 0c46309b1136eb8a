"""What the coordinator and those who work for it say to each other, as bytes.

Promise: a message is names, numbers and texts; nothing is pickled, nothing is run. What comes is a
message of this list with every field of its kind, or it is Malformed. Whoever carries the bytes
knows nothing of this.
"""

from __future__ import annotations

from typing import Any, get_type_hints

import orjson

from .. import errors
from ..engine.stage import Done, Found, Stage, Task
from ..errors import HarvestError
from .messages import KINDS, Message, Table, Work

LARGEST = 8 * 2**20  # bytes of a message
LONGEST_TEXT = 100_000
LONGEST_NOTE = 4 * 2**20  # of what was found: a form may carry that much along
LARGEST_NUMBER = 2**63 - 1
LONGEST_DELAY_S = 7 * 86_400.0


class Malformed(ValueError):
    """No message of ours."""


def encoded(message: Message, most: int = LARGEST) -> bytes:
    """Malformed if it is too long: the other side would not take it."""
    content = orjson.dumps([type(message).__name__, *message], default=tuple)
    if len(content) > most:
        raise Malformed(f"a message of {len(content):,} bytes")
    return content


def decoded(content: bytes) -> Message:
    """
    >>> decoded(b'["Back", 3, 17]')
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
    if isinstance(value, list):
        return hint == list[Any]
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


def done_of(table: Table, records: object = None) -> Done:
    """Malformed if it is none."""
    try:
        to, reason = table["to"], table["reason"]
        found = [_found(each) for each in _list(table["found"])]
        tally, facts = table["tally"], table["facts"]
    except (KeyError, TypeError, ValueError):
        raise Malformed("a result that is none") from None
    is_whole = is_of(to, str) and is_of(reason, str | None)
    if not (is_whole and _all_of(tally, int) and _all_of(facts, str)):
        raise Malformed("a result that is none")
    return Done(to, found, records, tally, reason, facts)


def _found(fields: list[Any]) -> Found:
    stage, uris, priority, depth, notes, again = fields
    if not isinstance(uris, list) or (notes is not None and len(notes) != len(uris)):
        raise ValueError
    texts = (*uris, stage)
    if not all(is_of(each, str) for each in texts) or not is_of(again, str | None):
        raise ValueError
    if not is_of(priority, int) or not is_of(depth, int | None):
        raise ValueError
    if notes is not None and not all(_is_note(each) for each in notes):
        raise ValueError
    return Found(stage, uris, priority, depth, notes, again)


def _is_note(value: object) -> bool:
    return value is None or (isinstance(value, str) and len(value) <= LONGEST_NOTE)


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError
    return value


def _all_of(table: object, hint: object) -> bool:
    return isinstance(table, dict) and all(is_of(value, hint) for value in table.values())


# --- errors ------------------------------------------------------------------------------------

ERRORS = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, HarvestError)
}


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
    if delay is not None:
        delay = min(max(delay, 0.0), LONGEST_DELAY_S)
    error = found.__new__(found)  # some of them word their text themselves
    Exception.__init__(error, text)
    vars(error).update(delay=delay, status=status)
    return error

"""What a move is made of: where to, what comes along, and the row that waits there then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .stage import Done, Found, Stage, Task
from .window import Row

FINISHED, FAILED = "finished", "failed"


def aim_of(task: Task, done: Done) -> str:
    """Who sank while it was at work may have been judged by its old depth: it comes round again."""
    is_over = done.to == FINISHED and task.again is not None
    return f"to_{task.again}" if is_over else done.to


def found_by(steps: Iterable[tuple[Task, Done]]) -> Iterator[tuple[Found, int]]:
    """What the tasks found, and how deep: one below the finder, unless it says otherwise."""
    for task, done in steps:
        for group in done.found:
            yield group, task.depth + 1 if group.depth is None else group.depth


def row_of(task: Task, stage: Stage, rank: int | None, attempts: int) -> Row:
    """As it waits there now."""
    lane = stage.lane_of(task.uri)
    return rank or 0, task.id, task.uri, task.depth, attempts, task.priority, task.note, lane

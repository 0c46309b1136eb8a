"""Under which names messages travel. A node may use only those that bear its own name; the server
sees to that."""

from __future__ import annotations

STREAM = "TASKS"
ALL = "sheaf.all"
FROM_ANYBODY = "sheaf.from.*.say"
TURNS_OF_ANYBODY = "sheaf.from.*.turn"


def said_by(node: str) -> str:
    return f"sheaf.from.{node}.say"


def turn_of(node: str) -> str:
    """Questions for a turn: they are answered at once, whatever else is being said."""
    return f"sheaf.from.{node}.turn"


def told_to(node: str) -> str:
    return f"sheaf.to.{node}"


def speaker(subject: str) -> str:
    """
    >>> speaker("sheaf.from.alpha.say")
    'alpha'
    """
    return subject.split(".")[2]


def task_of_stage(stage: str) -> str:
    return f"sheaf.task.{stage}"


def task_at(node: str, stage: str) -> str:
    return f"sheaf.at.{node}.{stage}"


def consumer_at(node: str) -> str:
    return f"at-{node}"


def inbox_of(node: str) -> str:
    return f"_INBOX_{node}"


def next_of(consumer: str) -> str:
    """Where a node asks for tasks."""
    return f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{consumer}"

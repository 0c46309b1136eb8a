"""Who may say what to whom: the subjects of the bus, and each node's part of them.

Promise: with its key a node speaks only in its own name, hears only what is said to it or to all,
and takes tasks; only the coordinator gives tasks, and makes streams and consumers.
Limit: where an answer goes is chosen by whoever asks, and the server does not look at it. So the
coordinator, which may say more than a node, must answer only where `is_inbox_of` holds. And a node
can have a task, as the coordinator wrote it, delivered to any subject instead of its inbox: whoever
hears something must look at its own subject (`speaker`), not at what was subscribed to, and a
task must say itself for which stage it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .names import COORDINATOR

STREAM = "TASKS"
STAGES = ("fetch", "extend", "download", "visit", "parse")
STREAM_SUBJECTS = ("sheaf.task.*", "sheaf.at.*.*")
TO_ALL = "sheaf.all"
FROM_ANY = "sheaf.from.*.>"
WHO = "sheaf.who"
"""Where a coordinator asks whether there is another one."""


class Permissions(NamedTuple):
    """What is not listed is denied."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


def task_subject(stage: str) -> str:
    return f"sheaf.task.{stage}"


AT = "sheaf.at."


def at_subject(node: str, stage: str) -> str:
    """For a task that only this node can do."""
    return f"{AT}{node}.{stage}"


def at_consumer(node: str) -> str:
    return f"at-{node}"


def to_node(node: str) -> str:
    return f"sheaf.to.{node}"


def from_node(node: str, what: str) -> str:
    return f"sheaf.from.{node}.{what}"


SAY, TURN = "say", "turn"
"""What a node says to the coordinator: all there is, and questions for a turn, which are answered
at once, whatever else is being said."""


def speaker(subject: str) -> str:
    """The node that said it, as the server has checked; none for what is no word of a node.

    >>> speaker(from_node("alpha", SAY)), speaker(task_subject("fetch"))
    ('alpha', '')
    """
    first, second, node, *_ = [*subject.split("."), "", "", ""]
    return node if (first, second) == ("sheaf", "from") else ""


def next_tasks(consumer: str) -> str:
    """Where a node asks for tasks."""
    return f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{consumer}"


def inbox_prefix(name: str) -> str:
    """A word of its own for each: wildcards stand for whole words."""
    return f"_INBOX_{name}"


def is_inbox_of(name: str, subject: str) -> bool:
    """Whether this one may have answers sent there.

    >>> is_inbox_of("alpha", "_INBOX_alpha.x.y"), is_inbox_of("alpha", "_INBOX_beta.x")
    (True, False)
    """
    return subject.startswith(f"{inbox_prefix(name)}.")


def node_permissions(name: str) -> Permissions:
    consumers = (*STAGES, at_consumer(name))
    return Permissions(
        (
            f"sheaf.from.{name}.>",
            *map(next_tasks, consumers),
            *(f"$JS.ACK.{STREAM}.{each}.>" for each in consumers),
        ),
        (f"{inbox_prefix(name)}.>", to_node(name), TO_ALL),
    )


def coordinator_permissions(nodes: Iterable[str]) -> Permissions:
    """The inboxes are listed: no wildcard stands for a part of a word."""
    own = ("sheaf.>", "$JS.API.>", "$JS.ACK.>", f"{inbox_prefix(COORDINATOR)}.>")
    return Permissions((*own, *(f"{inbox_prefix(node)}.>" for node in nodes)), own)

"""The queues of documents, by stage and class, and what their URIs are."""

from __future__ import annotations

from ..engine.stage import Task

CLASSES = ("higher", "high", "normal", "low")
"""Of documents, by the pools' priority."""
QUEUES = {"parse": "structure", "export": "extracter"}


def queue_of(task: Task) -> str:
    """As it is shown, and under which what came out of it is counted."""
    return f"{QUEUES[task.stage.name]}:{CLASSES[task.priority]}"


def uri_of(name: str, hash_: str) -> str:
    """Of a document of a structure, by the hash of its raw bytes."""
    return f"{name} {hash_}"


def hash_of(uri: str) -> str:
    """
    >>> hash_of(uri_of("register", "f00"))
    'f00'
    """
    return uri.rpartition(" ")[2]

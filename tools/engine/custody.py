"""Whose files lie on which node, until they are shipped; and which nodes there have been.

Promise: what is finished with files that lie elsewhere has a row here, written with its move. When
a node is lost, all it had is known. Limit: a way of `Pools` to its file, with its lock.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from threading import Condition

from .statefile import StateFile, as_json

KEEP_AT = "INSERT INTO custody VALUES (?, ?) ON CONFLICT (owner) DO UPDATE SET node = excluded.node"
OF_URI = "SELECT node FROM custody JOIN uri ON uri.id = owner WHERE uri = ?"
NAMED = (
    "SELECT uri, node FROM custody JOIN uri ON uri.id = owner "
    "WHERE uri IN (SELECT value FROM json_each(?))"
)
KEEP_NAMED = (
    "INSERT INTO custody SELECT id, ? FROM uri WHERE uri = ? "
    "ON CONFLICT (owner) DO UPDATE SET node = excluded.node"
)
RELEASE = (
    "DELETE FROM custody WHERE node = ? AND owner IN "
    "(SELECT id FROM uri WHERE uri IN (SELECT value FROM json_each(?)))"
)
NUMBERS = "SELECT node, count(*) FROM custody GROUP BY node"
SOME = "SELECT uri FROM custody JOIN uri ON uri.id = owner WHERE node = ? LIMIT 1000"
SEEN = (
    "INSERT INTO node VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
    "seen = excluded.seen, version = excluded.version, counts = excluded.counts"
)
LAST_SEEN = "SELECT name, seen FROM node"
FORGET = "DELETE FROM node WHERE name = ?"


class Custody:
    def __init__(self, changed: Condition, file: StateFile) -> None:
        self._changed = changed
        self._file = file

    def node_of(self, uri: str) -> str | None:
        with self._changed:
            return next((node for (node,) in self._file.read(OF_URI, uri)), None)

    def nodes_of(self, uris: Sequence[str]) -> dict[str, str]:
        """Those of these that some node has files of."""
        with self._changed:
            return dict(self._file.read(NAMED, as_json(list(uris))))

    def keep_at(self, uri: str, node: str) -> None:
        """What was begun of it lies there; when it is done that is written with its move."""
        with self._changed, self._file.transaction():
            self._file.write(KEEP_NAMED, (node, uri))

    def release(self, node: str, uris: Sequence[str]) -> None:
        """Its files of these are safe elsewhere, or are gone and known to be."""
        with self._changed, self._file.transaction():
            self._file.write(RELEASE, (node, as_json(list(uris))))

    def numbers(self) -> dict[str, int]:
        """Of owners, by node."""
        with self._changed:
            return dict(self._file.read(NUMBERS))

    def owners(self, node: str) -> Iterator[list[str]]:
        """Some at a time; whoever is asked for the next has released the last."""
        while True:
            with self._changed:
                found = [uri for (uri,) in self._file.read(SOME, node)]
            if not found:
                return
            yield found

    def seen(self, node: str, version: str, counts: str) -> None:
        with self._changed, self._file.transaction():
            self._file.write(SEEN, (node, time.time(), version, counts))

    def last_seen(self) -> dict[str, float]:
        """By the wall clock, every node that ever was."""
        with self._changed:
            return dict(self._file.read(LAST_SEEN))

    def forget(self, node: str) -> None:
        with self._changed, self._file.transaction():
            self._file.write(FORGET, (node,))

"""nodes.json: where the server is, and who has a key. All of nats.conf follows from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from ..base.credentials import read_secret
from ..base.sha256 import is_sha256
from ..errors import StateDamaged
from .names import is_host, is_node_name
from .private_file import write_private

LIST_FILE = "nodes.json"
LIST_FORMAT = 1


class KnownNode(NamedTuple):
    """`added` is a time in UTC, `fingerprint` that of its public key."""

    name: str
    added: str
    fingerprint: str


class NodeList(NamedTuple):
    address: str
    port: int
    coordinator: str  # the fingerprint of its key
    nodes: tuple[KnownNode, ...] = ()

    @property
    def names(self) -> list[str]:
        return [node.name for node in self.nodes]


def read_list(folder: Path) -> NodeList:
    path = folder / LIST_FILE
    try:
        found = _list_of(json.loads(read_secret(path)))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise StateDamaged(
            f"{path} is damaged: bring it back from a copy. Without it nobody knows whose keys "
            "are good; a new cluster has a new folder and new join files"
        ) from None
    return found


def write_list(folder: Path, known: NodeList) -> None:
    fields = known._asdict() | {"nodes": [node._asdict() for node in known.nodes]}
    write_private(folder / LIST_FILE, json.dumps({"format": LIST_FORMAT, **fields}, indent=1))


def _list_of(fields: Any) -> NodeList:
    if fields["format"] != LIST_FORMAT:
        raise ValueError("another format")
    nodes = tuple(
        KnownNode(str(e["name"]), str(e["added"]), e["fingerprint"]) for e in fields["nodes"]
    )
    known = NodeList(fields["address"], fields["port"], fields["coordinator"], nodes)
    prints = [known.coordinator, *(node.fingerprint for node in nodes)]
    if not (
        is_host(known.address)
        and type(known.port) is int
        and 0 < known.port < 65_536
        and all(map(is_node_name, known.names))
        and len(set(known.names)) == len(nodes)
        and all(map(is_sha256, prints))
    ):
        raise ValueError("a field is wrong")
    return known

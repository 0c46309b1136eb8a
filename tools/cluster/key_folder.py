"""The folder of a cluster's keys: made once, then nodes come and go.

Promise: it is there whole or not at all, only its owner can read it, and whoever was removed is
known to no later nats.conf. `nodes.json` is written first: nats.conf follows from it, so a command
that was ended in between is made good by the next one.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp

from ..base.credentials import read_secret
from ..base.files import sync
from ..base.locks import locked
from ..errors import AlreadyRunning, StateDamaged, UsageError
from .certificates import Authority, Credentials
from .join_file import SUFFIX, Join, write_join
from .names import COORDINATOR, is_host, require_node_name
from .node_list import LIST_FILE, KnownNode, NodeList, read_list, write_list
from .private_file import write_private
from .server_config import CA_FILE, CONFIG_FILE, SERVER_CERTIFICATE, SERVER_KEY, config_text

CA_KEY, LOCK_FILE = "ca.key", "lock"
COORDINATOR_FILE = f"{COORDINATOR}{SUFFIX}"
HERE = "localhost"  # the coordinator is on the server's computer


def make_folder(folder: Path, address: str, port: int) -> None:
    """A new cluster with a server at this address, and no nodes yet."""
    if not is_host(address):
        raise UsageError(f"{address!r} is neither a host name nor an IP address")
    if (folder / LIST_FILE).exists():
        raise UsageError(
            f"{folder} holds a cluster already: `python main.py cluster add NAME` adds a node. "
            "For a new one move it away first; its join files are good for nothing then"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty and no cluster's: name another (cluster.folder)")
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))  # closed to others
    try:
        _fill(new, address, port)
        new.replace(folder)
        sync(folder.parent)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def add_nodes(folder: Path, names: Sequence[str], to: Path | None = None) -> list[Path]:
    """Their join files. All of them are added, or none."""
    with _opened(folder) as known:
        files = [(to or folder) / f"{require_node_name(name)}{SUFFIX}" for name in names]
        _refuse_known(known, names)
        _refuse_existing(files)
        authority = _authority(folder)
        keys = [authority.for_client(name) for name in names]
        added = datetime.now(UTC).isoformat(timespec="seconds")
        for name, key, file in zip(names, keys, files, strict=True):
            write_join(file, _join(name, known.address, known.port, authority, key))
        new = (KnownNode(name, added, k.fingerprint) for name, k in zip(names, keys, strict=True))
        _write(folder, known._replace(nodes=(*known.nodes, *new)))
    return files


def remove_nodes(folder: Path, names: Sequence[str]) -> None:
    """Their keys are good for nothing once the server has read its nats.conf again."""
    with _opened(folder) as known:
        for name in names:
            if name not in known.names:
                there = ", ".join(known.names) or "there are none"
                raise UsageError(f"{name!r} is no node of {folder}; its nodes: {there}")
        _write(folder, known._replace(nodes=tuple(n for n in known.nodes if n.name not in names)))
        for name in names:
            (folder / f"{name}{SUFFIX}").unlink(missing_ok=True)


@contextmanager
def _opened(folder: Path) -> Iterator[NodeList]:
    if not (folder / LIST_FILE).exists():
        raise UsageError(
            f"there is no cluster in {folder} yet: `python main.py cluster init --address HOST` "
            "makes one"
        )
    with locked(folder / LOCK_FILE, str(folder)) as lock:
        if lock is None:
            raise AlreadyRunning(f"another command changes {folder} now: try again")
        yield read_list(folder)


def _fill(folder: Path, address: str, port: int) -> None:
    authority = Authority.new()
    server, own = authority.for_server(address), authority.for_client(COORDINATOR)
    for name, text in (
        (CA_FILE, authority.certificate),
        (CA_KEY, authority.key),
        (SERVER_CERTIFICATE, server.certificate),
        (SERVER_KEY, server.key),
    ):
        write_private(folder / name, text)
    write_join(folder / COORDINATOR_FILE, _join(COORDINATOR, HERE, port, authority, own))
    _write(folder, NodeList(address, port, own.fingerprint))


def _join(name: str, address: str, port: int, authority: Authority, key: Credentials) -> Join:
    return Join(name, address, port, authority.certificate, key.certificate, key.key)


def _write(folder: Path, known: NodeList) -> None:
    write_list(folder, known)
    write_private(folder / CONFIG_FILE, config_text(known))


def _authority(folder: Path) -> Authority:
    try:
        return Authority.of(read_secret(folder / CA_FILE), read_secret(folder / CA_KEY))
    except ValueError:
        raise StateDamaged(
            f"{folder / CA_FILE} or {folder / CA_KEY} is damaged: bring them back from a copy"
        ) from None


def _refuse_known(known: NodeList, names: Sequence[str]) -> None:
    for name in names:
        if name in known.names:
            raise UsageError(
                f"{name} has a key already. If that is lost: `python main.py cluster remove "
                f"{name}` first"
            )
    if len(set(names)) < len(names):
        raise UsageError("a name is given twice: each node has its own")


def _refuse_existing(files: Sequence[Path]) -> None:
    for file in files:
        if file.exists():
            raise UsageError(f"{file} exists already and may be needed: move it away first")
        if not file.parent.is_dir():
            raise UsageError(f"there is no folder {file.parent}: make it first")

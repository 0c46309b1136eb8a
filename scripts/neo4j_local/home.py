"""The folder of a server: its settings, its password, who runs in it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from neo4j_local.command import note
from neo4j_local.problem import Problem

MARK = "sheaf.lock"  # its presence tells that a folder was made by this script


@dataclass(frozen=True)
class Options:
    """What one start was asked for."""

    port: int
    heap: str
    settings: dict[str, str]


@dataclass(frozen=True)
class Record:
    """The last start of a home, as `server.json` keeps it; whether it still runs is asked anew."""

    kind: str
    version: str
    port: int
    pid: int

    @property
    def url(self) -> str:
        return f"neo4j://neo4j@127.0.0.1:{self.port}"


def prepare(home: Path) -> None:
    if home.exists() and not (home / MARK).exists() and any(home.iterdir()):
        raise Problem(
            f"{home} is not empty and was not made by this script; give another --home", 2
        )
    for folder in (home, *(home / name for name in ("conf", "data", "logs", "import", "plugins"))):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    home.chmod(0o700)


def ensure_password(home: Path) -> None:
    wanted = os.environ.get("SHEAF_NEO4J_PASSWORD") or ""
    if (home / "password").exists():
        if wanted not in ("", (home / "password").read_text(encoding="utf-8")):
            note("SHEAF_NEO4J_PASSWORD differs from this server's password, which stays as it is")
        return
    if wanted and (len(wanted) < 8 or not wanted.isprintable()):
        raise Problem("SHEAF_NEO4J_PASSWORD needs at least 8 characters, all of them printable", 2)
    write_private(home / "password", wanted or secrets.token_urlsafe(24))


def settings_of(options: Options) -> dict[str, str]:
    return {
        "dbms.security.auth_enabled": "true",
        "dbms.usage_report.enabled": "false",
        "server.default_listen_address": "127.0.0.1",
        "server.bolt.enabled": "true",
        "server.bolt.listen_address": f"127.0.0.1:{options.port}",
        "server.bolt.advertised_address": f"127.0.0.1:{options.port}",
        "server.bolt.tls_level": "DISABLED",
        "server.http.enabled": "false",
        "server.https.enabled": "false",
        "server.memory.pagecache.size": "128m",
        "dbms.memory.transaction.total.max": "256m",
        "db.tx_log.rotation.retention_policy": "100M size",
    } | options.settings


def write_config(home: Path, settings: dict[str, str]) -> None:
    lines = ["# Written anew at each start; use scripts/neo4j start --set key=value."]
    # The server reads it as a properties file, where a backslash escapes.
    lines += [f"{key}={value.replace(chr(92), chr(92) * 2)}" for key, value in settings.items()]
    write_private(home / "conf/neo4j.conf", "\n".join(lines) + "\n")


def read_record(home: Path) -> Record | None:
    try:
        return Record(**json.loads((home / "server.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise Problem(f"{home / 'server.json'} is damaged ({error}); remove it") from error


def private_file(path: Path) -> TextIO:
    """Readable by its owner only, from its first byte on."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    return os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8")


def write_private(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    with private_file(part) as file:
        file.write(text)
    part.replace(path)


@contextlib.contextmanager
def only_one(lock: Path, seconds: float) -> Iterator[None]:
    """Two of these scripts at once take turns."""
    with lock.open("w") as file:
        until = time.monotonic() + seconds
        while not locked(file.fileno()):
            if time.monotonic() > until:
                raise Problem(f"another process holds {lock} for {seconds:.0f} seconds already")
            time.sleep(0.1)
        yield


def locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def import_arguments(report: Path) -> list[str]:
    """To be run in the export folder: the tool reads commas and patterns into longer paths."""
    return [
        *("database", "import", "full", "neo4j"),
        "--nodes=entities-header.csv,entities.csv",
        "--nodes=media-header.csv,media.csv",
        "--relationships=relations-header.csv,relations.csv",
        "--id-type=string",
        "--array-delimiter=U+001F",
        "--multiline-fields=true",
        "--overwrite-destination=true",
        f"--report-file={report / 'import.report'}",
    ]

"""The server that runs in a cluster's folder, if one does, and that it reads nats.conf again."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from ..errors import StopHarvest
from .server_config import CONFIG_FILE, LOG_FILE, PID_FILE

RELOAD_S = 15.0

_RELOADED, _REFUSED = b"Reloaded server configuration", b"Failed to reload server configuration"


def server_pid(folder: Path) -> int | None:
    """Numbers of processes are given again: after a crash it may be anybody's, so it is asked
    whether it works in this folder."""
    try:
        pid = int((folder / PID_FILE).read_text(encoding="ascii"))
        os.kill(pid, 0)
    except PermissionError:
        pass  # another user's: it is there
    except (OSError, ValueError, OverflowError):
        return None
    return pid if pid > 0 and _is_server_of(pid, folder) else None


def reload_server(folder: Path, seconds: float = RELOAD_S) -> bool:
    """False if none runs. Once it says True, removed nodes are cut off and new ones let in."""
    pid = server_pid(folder)
    if pid is None:
        return False
    log = folder / LOG_FILE
    before = _size(log)
    try:
        os.kill(pid, signal.SIGHUP)
    except ProcessLookupError:
        return False
    except PermissionError:
        raise StopHarvest(
            f"{folder / CONFIG_FILE} is written, but the server (process {pid}) is another "
            "user's: let that one reload it, such as by `systemctl reload sheaf-nats`"
        ) from None
    if not _is_taken(log, before, time.monotonic() + seconds):
        raise StopHarvest(
            f"the server (process {pid}) did not take the new {folder / CONFIG_FILE}: see {log}, "
            "then `scripts/nats stop` and `scripts/nats start`"
        )
    return True


def _is_server_of(pid: int, folder: Path) -> bool:
    if not Path("/proc/self/cmdline").exists():  # not Linux: the number has to do
        return True
    home = Path(f"/proc/{pid}")
    try:
        if CONFIG_FILE.encode() not in home.joinpath("cmdline").read_bytes().split(b"\0"):
            return False
        return home.joinpath("cwd").samefile(folder)
    except PermissionError:
        return True
    except OSError:
        return False


def _is_taken(log: Path, before: int, until: float) -> bool:
    """Whether its log says so from there on; a log that is shorter was begun anew."""
    while time.monotonic() < until:
        with log.open("rb") as file:
            file.seek(before if _size(log) >= before else 0)
            said = file.read()
        if _RELOADED in said:
            return True
        if _REFUSED in said:
            return False
        time.sleep(0.02)
    return False


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0

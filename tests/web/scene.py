"""A page that is served, and whoever asks it: by hand, or in a browser."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.support.command import ROOT, clean_environment
from tools.commands.again import command_of
from tools.commands.parsing import parsed
from tools.commands.values import values_of
from tools.jobs.registry import job_in
from tools.settings import Settings
from tools.web.server import Listening, PageServer
from tools.web.site import Site, Sources

PATIENCE_S = 60.0
HOSTILE = (
    "<script>window.hacked=1</script>",
    '"><img src=x onerror=window.hacked=1>',
    "\u202eesrever \u05d0\u05d1\u05d2",
    "犬",
    "x" * 300,
    "{{ 7 * 7 }}",
)


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Served:
    """`address` has no token; `state` is what is shown."""

    def __init__(self, address: str, state: Path, page: PageServer | None = None) -> None:
        self.full, self.state, self._page = address, state, page
        self.address = address.partition("/?")[0]
        self.token = address.partition("token=")[2]
        self.netloc = urlsplit(self.address).netloc

    def ask(self, path: str, method: str = "GET", body: str = "", **headers: str) -> Answer:
        """Nothing but what is said here is sent; `_` in names stands for `-`."""
        host, _, port = self.netloc.partition(":")
        with closing(http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)) as asking:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            asking.request(method, path, body.encode(), named)
            answer = asking.getresponse()
            sent = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, sent, answer.read())

    def connections(self) -> int:
        """That the server has open."""
        assert self._page is not None and self._page._server is not None
        return len(self._page._server.server_state.connections)

    def streams(self) -> int:
        assert self._page is not None and self._page._server is not None
        return self._page._server._streams.number

    def get(self, path: str) -> Answer:
        """As a program of whoever started it."""
        return self.ask(path, Authorization=f"Bearer {self.token}")


@contextmanager
def served(
    folder: Path,
    is_read_only: bool = False,
    show: Callable[[str], object] | None = None,
    **more: Any,
) -> Iterator[Served]:
    """Over the harvest in this folder, in a thread of ours."""
    settings = Settings(state=folder / "state", media=folder / "m", **more)
    sources = Sources(
        settings,
        settings.pools_file,
        job_in,
        values_of(settings, parsed(["serve"])),
        command_of,
        is_read_only,
    )
    said: list[str] = []
    is_ready = threading.Event()

    def ready(address: str) -> None:
        said.append(address)
        is_ready.set()

    page = PageServer(Site(sources), Listening(port=0), None, ready, show)
    thread = threading.Thread(target=page.serve)
    thread.start()
    try:
        assert is_ready.wait(PATIENCE_S)
        yield Served(said[0], settings.state, page)
    finally:
        page.stop()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def copied(folder: Path, to: Path) -> Path:
    """A harvest that may be changed."""
    shutil.copytree(folder, to, dirs_exist_ok=True)
    return to


def spoil(state: Path, reasons: tuple[str, ...]) -> list[str]:
    """As many that are finished have failed for these reasons."""
    with closing(sqlite3.connect(state / "pools.db")) as db:
        (pool,) = db.execute("SELECT id FROM pool WHERE name = 'to_fetch'").fetchone()
        rows = db.execute(
            "SELECT id, uri FROM uri WHERE pool = 0 AND uri LIKE '/c/%' LIMIT ?", (len(reasons),)
        ).fetchall()
        for (id_, _), reason in zip(rows, reasons, strict=True):
            db.execute(
                "UPDATE uri SET pool = 1, failed_in = ?, reason = ? WHERE id = ?",
                (pool, reason, id_),
            )
        counts = json.loads(db.execute("SELECT counts FROM tally").fetchone()[0])
        counts["finished"] -= len(rows)
        counts["failed"] = counts.get("failed", 0) + len(rows)
        db.execute("UPDATE tally SET counts = ?", (json.dumps(counts),))
        db.commit()
    return [uri for _, uri in rows]


@contextmanager
def harvesting(folder: Path, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """The sample, in a process of its own; ended with the `with`, however it is."""
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "main.py"), "--sample", "-q", *flags],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=clean_environment(),
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE_S)


def wait_for(what: Callable[[], Any], seconds: float = PATIENCE_S) -> Any:
    """Until it is true."""
    deadline = time.monotonic() + seconds
    while not (found := _tried(what)):
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.05)
    return found


def _tried(what: Callable[[], Any]) -> Any:
    with suppress(OSError, sqlite3.Error, ValueError):
        return what()
    return None


def pools(state: Path) -> dict[str, int]:
    with closing(sqlite3.connect(f"file:{state / 'pools.db'}?mode=ro", uri=True)) as db:
        counts: dict[str, int] = json.loads(db.execute("SELECT counts FROM tally").fetchone()[0])
        return counts


def processor_seconds(pid: int) -> float:
    """Of a process that runs."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def scramble(path: Path) -> None:
    """All but the first page, so that it opens well."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = db.execute("PRAGMA page_size").fetchone()
    content = path.read_bytes()
    assert len(content) > 3 * size
    path.write_bytes(content[:size] + b"\xa5" * (len(content) - size))

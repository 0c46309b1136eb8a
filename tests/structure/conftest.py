"""Parsers in processes of their own, with and without bubblewrap, and what they leave behind."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support import needs
from tests.support.mongodb_server import MongodbServer, mongodb_server
from tools.base.resident import descendants
from tools.structure.hosts import Hosts
from tools.structure.registry import Limits, Script
from tools.structure.sandbox import Sandbox, sandbox_here

ABOUT = {"source": "a.html", "type": None}
WELL = "class RawParser:\n    def parse(self, raw):\n        return {'length': len(raw)}\n"


def script(text: str, name: str = "parsers/own.py", **options: Any) -> Script:
    """As `Parsers` would give it; one without a text is built in."""
    hash = hashlib.sha256(repr((text, options)).encode()).hexdigest()
    return Script(name, text.encode("utf-8", "surrogatepass"), hash, options)


def parser(body: str) -> Script:
    """A script whose method does this, from its fourth line on, with every document but a good
    one."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    good = "        if raw == b'good': return {'length': 4}\n"
    return script(f"class RawParser:\n    def parse(self, raw):\n{good}{lines}")


class Bench:
    """Hosts whose processes and files can be looked for."""

    def __init__(self, limits: Limits, sandbox: Sandbox) -> None:
        self.limits = limits
        self.is_tight = sandbox.is_tight
        self.hosts = Hosts(limits, sandbox)
        self.folder = self.hosts._scratch.folder

    def parse(self, script: Script, raw: bytes = b"raw") -> Any:
        return self.hosts.parse(script, raw, ABOUT)

    def processes(self) -> list[int]:
        """All that have our folder as their home, wherever they are, whoever their parent is."""
        sought, found = str(self.folder).encode(), []
        for each in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if sought in each.read_bytes():
                    found.append(int(each.parent.name))
        return found

    def is_clean(self) -> bool:
        """Nothing but processes that wait for the next document."""
        return not self.processes() and not zombies()


def zombies() -> list[int]:
    found = []
    for pid in descendants(os.getpid()):
        with suppress(OSError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                found.append(pid)
    return found


def until(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.fixture(scope="session")
def tight() -> Sandbox:
    needs.program("bwrap", "bubblewrap")
    sandbox = sandbox_here()
    if not sandbox.is_tight:  # what a kernel forbids nothing that is installed can bring
        pytest.skip("bubblewrap is not let by this computer's kernel")
    return sandbox


@pytest.fixture(params=["open", "tight"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return request.getfixturevalue("tight") if request.param == "tight" else Sandbox()


@pytest.fixture
def bench(sandbox: Sandbox) -> Iterator[Bench]:
    threads = threading.active_count()  # other tests may have left some
    bench = Bench(Limits(timeout_s=1.0, memory_bytes=100_000_000, max_json=100_000), sandbox)
    yield bench
    bench.hosts.close()
    assert until(bench.is_clean), bench.processes()
    assert not bench.folder.exists()
    assert until(lambda: threading.active_count() <= threads)


@pytest.fixture(scope="session")
def mongodb() -> Iterator[MongodbServer]:
    with mongodb_server() as server:
        yield server

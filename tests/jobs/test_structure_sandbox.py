"""Parsers of the job `structure` reach nothing else than their document, if bubblewrap works."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import needs
from tests.support.command import run
from tools.structure.sandbox import sandbox_here

pytestmark = pytest.mark.timeout(60)

JOB = 'source = "folder:raw"\n[[parsers]]\nparser = "own.py"\n'
CURIOUS = """\
import os, socket
from pathlib import Path
from typing import Any

class RawParser:
    def parse(self, raw):
        found = {}
        for what in ("secret", "socket"):
            try:
                getattr(self, what)()
                found[what] = "reached"
            except OSError as error:
                found[what] = type(error).__name__
        raise ValueError(repr(found))

    def secret(self):
        Path("SECRET").read_text()

    def socket(self):
        socket.create_connection(("127.0.0.1", PORT), timeout=2)
"""


@contextmanager
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def reason_of(folder: Path, script: str, **environment: Any) -> str:
    """What its parser says of the only document, in the report of the run."""
    structures = folder / "structures"
    (structures / "raw").mkdir(parents=True)
    (structures / "raw" / "a.txt").write_text("a document")
    (structures / "own.toml").write_text(JOB)
    (structures / "own.py").write_text(script)
    done = run("main.py", "structure", "own", cwd=folder, **environment)
    failed = run("main.py", "structure", "status", "own", "--failed", cwd=folder)
    assert failed.returncode == 0, done.stderr + failed.stderr
    return failed.stdout


def test_a_parser_of_a_job_reaches_neither_files_nor_servers(tmp_path: Path) -> None:
    needs.program("bwrap", "bubblewrap")
    if not sandbox_here().is_tight:
        pytest.skip("bubblewrap is not let by this computer's kernel")
    (tmp_path / "secret").write_text("not to be told")
    with listening() as port:
        text = CURIOUS.replace("SECRET", str(tmp_path / "secret")).replace("PORT", str(port))
        said = reason_of(tmp_path, text)
    assert "'secret': 'FileNotFoundError'" in said, said
    assert "reached" not in said, said


def test_where_it_is_missing_the_log_says_so(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("not to be told")
    (tmp_path / "bin").mkdir()
    text = CURIOUS.replace("SECRET", str(tmp_path / "secret")).replace("PORT", "9")
    assert "'secret': 'reached'" in reason_of(tmp_path, text, PATH=str(tmp_path / "bin"))
    assert "bubblewrap" in (tmp_path / "state-structure/own/log").read_text()

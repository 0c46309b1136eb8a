"""What a parser can reach, with bubblewrap and without."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from tests.structure.conftest import Bench, parser
from tools.errors import GiveUp
from tools.structure.registry import Limits
from tools.structure.sandbox import Sandbox, sandbox_here

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def shut_in(tight: Sandbox) -> Iterator[Bench]:
    bench = Bench(Limits(timeout_s=10), tight)
    yield bench
    bench.hosts.close()


def test_no_network(shut_in: Bench) -> None:
    bench = Bench(Limits(), Sandbox())
    with socket.create_server(("127.0.0.1", 0)) as server, closing(bench.hosts):
        address = server.getsockname()
        body = f"import socket\nsocket.create_connection({address!r}, 2)\nreturn [1]"
        assert bench.parse(parser(body)).json == b"[1]"  # there is a server
        with pytest.raises(GiveUp, match=r"Network is unreachable|Connection refused"):
            shut_in.parse(parser(body))


def test_no_files_of_yours(shut_in: Bench, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("tea-and-milk")
    home, checkout = str(Path.home()), str(Path(__file__).parents[2])
    body = f"import os\nreturn [os.listdir({home!r}), os.listdir({checkout!r})]"
    own, ours = orjson.loads(shut_in.parse(parser(body)).json)

    assert not [name for name in own if not name.startswith(".")]  # Python itself may lie there
    assert {*ours} <= {"tools", ".venv"}
    for path in (secret, "/etc/passwd", "/root/.ssh", "/var/lib/dpkg/status"):
        with pytest.raises(GiveUp, match=r"(FileNotFound|Permission)Error"):
            shut_in.parse(parser(f"return [open({str(path)!r}).read()]"))


def test_nothing_of_the_system_can_be_written(shut_in: Bench) -> None:
    package = Path(__file__).parents[2] / "tools"
    for path in ("/usr/x", f"{package}/x.py", "/etc/x", "/x", "/tmp/x"):
        with pytest.raises(GiveUp, match=r"Read-only file system|Permission denied"):
            shut_in.parse(parser(f"open({path!r}, 'w').write('x')\nreturn [1]"))
    written = parser("import tempfile\nreturn [tempfile.mkstemp()[1]]")
    assert str(shut_in.folder).encode() in shut_in.parse(written).json


def test_no_process_but_its_own_is_seen(shut_in: Bench) -> None:
    body = "import os\nreturn [int(name) for name in os.listdir('/proc') if name.isdigit()]"
    assert len(orjson.loads(shut_in.parse(parser(body)).json)) <= 3


def test_what_people_use_in_parsers_is_there(shut_in: Bench) -> None:
    body = "import parsel, pypdfium2, lxml, orjson, PIL, ssl, sqlite3, zoneinfo, subprocess\n"
    body += "return [subprocess.run(['sh', '-c', 'echo $HOME; pwd'], capture_output=True, "
    body += "text=True).stdout.split()]"
    ((home, here),) = orjson.loads(shut_in.parse(parser(body)).json)
    assert home == here and home.startswith(str(shut_in.folder))


def test_without_bubblewrap_the_log_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    sandbox = sandbox_here()
    bench = Bench(Limits(), sandbox)
    assert bench.parse(parser("return [1]")).json == b"[1]"
    bench.hosts.close()

    assert not sandbox.is_tight
    (record,) = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert "apt install bubblewrap" in record.getMessage()
    assert "guard against mistakes, not malice" in record.getMessage()


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "No permissions"),
        ("exit 3", "exit code 3"),
    ],
)
def test_one_that_does_not_work_is_found_out(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    program: str,
    why: str,
) -> None:
    """As in containers that may not make namespaces."""
    bwrap = tmp_path / "bwrap"
    bwrap.write_text(f"#!/bin/sh\n{program}\n")
    bwrap.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    assert not sandbox_here().is_tight
    assert "bubblewrap does not work here (" in caplog.text and why in caplog.text

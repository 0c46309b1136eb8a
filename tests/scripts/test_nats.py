"""scripts/nats with real servers, and its download from a server on loopback."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import signal
import stat
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.command import ROOT, clean_environment
from tests.support.nats_server import VERSIONS, nats_program
from tests.support.ports import free_port
from tools.cluster.greeting import server_version
from tools.cluster.join_file import read_join
from tools.cluster.key_folder import add_nodes, make_folder
from tools.cluster.running_server import server_pid

PROGRAM = "#!/bin/sh\necho nats-server: v{version}\n"
RELEASE = "2.14.3"


def script(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "scripts/nats", *map(str, words)],
        capture_output=True, text=True, timeout=120, env=clean_environment(**environment),
    )  # fmt: skip


def says(done: subprocess.CompletedProcess[str], exit_code: int) -> str:
    assert done.returncode == exit_code, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A cluster's folder; whatever runs in it ends with the test."""
    folder = tmp_path / "cluster"
    make_folder(folder, "localhost", free_port())
    add_nodes(folder, ["alpha"])
    yield folder
    if pid := server_pid(folder):
        os.kill(pid, signal.SIGKILL)


def with_program(folder: Path, path: Path | str) -> dict[str, str]:
    """The environment in which this one is found first."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin/nats-server").unlink(missing_ok=True)
    if isinstance(path, Path):
        (folder / "bin/nats-server").symlink_to(path)
    else:
        (folder / "bin/nats-server").write_text(path)
        (folder / "bin/nats-server").chmod(0o755)
    return {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}


# --- a server's life -------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_it_is_started_once_and_stopped(folder: Path, version: str, tmp_path: Path) -> None:
    found = with_program(tmp_path, nats_program(version))
    assert "no NATS server runs" in says(script("status", "--folder", folder), 3)
    first = says(script("start", "--folder", folder, **found), 0)
    pid = server_pid(folder)
    assert f"process {pid}" in first and first.startswith("NATS 2.")
    assert (
        f"v{server_version(read_join(folder / 'alpha.sheaf'), 20)}"
        in subprocess.run(
            [nats_program(version), "--version"], capture_output=True, text=True
        ).stdout
    )
    again = says(script("start", "--folder", folder, **found), 0)
    assert "runs already" in again and f"process {pid}" in again
    assert "1 node has a key" in says(script("status", "--folder", folder), 0)
    assert not [
        path for path in folder.rglob("*") if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    ]
    assert "has ended" in says(script("stop", "--folder", folder), 0)
    assert server_pid(folder) is None
    assert "no NATS server runs" in says(script("stop", "--folder", folder), 0)


def test_a_killed_one_is_started_anew(folder: Path) -> None:
    says(script("start", "--folder", folder), 0)
    pid = server_pid(folder)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert "already" not in says(script("start", "--folder", folder), 0)
    assert server_pid(folder) not in (pid, None)


def test_a_taken_port_is_told(folder: Path, tmp_path: Path) -> None:
    port = read_join(folder / "alpha.sheaf").port
    make_folder(tmp_path / "other", "localhost", port)
    says(script("start", "--folder", folder), 0)
    told = says(script("start", "--folder", tmp_path / "other"), 1)
    assert "ended while it started" in told and "address already in use" in told
    assert server_pid(tmp_path / "other") is None and server_pid(folder) is not None


def test_a_folder_without_a_cluster_is_told(tmp_path: Path) -> None:
    assert "cluster init" in says(script("start", "--folder", tmp_path), 2)
    assert "cluster init" in says(script("status", "--folder", tmp_path), 2)


def test_a_damaged_configuration_is_told(folder: Path) -> None:
    (folder / "nats.conf").write_text("listen {")
    assert "ended while it started" in says(script("start", "--folder", folder), 1)


@pytest.mark.parametrize("program", [PROGRAM.format(version="2.8.4"), "#!/bin/sh\necho hello\n"])
def test_one_that_is_too_old_is_passed_over(folder: Path, tmp_path: Path, program: str) -> None:
    """Another one that is new enough is found behind it."""
    told = says(script("start", "--folder", folder, **with_program(tmp_path, program)), 0)
    assert str(tmp_path / "bin") not in told


# --- the download ----------------------------------------------------------------------------


def archive(name: str = "nats-server", kind: bytes = tarfile.REGTYPE) -> bytes:
    """As it is published for this computer, with a program that says its version."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    text = PROGRAM.format(version=RELEASE).encode()
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        entry = tarfile.TarInfo(f"nats-server-v{RELEASE}-linux-{machine}/{name}")
        entry.type, entry.size, entry.linkname = kind, len(text), "/bin/sh"
        tar.addfile(entry, io.BytesIO(text))
    return gzip.compress(raw.getvalue())


class Releases:
    """A server that answers everything with one body, or leads elsewhere."""

    def __init__(self, body: bytes = b"", cut: int = 0, leads_to: str = "") -> None:
        asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(302 if leads_to else 200)
                if leads_to:
                    self.send_header("Location", leads_to)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) - cut])

            def log_message(self, *words: object) -> None:
                pass

        self.asked = asked
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Releases:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(20)


def get(releases: str, cache: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return script("get", *words, SHEAF_NATS_RELEASES=releases, XDG_CACHE_HOME=str(cache))


def fetched(cache: Path) -> list[str]:
    """What is there afterwards, but for folders."""
    return [str(path.relative_to(cache)) for path in cache.rglob("*") if not path.is_dir()]


KEPT = "sheaf/nats/nats-server"


def test_what_has_the_right_hash_is_kept(tmp_path: Path) -> None:
    body = archive()
    with Releases(body) as releases:
        told = says(get(releases.url, tmp_path, "--sha256", hashlib.sha256(body).hexdigest()), 0)
        (path,) = releases.asked
    assert path.startswith(f"/v{RELEASE}/nats-server-v{RELEASE}-linux-")
    assert path.endswith(".tar.gz") and KEPT in told and fetched(tmp_path) == [KEPT]
    done = subprocess.run([tmp_path / KEPT, "--version"], capture_output=True, text=True)
    assert RELEASE in done.stdout


def test_what_has_another_hash_is_not(tmp_path: Path) -> None:
    with Releases(archive()) as releases:
        told = says(get(releases.url, tmp_path, "--sha256", "0" * 64), 1)
        assert "is not what it should be" in told and fetched(tmp_path) == []
        pinned = says(get(releases.url, tmp_path), 1)
    assert "is not what it should be" in pinned and fetched(tmp_path) == []


def test_what_is_cut_short_is_not(tmp_path: Path) -> None:
    body = archive()
    good = hashlib.sha256(body).hexdigest()
    with Releases(body, cut=40) as releases:
        told = says(get(releases.url, tmp_path, "--sha256", good), 1)
    assert "try again" in told and fetched(tmp_path) == []


def test_a_redirect_to_elsewhere_is_not_followed(tmp_path: Path) -> None:
    body = archive()
    good = hashlib.sha256(body).hexdigest()
    with Releases(body) as elsewhere, Releases(leads_to=f"{elsewhere.url}/x") as releases:
        told = says(get(releases.url, tmp_path, "--sha256", good), 1)
        assert elsewhere.asked == []
    assert "not followed" in told and fetched(tmp_path) == []
    with Releases(leads_to="file:///etc/passwd") as releases:
        assert "nats: " in says(get(releases.url, tmp_path, "--sha256", good), 1)


@pytest.mark.parametrize(
    "body",
    [archive("other"), archive(kind=tarfile.SYMTYPE), b"not an archive", gzip.compress(b"")],
    ids=["another", "a link", "no archive", "nothing"],
)
def test_an_archive_without_the_program_is_told(tmp_path: Path, body: bytes) -> None:
    with Releases(body) as releases:
        told = says(get(releases.url, tmp_path, "--sha256", hashlib.sha256(body).hexdigest()), 1)
    assert "packed in another way" in told and fetched(tmp_path) == []


def test_what_was_there_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    (tmp_path / KEPT).parent.mkdir(parents=True)
    (tmp_path / KEPT).write_text("the old one")
    with Releases(b"damaged") as releases:
        says(get(releases.url, tmp_path), 1)
    assert (tmp_path / KEPT).read_text() == "the old one"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--version", "2.12.1"), "--sha256"),
        (("--version", "../x"), "is not a version"),
        (("--sha256", "abc"), "64 of 0-9 and a-f"),
    ],
)
def test_no_version_is_taken_without_its_hash(
    tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    with Releases(archive()) as releases:
        assert sentence in says(get(releases.url, tmp_path, *words), 2)
        assert releases.asked == []


def test_nobody_there_is_told(tmp_path: Path) -> None:
    told = says(get(f"http://127.0.0.1:{free_port()}", tmp_path), 1)
    assert "cannot be fetched" in told and fetched(tmp_path) == []
    assert "must begin with" in says(get("file:///tmp", tmp_path), 2)

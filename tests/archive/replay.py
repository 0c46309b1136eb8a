"""pywb in an environment of its own, made once: its licence and its packages stay out of ours."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import urllib3

from tests.faults.injection import Process, wait_until
from tests.support.installed import PIP
from tests.support.needs import missing
from tests.support.ports import free_port

PYWB = "pywb>=2.10,<3"
INSTALL_S, START_S = 240, 60
SERVE = "from pywb.apps.cli import wayback; wayback()"


def pywb_python() -> Path:
    """The interpreter of that environment."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sheaf"
    ours = cache / f"{PYWB.partition('>')[0]}-2.10-{sys.version_info[0]}.{sys.version_info[1]}"
    if not ours.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            _install(Path(folder) / "new")
            if not ours.exists():
                (Path(folder) / "new").rename(ours)  # its interpreter finds its packages anywhere
    return ours / "bin/python"


def _install(folder: Path) -> None:
    bare = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(bare, check=True, timeout=INSTALL_S)
    install = [*PIP, "--python", str(folder / "bin/python"), "install", "--quiet", "--no-compile"]
    try:
        command = [*install, PYWB]
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S)
    except subprocess.TimeoutExpired:
        missing(f"pip did not get {PYWB} within {INSTALL_S} s, so nothing is replayed")
    if done.returncode:
        missing(f"pip cannot get {PYWB}, so nothing is replayed: {done.stderr[-500:]}")


@contextmanager
def replayed(archive: Path, folder: Path) -> Iterator[str]:
    """The address below which the archive's pages are served as they were."""
    (folder / "config.yaml").write_text(
        "collections:\n"
        "  web:\n"
        f"    index_paths: {archive / 'index.cdxj'}\n"
        f"    archive_paths: {archive}/\n"
    )
    port = free_port()
    command = [str(pywb_python()), "-W", "ignore", "-c", SERVE]
    with Process(
        folder / "said", [*command, "-b", "127.0.0.1", "-p", str(port), "-d", str(folder)]
    ) as server:
        wait_until(lambda: _answers(port) or not server.is_running, "pywb answers", START_S)
        assert server.is_running, server.log
        yield f"http://127.0.0.1:{port}/web"


def _answers(port: int) -> bool:
    try:
        return (
            urllib3.request("GET", f"http://127.0.0.1:{port}/", timeout=5, retries=False).status > 0
        )
    except urllib3.exceptions.HTTPError:
        return False

"""Real manuals of many pages, from Debian's packages, served on the loopback interface by nginx."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.report import Say

HOME = Path.home() / ".cache" / "sheaf" / "manuals"
READY_S = 10.0
CONFIG = """{user}worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 1024; }}
http {{
    include /etc/nginx/mime.types; keepalive_requests 1000000; sendfile on;
    log_format short '$status $request_uri'; access_log {folder}/access short;
    client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
    uwsgi_temp_path {folder}; scgi_temp_path {folder};
    server {{ listen 127.0.0.1:{port}; root {root}; index index.html; }}
}}
"""


@dataclass(frozen=True, slots=True)
class Manual:
    name: str
    package: str
    folder: str
    start: str

    @property
    def root(self) -> Path:
        return HOME / self.package / self.folder


POSTGRES = Manual(
    "PostgreSQL's manual",
    "postgresql-doc-15",
    "usr/share/doc/postgresql-doc-15/html",
    "/index.html",
)
CPPREFERENCE = Manual(
    "cppreference",
    "cppreference-doc-en-html",
    "usr/share/cppreference/doc/html",
    "/en/index.html",
)


class Site:
    """One that is served."""

    def __init__(self, seed: str, log: Path) -> None:
        self.seed = seed
        self._log = log

    def asked(self) -> int:
        """How many answers had a page, since this was last asked."""
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        self._log.write_text("")
        return sum(line.startswith("200 ") for line in lines)


def fetch(manual: Manual, say: Say) -> None:
    """Once."""
    if manual.root.exists():
        return
    say(f"pages: fetching {manual.package} into {HOME}")
    home = HOME / manual.package
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    subprocess.run(["apt-get", "download", manual.package], cwd=home, check=True, timeout=600)
    (package,) = home.glob("*.deb")
    subprocess.run(["dpkg", "-x", package.name, "."], cwd=home, check=True, timeout=600)


def served(manual: Manual, folder: Path) -> AbstractContextManager[Site]:
    return served_folder(manual.root, manual.start, folder)


@contextmanager
def served_folder(root: Path, start: str, folder: Path) -> Iterator[Site]:
    """`folder` is made for the server's own files."""
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = folder / "nginx.conf"
    user = "" if os.geteuid() else "user root; "  # else its workers could not read our files
    config.write_text(CONFIG.format(user=user, folder=folder, port=port, root=root))
    with subprocess.Popen(["nginx", "-c", str(config), "-e", str(folder / "errors")]) as process:
        try:
            _wait_for(port)
            yield Site(f"http://127.0.0.1:{port}{start}", folder / "access")
        finally:
            process.terminate()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + READY_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)

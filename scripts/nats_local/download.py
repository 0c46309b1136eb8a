"""A published nats-server, fetched once.

Promise: nothing is run, unpacked or kept whose SHA-256 is not the one that was known before.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import tarfile
import time
import urllib.request
from contextlib import suppress
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO
from urllib.error import URLError
from urllib.parse import urlsplit

from nats_local.problem import Problem
from nats_local.program import MISSING, NAME, fetched
from tools.base.files import whole_file

VERSION = "2.14.3"
KNOWN = {  # of the archives of that version, as its publisher's own image of it verifies them
    "amd64": "f3d0c820c749f81d717310fb00d4903919e70e3e66b268bd352a088b9788eb93",
    "arm64": "1759b6a0ddebade9471b7c02891dfaa8c73b526c6f3ce391d4e21ec3eceffab8",
}
PUBLISHED = "https://github.com/nats-io/nats-server/releases/download"
BASE_VARIABLE = "SHEAF_NATS_RELEASES"  # a copy of those within your own network
ALSO = "githubusercontent.com"  # whose hosts hold what github.com publishes
MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
READ_SECONDS, WHOLE_SECONDS = 30, 900
MOST_BYTES, MOST_UNPACKED = 100_000_000, 300_000_000
PIECE = 1 << 16


def fetch(version: str, sha256: str | None) -> Path:
    machine = _machine()
    wanted = sha256 or (KNOWN.get(machine) if version == VERSION else None)
    stem = f"{NAME}-v{version}-linux-{machine}"
    base = os.environ.get(BASE_VARIABLE) or PUBLISHED
    url = f"{base.rstrip('/')}/v{version}/{stem}.tar.gz"
    if wanted is None:
        raise Problem(
            f"the SHA-256 of {url} is not known here: take it from a source that you trust and "
            f"give it with --sha256, or get {VERSION} without --version",
            2,
        )
    target = fetched()
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent) as folder:
        archive = Path(folder) / "archive"
        _download(url, archive, wanted)
        _unpack(archive, f"{stem}/{NAME}", target)
    return target


def _machine() -> str:
    machine = MACHINES.get(platform.machine().lower())
    if sys.platform != "linux" or machine is None:
        raise Problem(
            f"no nats-server is known here for {sys.platform} on {platform.machine()}: install "
            "it (such as brew install nats-server), then scripts/nats start",
            MISSING,
        )
    return machine


class _OnlyThere(urllib.request.HTTPRedirectHandler):
    """A redirect stays with the publisher, and with TLS."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        before, after = urlsplit(req.full_url), urlsplit(newurl)
        host = after.hostname or ""
        is_same = (before.scheme, before.netloc) == (after.scheme, after.netloc)
        is_theirs = after.scheme == "https" and host.endswith(f".{ALSO}")
        if not is_same and not (is_theirs and before.scheme == "https"):
            raise Problem(f"{req.full_url} leads to {after.scheme}://{after.netloc}: not followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _download(url: str, to: Path, wanted: str) -> None:
    if urlsplit(url).scheme not in ("https", "http"):
        raise Problem(f"{BASE_VARIABLE} must begin with https:// or http://", 2)
    opener = urllib.request.build_opener(_OnlyThere)
    try:
        with opener.open(url, timeout=READ_SECONDS) as answer, to.open("wb") as file:
            found, length = _copied(answer, file, time.monotonic() + WHOLE_SECONDS)
            announced = answer.headers.get("Content-Length")
    except (URLError, HTTPException, TimeoutError, ConnectionError) as error:
        raise Problem(f"{url} cannot be fetched ({error}): try again, or install it") from error
    if announced is not None and announced != str(length):
        raise Problem(f"{url} was cut short ({length:,} of {announced} bytes): try again")
    if found != wanted:
        raise Problem(f"{url} is not what it should be: its SHA-256 is {found}, not {wanted}")


def _copied(answer: IO[bytes], file: IO[bytes], until: float) -> tuple[str, int]:
    """Its SHA-256, and how many bytes there were."""
    digest, length = hashlib.sha256(), 0
    while piece := answer.read(PIECE):
        length += len(piece)
        if length > MOST_BYTES:
            raise Problem(f"it is longer than {MOST_BYTES:,} bytes: not a nats-server")
        if time.monotonic() > until:
            raise Problem(f"it is not there after {WHOLE_SECONDS} s: try again")
        digest.update(piece)
        file.write(piece)
    return digest.hexdigest(), length


def _unpack(archive: Path, member: str, target: Path) -> None:
    """Only the program; whatever else is in there stays there."""
    source = None
    with suppress(KeyError, tarfile.TarError, EOFError), tarfile.open(archive) as tar:
        entry = tar.getmember(member)
        source = tar.extractfile(entry) if entry.isreg() else None
        if source is not None and entry.size <= MOST_UNPACKED:
            with whole_file(target, durable=True) as part:
                with part.open("wb") as file:
                    shutil.copyfileobj(source, file)
                part.chmod(0o755)
            return
    raise Problem(f"there is no {member} in the archive: it is packed in another way than before")

"""A large file from the network, such as ConceptNet's dump.

Promise: a file has its name only when all of it is there and has its hash. A download that was cut
off, stopped or killed goes on where it was; it may take days, as long as bytes come.
Limit: a file whose hash nobody knows is not fetched.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..base.backoff import pause_after
from ..base.sha256 import is_sha256
from ..errors import (
    BadStatus,
    Fatal,
    GiveUp,
    HarvestError,
    ServerTrouble,
    StopHarvest,
    Unavailable,
    Unreachable,
    UsageError,
)
from ..proxy import without_password
from .client import Client
from .guard import host_of
from .resume import Part, Show
from .settings import HttpSettings

logger = logging.getLogger(__name__)

READ = 2**20
FIRST_GAP_S = 0.5
LONGEST_GAP_S = 60.0
TOLD_GAP_S = 5.0
STAMINA = 12  # tries without a byte, once some have come: about five minutes
NOTHING_BEHIND = 416

Trouble = ServerTrouble | Unavailable


@dataclass(frozen=True, slots=True)
class Remote:
    """Where a file is, and how it is known to be the right one."""

    url: str
    sha256: str
    size: int | None = None

    def __str__(self) -> str:
        """Without what may be secret in it."""
        return without_password(self.url) + urlsplit(self.url).path


DUMP = Remote(
    "https://s3.amazonaws.com/conceptnet/downloads/2019/edges/conceptnet-assertions-5.7.0.csv.gz",
    "accd65fe94038584295574ddc26e1500c1919c8c4532bf771811cafd0948af7e",
    497_963_447,
)


def chosen(url: str | None, sha256: str | None) -> Remote:
    """What the user wants: the dump, or another file that can be proven, too."""
    if url is not None and sha256 is None:
        raise UsageError("--url needs --sha256 HEX, or nobody could tell what has arrived")
    wanted = DUMP.sha256 if sha256 is None else sha256.strip().lower()
    if not is_sha256(wanted):
        raise UsageError(f"--sha256 {sha256!r} is no SHA-256: it has 64 digits from 0 to f")
    try:
        host_of(url or DUMP.url)
    except ValueError:
        raise UsageError(f"--url {url!r} is no address: write it like https://host/file") from None
    return Remote(url or DUMP.url, wanted, DUMP.size if wanted == DUMP.sha256 else None)


def default_path(remote: Remote) -> Path:
    """
    >>> default_path(DUMP)
    PosixPath('conceptnet-assertions-5.7.0.csv.gz')
    """
    name = unquote(urlsplit(remote.url).path).rpartition("/")[2]
    if name in ("", ".", "..") or "\0" in name:
        raise UsageError(f"{remote} has no file's name: python main.py download PATH")
    return Path(name)


def is_there(remote: Remote, path: Path, show: Show) -> bool:
    """Is it at this path already? Another file there is a UsageError: it is not ours to replace."""
    if not path.exists():
        return False
    if not path.is_file():
        raise UsageError(f"{path} is no file: name one to write")
    if (found := digest(path, show)) != remote.sha256:
        raise UsageError(
            f"{path} is another file than {remote} (its SHA-256 is {found}): "
            "move it away, or name another path"
        )
    return True


def fetch(
    remote: Remote, path: Path, client: Client, settings: HttpSettings, show: Show, prove: Show
) -> None:
    """Get it to this path. Unreachable says how to get it otherwise; what has come stays."""
    with Part(path, remote.url, remote.size, show) as part:
        try:
            _arrive(remote.url, part, client, settings)
        except (GiveUp, ServerTrouble, Unavailable) as error:
            raise Unreachable(_advice(remote, path, part.size, error)) from error
        if (found := digest(part.path, prove)) != remote.sha256:
            raise Fatal(
                f"{remote} sent something else: its SHA-256 is {found} instead of "
                f"{remote.sha256}; it is set aside as {part.set_aside()}"
            )
        part.publish()


def _arrive(url: str, part: Part, client: Client, settings: HttpSettings) -> None:
    """Ask for what is missing until nothing is, or nothing comes any more."""
    furthest, failures, tries = part.size, 0, settings.tries
    while not part.is_whole:
        error = _ask(url, part, client, settings.answer_timeout_s)
        if error is None:
            return
        failures += 1
        if part.size > furthest:
            furthest, failures, tries = part.size, 0, max(STAMINA, tries)
        if failures >= tries:
            raise error
        _rest(failures, error)


def _ask(url: str, part: Part, client: Client, silence: float) -> Trouble | None:
    """None if that is all of it, as far as the server says; else why there is more to ask for."""
    try:
        client.get(url, "*/*", 1, headers=part.wish, into=part, silence=silence)
    except (ServerTrouble, Unavailable) as error:
        return error
    except BadStatus as error:
        if error.status == NOTHING_BEHIND and part.size:
            return None
        raise
    return None if part.total is None or part.is_whole else ServerTrouble("it ends too early")


def _rest(failures: int, error: Trouble) -> None:
    own = pause_after(failures + 1, FIRST_GAP_S, LONGEST_GAP_S, spread=0.5)
    seconds = max(own, error.delay or 0.0)
    if seconds > TOLD_GAP_S:
        logger.warning("next try in %.0f s: %s", seconds, error)
    time.sleep(seconds)


def _advice(remote: Remote, path: Path, kept: int, error: HarvestError) -> str:
    size = "" if remote.size is None else f"{remote.size:,} bytes, "
    resume = f"; the same command goes on behind the {kept:,} bytes that came" if kept else ""
    return (
        f"{remote} cannot be fetched ({error}){resume}; or fetch it elsewhere "
        f"({size}SHA-256 {remote.sha256}) and put it at {path}"
    )


def digest(path: Path, show: Show) -> str:
    """The SHA-256 of all of a file."""
    sha256, done = hashlib.sha256(), 0
    try:
        with path.open("rb", 0) as file:
            total = os.fstat(file.fileno()).st_size
            while chunk := file.read(READ):
                sha256.update(chunk)
                show(done := done + len(chunk), total)
    except OSError as error:
        raise StopHarvest(f"{path} cannot be read: {error.strerror}") from error
    return sha256.hexdigest()

"""What the files of an archive are called: a folder for each domain, the folders spread.

Promise: a name from outside stays inside the archive and fits every file system. What is not named
like this is none of our files.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import PurePosixPath

LONGEST = 200  # of a domain; time, number and ending come on top, and names end at 255
ENDING, PIECE_ENDING = ".warc.gz", ".cdxj"
PLAIN = re.compile(r"[a-z0-9_-](?:[a-z0-9._-]*[a-z0-9_-])?", re.ASCII)
PORT = re.compile(r":\d*$", re.ASCII)
OURS = re.compile(
    r"(?P<spread>[0-9a-f]{2})/(?P<label>[a-z0-9._-]+)"
    r"/(?P=label)-(?P<time>\d{14})-(?P<number>\d{5})\.warc\.gz",
    re.ASCII,
)


@lru_cache(1024)
def label(domain: str) -> str:
    """A domain as the name of a folder.

    >>> label("Example.ORG:8080"), label("[2001:db8::1]:443"), label("bücher.example")
    ('example.org', '2001-db8--1', 'xn--bcher-kva.example')
    >>> label("../etc")
    '_..-etc-f7f9121f'
    """
    host = domain.lower()
    if host.startswith("["):
        plain = host.partition("]")[0][1:].replace(":", "-")
    else:
        plain = _ascii(PORT.sub("", host) if host.count(":") == 1 else host.replace(":", "-"))
    if PLAIN.fullmatch(plain) and len(plain) <= LONGEST:
        return plain
    digest = hashlib.sha256(domain.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"_{re.sub('[^a-z0-9._-]', '-', plain, flags=re.ASCII)[: LONGEST - 10]}-{digest}"


def folder_of(label: str) -> PurePosixPath:
    """
    >>> str(folder_of("example.org"))
    'bf/example.org'
    """
    return PurePosixPath(hashlib.sha256(label.encode()).hexdigest()[:2], label)


def file_name(label: str, time: datetime, number: int) -> str:
    """From the archive's folder on.

    >>> file_name("example.org", datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC), 7)
    'bf/example.org/example.org-20260504030201-00007.warc.gz'
    """
    stamp = time.astimezone(UTC).strftime("%Y%m%d%H%M%S")
    return str(folder_of(label) / f"{label}-{stamp}-{number:05}{ENDING}")


def piece_name(file: str) -> str:
    """Of the index of that file alone.

    >>> piece_name("bf/example.org/example.org-20260504030201-00007.warc.gz")
    'bf/example.org/example.org-20260504030201-00007.cdxj'
    """
    return file.removesuffix(ENDING) + PIECE_ENDING


def number_of(file: str) -> int | None:
    """None if it is none of our names."""
    match = OURS.fullmatch(file)
    if match is None or str(folder_of(match["label"])) != f"{match['spread']}/{match['label']}":
        return None
    return int(match["number"])


def _ascii(host: str) -> str:
    """As the DNS knows it; as it is, if the DNS cannot."""
    host = host.removesuffix(".")
    try:
        is_for_dns = not host.isascii() and len(host) <= LONGEST  # longer ones take for ever
        return host.encode("idna").decode("ascii") if is_for_dns else host
    except UnicodeError:
        return host

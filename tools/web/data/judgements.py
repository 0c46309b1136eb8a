"""`judged.jsonl` in the state folder: what people said of files, good or bad, by their SHA-256.

Promise: a judgement is one whole line, added to the end and on the disk when this returns; the last
one of a file counts, and "none" takes it back. A line that was cut off, or that somebody spoilt,
is passed over and harms no other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple, cast, get_args

import orjson

from ...base.files import sync, write_all
from ...base.locks import locked
from ...base.sha256 import is_sha256
from ...errors import Unavailable, UsageError
from ...journal.snapshots import JUDGED

Verdict = Literal["good", "bad", "none"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
PATIENCE_S = 2.0


def judge(state: Path, sha256: str, verdict: str) -> None:
    if verdict not in VERDICTS or not is_sha256(sha256):
        raise UsageError(f"a judgement is one of {', '.join(VERDICTS)}, of a SHA-256")
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = orjson.dumps({"sha256": sha256, "verdict": verdict, "time": moment}) + b"\n"
    path = state / JUDGED
    until = time.monotonic() + PATIENCE_S
    try:
        while not _appended(path, line):
            if time.monotonic() > until:
                raise Unavailable(f"somebody else holds {path}: try again")
            time.sleep(0.005)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}") from error


def _appended(path: Path, line: bytes) -> bool:
    """Not while somebody else writes."""
    with locked(path, str(path)) as fd:
        if fd is not None:
            _append(fd, line)
            if os.fstat(fd).st_size == len(line):  # it is new, and so is its name
                sync(path.parent)
        return fd is not None


def _append(fd: int, line: bytes) -> None:
    """After a line that was cut off a new one begins."""
    end = os.lseek(fd, 0, os.SEEK_END)
    is_cut = end > 0 and os.pread(fd, 1, end - 1) != b"\n"
    write_all(fd, b"\n" + line if is_cut else line)
    os.fsync(fd)


class Judgement(NamedTuple):
    verdict: Verdict
    line: int  # of the file: a later judgement has a higher one


def judged(state: Path) -> dict[str, Verdict]:
    """Of every file that is judged now, the last verdict."""
    return {sha256: each.verdict for sha256, each in latest(state).items()}


def latest(state: Path) -> Mapping[str, Judgement]:
    """The same with their lines, in the order of these; read again only after a change."""
    path = state / JUDGED
    try:
        facts = path.stat()
        return _latest(path, facts.st_ino, facts.st_size, facts.st_mtime_ns)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}") from error


@lru_cache(maxsize=1)  # one harvest is looked at; what is newer than its mark is read once more
def _latest(path: Path, *mark: int) -> Mapping[str, Judgement]:
    found: dict[str, Judgement] = {}
    for line, sha256, verdict in _lines(path):
        found.pop(sha256, None)
        if verdict != "none":
            found[sha256] = Judgement(verdict, line)
    return MappingProxyType(found)  # for all who ask


def bad(state: Path) -> frozenset[str]:
    return frozenset(sha256 for sha256, verdict in judged(state).items() if verdict == "bad")


def _lines(path: Path) -> Iterator[tuple[int, str, Verdict]]:
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            said = orjson.loads(line)
            sha256, verdict = said["sha256"], said["verdict"]
        except (ValueError, TypeError, KeyError):
            continue
        if is_sha256(sha256) and verdict in VERDICTS:
            yield number, sha256, cast(Verdict, verdict)

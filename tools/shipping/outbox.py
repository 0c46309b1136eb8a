"""Batches of media on their way to the receiving node, on this disk.

A batch is the books as they were when it was closed, and the files they list. It lies in a folder
of its own beside the media, so that nobody who writes media can touch it. One of files that nobody
writes any more is a list of them.

Promise: only finished owners are in a batch. Whatever a crash leaves half done is completed by
doing it again.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import IO, Any

import orjson

from ..base.files import sync
from ..base.locks import is_locked_now
from ..errors import StopHarvest, Unavailable
from ..media.ledger import Ledger
from ..media.ledger_lines import BOOKS, FILES
from ..media.ledger_split import divide
from .batch import CONTENT, DAMAGED, PLAN, Batch, append, lines, read_batch
from .volume import Member, cut

logger = logging.getLogger(__name__)

FOLDER = ".outbox"  # in the media folder; no folder of a concept begins with a dot
SHIPPED = "SHIPPED.jsonl"
CLOSING, MAKING, DIVIDED, LISTING = ".closing", ".making", ".divided", ".listing"
MOST_FILES = 50_000  # in a batch, about
NAME = re.compile(r"(?P<harvest>[0-9a-f]{8})-(?P<counter>[0-9]{6,})-[0-9a-f]{4}")
LOOK_EVERY_S = 0.2
_LOCK = "LOCK"


class Outbox:
    def __init__(self, media: Path, volume_bytes: int) -> None:
        self._media = media
        self._folder = media / FOLDER
        self._volume_bytes = volume_bytes
        self._weights: dict[str, int] = {}  # bytes of each batch that are still here

    @property
    def weight(self) -> int:
        return sum(self._weights.values())

    def measure(self, batch: Batch) -> None:
        self._weights[batch.name] = batch.open_size

    @contextmanager
    def held(self, patience_s: float) -> Iterator[None]:
        """By one shipping at a time, whoever began it."""
        deadline = time.monotonic() + patience_s
        with self._lock_file() as lock:
            while not is_locked_now(lock.fileno(), str(self._folder)):
                if time.monotonic() >= deadline:
                    raise Unavailable(f"{self._folder} is being shipped already: wait for it")
                Event().wait(LOOK_EVERY_S)
            yield

    def _lock_file(self) -> IO[str]:
        with self._translating():
            self._folder.mkdir(mode=0o700, exist_ok=True)  # not the media folder: it may be gone
            return (self._folder / _LOCK).open("w")

    def close(self, ledger: Ledger) -> None:
        """What the books list now becomes a batch, by a few renames. Nobody may write into the
        books meanwhile."""
        harvest = ledger.harvest
        if harvest is None or not any((self._media / name).exists() for name in BOOKS):
            return
        begun = time.monotonic()
        name = self._new_name(harvest)
        closing = self._folder / f"{name}{CLOSING}"
        with self._translating():
            (closing / CONTENT).mkdir(parents=True)
            self._weights[name] = ledger.bytes
            # Under a name that `complete` looks for: a crash amid the renames leaves no half batch.
            ledger.hand_over(closing / CONTENT)
            sync(closing / CONTENT)
            closing.replace(self._folder / name)
            sync(self._folder)
        logger.info("batch %s was closed in %.1f ms", name, (time.monotonic() - begun) * 1000)

    def add(self, harvest: str, kind: str, members: Sequence[Member]) -> None:
        """Files that are closed already, and stay where they are, become batches."""
        for first in range(0, len(members), MOST_FILES):
            name = self._new_name(harvest)
            listing = self._folder / f"{name}{LISTING}"
            volumes = cut(members[first : first + MOST_FILES], self._volume_bytes)
            with self._translating():
                listing.mkdir(parents=True)
                Batch(listing, _now(), volumes, [], kind=kind).save()
                listing.replace(self._folder / name)
                sync(self._folder)
            self.open(name)

    def complete(self, ledger: Ledger) -> None:
        """What a crash interrupted, before anybody writes media or books again."""
        with self._translating():
            for closing in sorted(self._folder.glob(f"*{CLOSING}")):
                (closing / CONTENT).mkdir(exist_ok=True)
                ledger.hand_over(closing / CONTENT)
                closing.replace(closing.with_suffix(""))
        self.tidy()

    def tidy(self) -> None:
        """What a crash left of batches that were being made, divided or forgotten."""
        with self._translating():
            for listing in self._folder.glob(f"*{LISTING}"):
                shutil.rmtree(listing)
            # It stands among the shipped before it is removed, so what is still here is a remnant.
            arrived = {each["batch"] for each in self.shipped()}
            for name in arrived.intersection(self.names()):
                _clear(self._folder / name)
            for divided in self._folder.glob(f"*{DIVIDED}"):
                shutil.rmtree(divided)
            self.divide()
        for name in self.names():
            self.open(name)

    def divide(self) -> None:
        """Of a batch that lists very many files, several: a node must not choke on its manifest."""
        for name in self.names():
            content = self._folder / name / CONTENT
            is_gathered = (self._folder / name / PLAN).exists()
            # Not a part: one may have a few more than the most, because owners stay whole.
            if not is_gathered and _count(content / FILES) > 2 * MOST_FILES:
                self._divide(name, content)

    def _divide(self, name: str, content: Path) -> None:
        """The parts have names that follow from its own, so that it can be done again."""
        harvest, counter, suffix = name.split("-")

        def place(number: int) -> Path:
            part = self._folder / f"{harvest}-{int(counter) + number + 1:06}-{suffix}{MAKING}"
            (part / CONTENT).mkdir(parents=True, exist_ok=True)
            return part / CONTENT

        divide(content, MOST_FILES, place)
        os.sync()
        for made in sorted(self._folder.glob(f"*{MAKING}")):
            if made.with_suffix("").exists():  # of an attempt that was killed
                shutil.rmtree(made)
            else:
                made.replace(made.with_suffix(""))
        divided = self._folder / f"{name}{DIVIDED}"
        (self._folder / name).replace(divided)
        shutil.rmtree(divided)

    def names(self) -> list[str]:
        """The oldest first."""
        if not self._folder.is_dir():
            return []
        folders = [each.name for each in self._folder.iterdir() if each.is_dir()]
        return sorted(each for each in folders if NAME.fullmatch(each))

    def summary_of(self, name: str) -> tuple[str, Batch | None]:
        """As it is, and nothing touched; None where its files are not gathered yet."""
        folder = self._folder / name
        return name, read_batch(folder) if (folder / PLAN).exists() else None

    def open(self, name: str) -> Batch:
        """Its files are gathered from the media folder, if that is not done yet."""
        folder = self._folder / name
        with self._translating():
            if not (folder / PLAN).exists():
                self._gather(folder)
            batch = read_batch(folder)
            batch.erase_proven()
        self.measure(batch)
        return batch

    def forget(self, batch: Batch, how: str) -> None:
        """It has arrived, all of it: one line remains."""
        line = {
            "batch": batch.name,
            "time": _now(),
            "files": batch.files,
            "bytes": batch.size,
            "lost": len(batch.lost),
            "proof": how,
        }
        with self._translating():
            append(self._folder / SHIPPED, orjson.dumps(line) + b"\n")
            _clear(batch.folder)
        self._weights.pop(batch.name, None)

    def shipped(self) -> list[dict[str, Any]]:
        return list(lines(self._folder / SHIPPED))

    def _new_name(self, harvest: str) -> str:
        return f"{harvest[:8]}-{self._next_counter():06}-{secrets.token_hex(2)}"

    def _next_counter(self) -> int:
        names = [each["batch"] for each in self.shipped()]
        names += [each.name for each in self._folder.glob("*")]
        found = [match["counter"] for name in names if (match := NAME.match(name))]
        return 1 + max(map(int, found), default=0)

    def _gather(self, folder: Path) -> None:
        """Move the files here, then write down what goes into which volume."""
        content = folder / CONTENT
        listed = _listed(content / FILES)
        for member in listed:
            _move(self._media / member.path, content / member.path)
        for parent in {member.path.rpartition("/")[0] for member in listed}:
            self._prune(self._media / parent)
        books = [_weighed(content, name) for name in BOOKS if (content / name).exists()]
        Batch(folder, _now(), cut([*listed, *books], self._volume_bytes), []).save()

    def _prune(self, folder: Path) -> None:
        """Empty folders take room too."""
        while folder != self._media:
            try:
                folder.rmdir()
            except FileNotFoundError:
                pass  # it went before; those above it may be empty
            except OSError:
                return
            folder = folder.parent

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self.unusable(error) from error

    def unusable(self, error: OSError) -> StopHarvest:
        return StopHarvest(
            f"{self._folder} cannot be used ({error.strerror}): fix this, then start again"
        )


def _move(source: Path, target: Path) -> None:
    """What is not here any more has been moved before, or is found missing when it is sent."""
    try:
        source.replace(target)
    except FileNotFoundError:
        if source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            source.replace(target)


def _clear(folder: Path) -> None:
    """Of a batch that has arrived. What is left of damaged files nobody else has."""
    if not (folder / DAMAGED).exists():
        shutil.rmtree(folder)
        return
    if (folder / CONTENT).exists():
        shutil.rmtree(folder / CONTENT)
    folder.replace(folder.with_suffix(".damaged"))


def _count(book: Path) -> int:
    return sum(1 for _ in lines(book))


def _listed(book: Path) -> list[Member]:
    """A file that stands there twice, because a crash repeated its task, is as it stands last."""
    found = (Member(each["path"], each["bytes"], each["sha256"]) for each in lines(book))
    return list({each.path: each for each in found}.values())


def _weighed(folder: Path, name: str) -> Member:
    with (folder / name).open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return Member(name, file.tell(), sha256)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

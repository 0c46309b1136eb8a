"""A batch of files on its way: what it holds, in which volumes, and how much of it has arrived.

Promise: what is erased was marked as proven before, on the disk. What a crash leaves half done is
completed by doing it again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import get_ident
from typing import Any

import orjson

from ..base.files import write_all, write_whole
from ..media.ledger_lines import BOOKS, FILES, SEARCHES
from .volume import Member, MemberLost, Volume

logger = logging.getLogger(__name__)

CONTENT, DAMAGED, PLAN, SENT = "content", "damaged", "plan.json", "sent.jsonl"
MEDIA, ARCHIVE = "media", "archive"
"""What a batch holds. Media move into its folder; files of an archive stay where they are."""
FORMATS = {MEDIA: 1, ARCHIVE: 3}
"""Of the manifest: who knows media only must not take the others for such. The second was that of
archives without their index."""


@dataclass(slots=True)
class Batch:
    """One that was closed and gathered: what it holds and how much of it has arrived."""

    folder: Path
    created: str
    volumes: list[Volume]
    lost: list[dict[str, str]]
    sent: dict[str, str] = field(default_factory=dict)  # volume -> its SHA-256
    proven: set[str] = field(default_factory=set)  # volumes
    kind: str = MEDIA

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def content(self) -> Path:
        return self.folder / CONTENT if self.kind == MEDIA else self.folder.parent.parent

    @property
    def open_volumes(self) -> list[Volume]:
        return [each for each in self.volumes if each.name not in self.proven]

    @property
    def files(self) -> int:
        return sum(len(each.members) for each in self.volumes)

    @property
    def size(self) -> int:
        return sum(each.size for each in self.volumes)

    @property
    def open_size(self) -> int:
        return sum(each.size for each in self.open_volumes)

    def note_sent(self, volume: Volume, sha256: str, is_proven: bool) -> None:
        """First this is on the disk; then, if the node has proven it, its files are erased here."""
        line = {
            "volume": volume.name,
            "bytes": volume.size,
            "sha256": sha256,
            "proven": is_proven,
        }
        append(self.folder / SENT, orjson.dumps(line) + b"\n")
        self.sent[volume.name] = sha256
        if is_proven:
            self.proven.add(volume.name)
            self.erase(volume)

    def erase(self, volume: Volume) -> None:
        """Its own; what lies elsewhere is not the batch's to erase. Its books stay for as long as
        it does: they say whose its files were."""
        content = self.content
        for member in volume.members if self.kind == MEDIA else ():
            if member.path not in BOOKS:
                (content / member.path).unlink(missing_ok=True)

    def erase_proven(self) -> None:
        """A crash may have come between the mark and the deed."""
        for volume in self.volumes:
            if volume.name in self.proven:
                self.erase(volume)

    def drop(self, volume: Volume, lost: MemberLost) -> Volume:
        """The volume without a file that cannot be sent; what is left of a medium is set aside."""
        path, aside = self.content / lost.member.path, self.folder / DAMAGED / lost.member.path
        logger.error("%s stays behind: %s", self.name, lost)
        if self.kind == MEDIA and path.exists():
            aside.parent.mkdir(parents=True, exist_ok=True)
            path.replace(aside)
        members = [each for each in volume.members if each != lost.member]
        remade = Volume(volume.name, members, volume.is_last)
        self.volumes[self.volumes.index(volume)] = remade
        self.lost.append({"path": lost.member.path, "reason": lost.reason})
        self.save()
        return remade

    def owners(self) -> list[str]:
        """Whose files it holds, and for whom nothing was found; not those of whom a file was lost.
        Known until it is forgotten."""
        lost = {each["path"] for each in self.lost}
        found: dict[str, bool] = {}  # is everything of theirs in it?
        for book in (SEARCHES, FILES):
            for line in lines(self.content / book):
                is_lost = line.get("path") in lost
                found[line["owner"]] = found.get(line["owner"], True) and not is_lost
        return [owner for owner, is_whole in found.items() if is_whole]

    def save(self) -> None:
        """Another lane may drop a file meanwhile: whoever is last has written all of it."""
        lost = -1
        while lost < len(self.lost):
            lost = len(self.lost)
            volumes = [{"name": each.name, "members": each.members} for each in self.volumes]
            plan = {"created": self.created, "volumes": volumes, "lost": self.lost}
            plan |= {"kind": self.kind}
            own = self.folder / f"plan.{get_ident()}.part"  # lanes may do it together
            text = orjson.dumps(plan, default=tuple)
            write_whole(self.folder / PLAN, text, durable=True, part=own)

    def manifest(self) -> bytes:
        """What the node must have in the end; every volume is known by its hash by now."""
        volumes = [
            {
                "name": each.name,
                "bytes": each.size,
                "sha256": self.sent[each.name],
                "members": [member._asdict() for member in each.members],
            }
            for each in self.volumes
        ]
        format_ = FORMATS[self.kind]
        head: dict[str, Any] = {"format": format_, "batch": self.name, "created": self.created}
        if format_ > 1:
            head["kind"] = self.kind
        return orjson.dumps({**head, "volumes": volumes, "lost": self.lost})


def read_batch(folder: Path) -> Batch:
    plan = orjson.loads((folder / PLAN).read_bytes())
    last = plan["volumes"][-1]["name"]
    volumes = [
        Volume(each["name"], [Member(*member) for member in each["members"]], each["name"] == last)
        for each in plan["volumes"]
    ]
    sizes = {each.name: each.size for each in volumes}  # it may have been remade since it was sent
    noted = [each for each in lines(folder / SENT) if each["bytes"] == sizes[each["volume"]]]
    sent = {each["volume"]: each for each in noted}
    proven = {name for name, each in sent.items() if each["proven"]}
    hashes = {name: each["sha256"] for name, each in sent.items()}
    kind = plan.get("kind", MEDIA)
    return Batch(folder, plan["created"], volumes, plan["lost"], hashes, proven, kind)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """A last line torn by a power cut is none."""
    if not path.exists():
        return
    with path.open("rb") as lines:
        for line in lines:
            try:
                yield orjson.loads(line)
            except orjson.JSONDecodeError:
                logger.warning("%s has a torn line", path)


def append(path: Path, line: bytes) -> None:
    """Behind a line that was torn it begins a new one."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(path, flags, 0o600)
    size = os.fstat(file).st_size
    try:
        if size and os.pread(file, 1, size - 1) != b"\n":
            line = b"\n" + line
        write_all(file, line)
        os.fsync(file)
    except OSError:  # a later reader must not believe what the disk may forget
        os.ftruncate(file, size)
        raise
    finally:
        os.close(file)

"""What an unfinished search for media has gathered, kept from one attempt to the next.

Promise: a task that comes back, after a pause, a stop or a graph that was away, fetches no file a
second time and asks nobody again whose offers have all been tried. An attempt that was killed is
made again. A draft appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from ..add import KINDS, Media
from ..base.files import write_whole
from ..errors import NO_FILES, StopHarvest, no_more_files
from ..uri import media_folder
from .offer import Candidate

MOST_NAMED = 1000


class Offer(NamedTuple):
    """A candidate that could not be fetched yet."""

    provider: str
    kind: str
    candidate: Candidate


@dataclass(slots=True)
class Draft:
    owner: str
    media: list[Media] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # provider/kind, whoever answered
    exhausted: list[str] = field(default_factory=list)  # whose offers have all been tried
    refused: list[dict[str, str]] = field(default_factory=list)
    links: list[dict[str, str]] = field(default_factory=list)
    open: list[Offer] = field(default_factory=list)
    since: float = 0.0  # wall clock: when it was first kept; 0 is not yet

    @property
    def age_s(self) -> float:
        return max(0.0, time.time() - self.since) if self.since else 0.0

    @property
    def weight(self) -> int:
        return sum(each.bytes for each in self.media)

    def table(self) -> dict[str, Any]:
        """For JSON; what is in it is still the draft's own."""
        return {name: getattr(self, name) for name in FIELDS}

    def date(self) -> None:
        """It is kept now, perhaps for the first time; the clock may have been set back."""
        now = time.time()
        self.since = min(self.since or now, now)

    def of_kind(self, kind: str) -> list[Media]:
        return [each for each in self.media if each.kind == kind]

    def open_of(self, kind: str) -> list[Offer]:
        return [each for each in self.open if each.kind == kind]

    def refuse(
        self, provider: str, kind: str, reason: str, candidate: Candidate | None = None
    ) -> None:
        """A file, or whatever its provider might have offered."""
        url = candidate.url if candidate else ""
        said = {"provider": provider, "kind": kind, "url": url, "reason": reason}
        if candidate:
            said |= {"page": candidate.page, "license": candidate.license}
        self.refused.append(said)

    def close(self, unanswered: Mapping[str, str]) -> None:
        """Nothing more is tried. By kind, why nobody was asked, or not all that was offered."""
        for kind, reason in unanswered.items():
            if not self.open_of(kind):
                self.refuse("", kind, reason)
        for provider, kind, candidate in self.open:
            self.refuse(provider, kind, unanswered.get(kind, "not needed"), candidate)
        self.open.clear()

    def link(self, provider: str, kind: str, found: Sequence[Candidate]) -> None:
        self.links += [{"provider": provider, "kind": kind, "page": each.page} for each in found]

    def knows(self, url: str) -> bool:
        """Kept, refused or still to be fetched, whoever offered it."""
        return (
            any(each.source == url for each in self.media)
            or any(each["url"] == url for each in self.refused)
            or any(each.candidate.url == url for each in self.open)
        )


FIELDS = tuple(each.name for each in fields(Draft))


class Drafts:
    """The drafts of a harvest. Those of tasks that come back lie in a folder of its state, one file
    each; those of tasks that are done but not stored yet are held in memory. How large their files
    are is always known."""

    def __init__(self, folder: Path, media: Path) -> None:
        self._folder = folder
        self._media = media
        self._delivered: dict[str, Draft] = {}
        self._on_disk: set[str] = set()
        self._sizes: dict[str, int] = {}  # of the files of each owner that has some
        for path in folder.glob("*/*.json"):
            self._on_disk.add(path.stem)
            if (draft := _parsed(path)) is not None:
                self._weigh(draft)

    @property
    def weight(self) -> int:
        """Bytes of all files that no book knows yet."""
        return sum(list(self._sizes.values()))  # copied in one step: others come and go

    def begun(self) -> list[str]:
        """Some owners that have files here."""
        owners = list(self._sizes)
        return random.sample(owners, min(MOST_NAMED, len(owners)))

    def open(self, owner: str) -> Draft:
        """What is known about an owner; files nobody knows about are removed. If one of its own is
        missing it begins anew: those who offered it have been crossed out."""
        draft = self._delivered.pop(owner, None) or self._read(owner)
        if not all(map(self._is_there, draft.media)):
            draft = Draft(owner)
        self._remove_leftovers(draft)
        return draft

    def lend(self, owner: str) -> dict[str, Any] | None:
        """What is known about an owner, for whoever works on it elsewhere; None: nothing."""
        draft = self._delivered.get(owner) or self._read(owner)
        return None if draft == Draft(owner) else draft.table()

    def tidy(self, owner: str) -> None:
        """Whoever worked on it elsewhere is gone: files that its draft does not know go, too."""
        self._remove_leftovers(self._delivered.get(owner) or self._read(owner))

    def drop(self, owner: str) -> None:
        """Nobody wants what was gathered for it: its files go, and what is known of them."""
        self.remove([owner])
        self._remove_leftovers(Draft(owner))

    def keep_delivered(self, owner: str) -> None:
        """Its task is done and could not be stored: it comes back, perhaps after a restart."""
        if (draft := self._delivered.get(owner)) is not None:
            self.save(draft)

    def deliver(self, draft: Draft) -> None:
        """Its task is done. If it cannot be stored now, the next attempt finds the draft here."""
        self._delivered[draft.owner] = draft
        self._weigh(draft)

    def save(self, draft: Draft) -> None:
        path = self._path(draft.owner)
        draft.date()
        try:
            self._write(path, orjson.dumps(draft.table(), default=tuple))
        except OSError as error:
            if error.errno in NO_FILES:
                raise no_more_files(error) from error
            raise StopHarvest(
                f"{path.parent} cannot be written ({error.strerror}): fix this, then start again"
            ) from error
        self._on_disk.add(path.stem)
        self._weigh(draft)

    def remove(self, owners: Sequence[str]) -> None:
        """What they hold is stored."""
        for owner in owners:
            self._delivered.pop(owner, None)
            self._sizes.pop(owner, None)
            if (name := _name(owner)) in self._on_disk:
                self._path(owner).unlink(missing_ok=True)
                self._on_disk.discard(name)

    def _weigh(self, draft: Draft) -> None:
        if draft.media:
            self._sizes[draft.owner] = draft.weight
        else:
            self._sizes.pop(draft.owner, None)

    def _write(self, path: Path, text: bytes) -> None:
        self._folder.mkdir(exist_ok=True)  # not the state folder: it may have been moved away
        path.parent.mkdir(exist_ok=True)
        write_whole(path, text, durable=False)

    def _path(self, owner: str) -> Path:
        name = _name(owner)
        return self._folder / name[:2] / f"{name}.json"

    def _read(self, owner: str) -> Draft:
        """A draft that cannot be read is none: its files are fetched again."""
        draft = _parsed(self._path(owner)) if _name(owner) in self._on_disk else None
        return draft or Draft(owner)

    def _is_there(self, each: Media) -> bool:
        try:
            return (self._media / each.path).stat().st_size == each.bytes
        except OSError:
            return False

    def _remove_leftovers(self, draft: Draft) -> None:
        """Files of an attempt that was killed: this attempt fetches them again."""
        known = {each.path for each in draft.media}
        folder = media_folder(draft.owner)
        for kind in KINDS if (self._media / folder).is_dir() else ():
            place = self._media / folder / kind
            for path in list(place.iterdir()) if place.is_dir() else ():
                if f"{folder}/{kind}/{path.name}" not in known:
                    path.unlink(missing_ok=True)


def _name(owner: str) -> str:
    return hashlib.sha256(owner.encode()).hexdigest()[:32]


def _parsed(path: Path) -> Draft | None:
    try:
        return draft_of(orjson.loads(path.read_bytes()))
    except (FileNotFoundError, ValueError):
        return None


def draft_of(table: dict[str, Any]) -> Draft:
    """ValueError if it is none."""
    try:
        media = [Media(*each) for each in table["media"]]
        open_ = [Offer(a, b, Candidate(*each)) for a, b, each in table["open"]]
        return Draft(**{**table, "media": media, "open": open_})
    except (TypeError, KeyError) as error:
        raise ValueError(f"no draft: {error}") from None


def reason_group(reason: str) -> str:
    """A reason without what differs from file to file, so that reasons can be counted.

    >>> reason_group("too many pixels (30000x30000)"), reason_group("not an image: HTML")
    ('too many pixels', 'not an image')
    >>> reason_group("HTTP 404 for http://example.org/a.jpg"), reason_group("looks like image/1")
    ('HTTP 404', 'looks like another')
    >>> reason_group("example.org leads to a private address (10.0.0.1)")
    'a private address'
    """
    general = re.split(r" \(|:| for ", reason)[0]
    general = re.sub(r"^(looks like|the same file as) .*", r"\1 another", general)
    return re.sub(r"^\S+ (is|leads to) (a private address)$", r"\2", general)

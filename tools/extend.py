"""Worker of the extend stage: one concept or relation -> its images, sounds and gifs.

Promise: providers are asked in their order until there are enough good files. What failed only
because somebody was down or limits us is tried again later, for some days; what nobody has is
finished without. Whatever an attempt has gathered is kept for the next. When room is short a task
is ended with what it has.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Protocol

from .add import KINDS, Attachment, Media
from .base.credentials import hidden
from .conceptnet.rules import search_text
from .engine.stage import Done, Task
from .errors import (
    ComeBack,
    GiveUp,
    HarvestError,
    Interrupted,
    NoRoom,
    RetryLater,
    ServerTrouble,
    Unavailable,
)
from .media.drafts import Draft, Drafts, Offer
from .media.offer import Candidate
from .providers.resting import PatientProvider
from .uri import media_folder

if TYPE_CHECKING:
    from .media.downloader import Kind

logger = logging.getLogger(__name__)

ORDER = sorted(KINDS)  # in which they are looked for
SHORTEST_WAIT_S = 1.0
DAY_S = 86_400.0
EARLY = "no more was looked for, because there was no room"


def media_kinds(sounds: bool) -> dict[str, Kind]:
    """What a good file of each kind is. The modules take Pillow with them; where sounds are wanted,
    what decodes them is here before the first comes."""
    from . import download_gifs, download_images, download_sounds

    if sounds:
        download_sounds.library()
    return {"image": download_images, "audio": download_sounds, "visual": download_gifs}


class Downloads(Protocol):
    """How a candidate becomes a file."""

    def keep(
        self,
        candidate: Candidate,
        kind: str,
        provider: str,
        root: Path,
        folder: str,
        number: int,
        kept: Sequence[Media],
    ) -> Media: ...


@dataclass(frozen=True, slots=True)
class Wanted:
    """How many files of each kind, how many are enough not to wait for more, and how long anybody
    waits at all."""

    number: Mapping[str, int]
    enough: int | None
    patience_days: float = 3.0

    def is_short(self, kind: str, kept: int) -> bool:
        wanted = self.number[kind]
        return kept < (wanted if self.enough is None else min(self.enough, wanted))


@dataclass(slots=True)
class Attempt:
    """One go at one owner, and why it may not be the last."""

    draft: Draft
    folder: str
    text: str
    waits: dict[str, Unavailable] = field(default_factory=dict)  # by kind
    troubles: dict[str, ServerTrouble] = field(default_factory=dict)  # by kind

    @property
    def is_of_relation(self) -> bool:
        return self.draft.owner.startswith("/a/")


class Extender:
    def __init__(
        self,
        providers: Sequence[PatientProvider],
        downloads: Downloads,
        drafts: Drafts,
        media: Path,
        wanted: Wanted,
        attempts: int,
        stop: Event,
    ) -> None:
        self._providers = providers
        self._downloads = downloads
        self._drafts = drafts
        self._media = media
        self._wanted = wanted
        self._attempts = attempts
        self._stop = stop

    def __call__(self, task: Task) -> Done:
        draft = self._drafts.open(task.uri)
        attempt = Attempt(draft, media_folder(task.uri), search_text(task.uri).strip())
        try:
            if task.is_hurried and draft.media:
                draft.close(dict.fromkeys(self._short(draft), EARLY))
            else:
                self._search(attempt, is_last=task.attempts + 1 >= self._attempts)
        except BaseException:
            self._drafts.save(draft)
            raise
        self._drafts.deliver(draft)
        records = attachment(draft, attempt.text)
        return Done("finished", records=records, tally=counted(draft.media))

    def begun(self) -> Sequence[str]:
        return self._drafts.begun()

    def _search(self, attempt: Attempt, is_last: bool) -> None:
        for kind in ORDER:
            self._gather(kind, attempt)
        self._judge(attempt, is_last)

    def _gather(self, kind: str, attempt: Attempt) -> None:
        """Try offers until there are as many files as wanted, those left over from before first."""
        draft, wanted = attempt.draft, self._wanted.number[kind]
        offers = chain(draft.open_of(kind), self._offers(kind, attempt))
        while len(draft.of_kind(kind)) < wanted and (offer := next(offers, None)):
            self._try(offer, attempt)

    def _offers(self, kind: str, attempt: Attempt) -> Iterator[Offer]:
        """Asks the next provider only when the last one's offers did not suffice."""
        for provider in self._providers:
            is_meant = provider.is_for_relations or not attempt.is_of_relation
            if not attempt.text or kind not in provider.kinds or not is_meant:
                continue
            key = f"{provider.name}/{kind}"
            if key in attempt.draft.exhausted:
                continue
            found = self._ask(provider, kind, attempt)
            if found is None:
                continue
            yield from self._new(found, provider.name, kind, attempt.draft)
            if not self._is_failing(provider.name, kind, attempt.draft):
                attempt.draft.exhausted.append(key)

    def _new(
        self, found: Sequence[Candidate], provider: str, kind: str, draft: Draft
    ) -> Iterator[Offer]:
        for candidate in found:
            if self._is_failing(provider, kind, draft):
                return
            if not draft.knows(candidate.url):
                yield Offer(provider, kind, candidate)

    def _is_failing(self, provider: str, kind: str, draft: Draft) -> bool:
        """Its files fail one after the other: the rest is left for another time."""
        failed = [each for each in draft.open_of(kind) if each.provider == provider]
        return len(failed) >= 2 * self._wanted.number[kind]

    def _ask(
        self, provider: PatientProvider, kind: str, attempt: Attempt
    ) -> list[Candidate] | None:
        """None if it could not answer now."""
        draft = attempt.draft
        self._heed_stop()
        try:
            found = provider.search(attempt.text, kind)
            logger.debug("%s offers %d of %s for %s", provider.name, len(found), kind, draft.owner)
        except Unavailable as error:
            logger.debug("%s cannot be asked for %s now: %s", provider.name, draft.owner, error)
            attempt.waits[kind] = _sooner(error, attempt.waits.get(kind))
            return None
        except ServerTrouble as error:
            logger.debug("%s fails for %s: %s", provider.name, draft.owner, error)
            attempt.troubles[kind] = error
            return None
        except GiveUp as error:
            logger.debug("%s refuses %s: %s", provider.name, draft.owner, error)
            draft.refuse(provider.name, kind, str(error))
            found = []
        draft.asked.append(f"{provider.name}/{kind}")
        if provider.is_link_only:
            draft.link(provider.name, kind, found[: self._wanted.number[kind]])
            return []
        return found

    def _try(self, offer: Offer, attempt: Attempt) -> None:
        self._heed_stop()
        draft, (provider, kind, candidate) = attempt.draft, offer
        draft.open = [each for each in draft.open if each != offer]
        number = len(draft.of_kind(kind))
        place = (self._media, attempt.folder, number, draft.media)
        try:
            media = self._downloads.keep(candidate, kind, provider, *place)
            draft.media.append(media)
            self._log(offer, "kept as", media.path)
        except GiveUp as error:
            self._log(offer, "refused:", error)
            draft.refuse(provider, kind, str(error), candidate)
        except NoRoom:
            draft.open.append(offer)
            raise
        except Unavailable as error:
            self._log(offer, "postponed:", error)
            attempt.waits[kind] = _sooner(error, attempt.waits.get(kind))
            draft.open.append(offer)
        except ServerTrouble as error:
            self._log(offer, "postponed:", error)
            attempt.troubles[kind] = error
            draft.open.append(offer)

    def _log(self, offer: Offer, verdict: str, why: object) -> None:
        if logger.isEnabledFor(logging.DEBUG):
            provider, kind, candidate = offer
            logger.debug("%s %s %s %s %s", provider, kind, hidden(candidate.url), verdict, why)

    def _judge(self, attempt: Attempt, is_last: bool) -> None:
        """Return if this was all there is; else the error says when to try again."""
        short = self._short(attempt.draft)
        waits = {kind: attempt.waits[kind] for kind in short if kind in attempt.waits}
        if waits and attempt.draft.age_s < self._wanted.patience_days * DAY_S:
            raise self._later(waits.values())
        troubles = [attempt.troubles[kind] for kind in short if kind in attempt.troubles]
        if troubles and not is_last:
            raise RetryLater(str(troubles[0]))
        reasons = {**waits, **attempt.troubles}
        attempt.draft.close({kind: str(reason) for kind, reason in reasons.items()})

    def _short(self, draft: Draft) -> list[str]:
        return [kind for kind in ORDER if self._wanted.is_short(kind, len(draft.of_kind(kind)))]

    def _later(self, waits: Iterable[Unavailable]) -> HarvestError:
        first = min(waits, key=lambda error: error.delay or 0.0)
        # Spread out: what waits for the same provider should not come back in one moment.
        delay = max(first.delay or 0.0, SHORTEST_WAIT_S) * random.uniform(1.0, 1.1)
        if all(each.is_resting for each in self._providers if not each.is_link_only):
            return Unavailable(str(first), delay)
        return ComeBack(str(first), delay)

    def _heed_stop(self) -> None:
        if self._stop.is_set():
            raise Interrupted("stopping")


def _sooner(one: Unavailable, other: Unavailable | None) -> Unavailable:
    return one if other is None or (one.delay or 0.0) < (other.delay or 0.0) else other


def counted(media: Iterable[Media]) -> Counter[str]:
    """By kind and provider."""
    return Counter(f"media {each.kind} {each.provider}" for each in media)


def attachment(draft: Draft, text: str, moment: str = "") -> Attachment:
    """What was found by these words, now or at that moment."""
    search = {
        "owner": draft.owner,
        "text": text,
        "time": moment or datetime.now(UTC).isoformat(timespec="seconds"),
        "asked": list(dict.fromkeys(draft.asked)),
        "kept": {kind: len(draft.of_kind(kind)) for kind in ORDER},
        "refused": draft.refused,
        "links": draft.links,
    }
    return Attachment(draft.owner, tuple(draft.media), search)

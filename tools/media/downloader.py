"""From an offered file to a proven one with its record.

Promise: a file has its name only when it is what it should be and within every limit. Names are
made of our own numbers and formats.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol

from ..add import Media
from ..errors import BadStatus, GiveUp, ServerTrouble
from ..network.client import Answer, Client
from ..network.robots import wishes_in
from .formats import Facts, Format
from .hosts import FileHosts
from .offer import Candidate
from .part import Part, Rules
from .pictures import differing_bits, limit_pixels
from .settings import MediaSettings

WHOLE = 0.95  # of the seconds that were announced


class Kind(Protocol):
    """What the module for each kind of media offers."""

    NOUN: str
    ACCEPT: str
    FORMATS: frozenset[Format]

    def max_bytes(self, settings: MediaSettings) -> int: ...
    def prove(self, file: BinaryIO, form: Format, settings: MediaSettings) -> Facts: ...


class Downloader:
    """Any number of threads may share one."""

    def __init__(self, client: Client, settings: MediaSettings, kinds: Mapping[str, Kind]) -> None:
        self._client = client
        self._hosts = FileHosts(client.limits.rests, settings.rest_s)
        self._settings = settings
        self._kinds = kinds
        limit_pixels(settings.max_pixels)

    def keep(
        self,
        candidate: Candidate,
        kind: str,
        provider: str,
        root: Path,
        folder: str,
        number: int,
        kept: Sequence[Media],
    ) -> Media:
        """Fetch, prove, and make visible as root/folder/kind/<number>.<extension>.

        GiveUp is the end of this candidate, StopHarvest of the harvest.
        """
        of, settings = self._kinds[kind], self._settings
        rules = Rules(of.NOUN, of.max_bytes(settings), settings.refuse)
        with Part(root, f"{inside(folder)}/{kind}/{number}", rules, candidate) as part:
            answer = self._get(candidate.url, of.ACCEPT, part)
            part.check_announced()
            refuse_same(part.sha256, kept)
            form = part.format_among(of.FORMATS)
            facts = of.prove(part.file, form, settings)
            if kind == "audio":
                compare_seconds(facts.duration, candidate.duration)
            refuse_alike(facts.phash, kind, kept, settings.near_bits)
            path = part.publish(form.extension)
        return _record(candidate, provider, kind, path, form, facts, part, answer.url)

    def _get(self, url: str, accept: str, part: Part) -> Answer:
        try:
            answer = self._client.get(url, accept, into=part, seconds=self._settings.file_timeout_s)
        except ServerTrouble as error:
            raise self._hosts.failed(url, error) from error
        except BadStatus:
            self._hosts.answered(url)
            raise
        self._hosts.answered(url)
        return answer


def inside(folder: str) -> str:
    """A folder below the media folder.

    >>> inside("en/dog")
    'en/dog'
    """
    if not all(part not in ("", ".", "..") and "\0" not in part for part in folder.split("/")):
        raise GiveUp(f"no folder for media: {folder!r}")
    return folder


def _record(
    candidate: Candidate,
    provider: str,
    kind: str,
    path: str,
    form: Format,
    facts: Facts,
    part: Part,
    source: str,
) -> Media:
    return Media(
        path=path,
        kind=kind,
        mime=form.mime,
        sha256=part.sha256,
        bytes=part.size,
        width=facts.width,
        height=facts.height,
        duration=facts.duration,
        license=candidate.license,
        license_url=candidate.license_url,
        author=candidate.author,
        page=candidate.page,
        source=source,
        provider=provider,
        title=candidate.title,
        phash=facts.phash,
        time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        remark="; ".join(filter(None, (candidate.remark, wishes_in(part.headers)))) or None,
    )


def compare_seconds(found: float | None, announced: float | None) -> None:
    if found is not None and announced and found < WHOLE * announced:
        raise GiveUp(f"cut short ({found:.1f} of {announced:.1f} s)")


def refuse_same(sha256: str, kept: Sequence[Media]) -> None:
    for each in kept:
        if each.sha256 == sha256:
            raise GiveUp(f"the same file as {kind_and_number(each.path)}")


def refuse_alike(phash: str | None, kind: str, kept: Sequence[Media], near_bits: int) -> None:
    if phash is None:
        return
    for each in kept:
        if each.kind == kind and each.phash and differing_bits(phash, each.phash) <= near_bits:
            raise GiveUp(f"looks like {kind_and_number(each.path)}")


def kind_and_number(path: str) -> str:
    """Enough for somebody who knows whose file it is.

    >>> kind_and_number("en/dog/image/0.jpg")
    'image/0'
    """
    return "/".join(PurePosixPath(path).with_suffix("").parts[-2:])

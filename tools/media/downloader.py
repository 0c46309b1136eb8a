"""From an offered file to a proven one with its record.

Promise: a file has its name only when all of it is there, is what it should be, and is within every
limit; a failure leaves nothing behind. Names are made of our own numbers and formats.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import BinaryIO, NamedTuple, Protocol, Self

from ..add import Media
from ..base.files import write_all
from ..base.place import gone
from ..errors import (
    NO_FILES,
    NO_ROOM,
    BadStatus,
    GiveUp,
    HarvestError,
    NoRoom,
    ServerTrouble,
    StopHarvest,
    no_more_files,
)
from ..network.client import Answer, Client
from ..network.robots import forbidden_by, wishes_in
from .formats import HEAD, Facts, Format, name_of, sniff
from .hosts import FileHosts
from .offer import Candidate
from .pictures import differing_bits, limit_pixels
from .settings import MediaSettings

TEXTS = ("text/", "application/json", "application/xml", "application/xhtml+xml")
MOST_TRIES = 20  # to make a file in a folder that others remove
WHOLE = 0.95  # of the seconds that were announced


class Kind(Protocol):
    """What the module for each kind of media offers."""

    NOUN: str
    ACCEPT: str
    FORMATS: frozenset[Format]

    def max_bytes(self, settings: MediaSettings) -> int: ...
    def prove(self, file: BinaryIO, form: Format, settings: MediaSettings) -> Facts: ...


class Rules(NamedTuple):
    """What an answer must keep to before its bytes are looked at."""

    noun: str
    max_bytes: int
    refuse: Collection[str]


class Downloader:
    """Any number of threads may share one."""

    def __init__(self, client: Client, settings: MediaSettings, kinds: Mapping[str, Kind]) -> None:
        self._client = client
        self._hosts = FileHosts(client.let_rest, settings.rest_s)
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
        time=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        remark="; ".join(filter(None, (candidate.remark, wishes_in(part.headers)))) or None,
    )


class Part:
    """A file while it arrives: counted, hashed, and gone unless it is published."""

    def __init__(self, root: Path, name: str, rules: Rules, announced: Candidate) -> None:
        self._root = str(root)
        self._name = name
        self._path = f"{root}/{name}.part"
        self._rules = rules
        self._announced = announced
        self._file: BinaryIO | None = None
        self._is_published = False
        self.headers: Mapping[str, str] = {}
        self._start_over()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()
            if not self._is_published:
                with suppress(FileNotFoundError):  # with the whole folder
                    os.unlink(self._path)

    def _start_over(self) -> None:
        self.size = 0
        self._sha256 = hashlib.sha256()
        wanted = {"sha1": self._announced.sha1, "md5": self._announced.md5}
        self._others = [
            (hashlib.new(name, usedforsecurity=False), value.lower())
            for name, value in wanted.items()
            if value
        ]

    def begin(self, headers: Mapping[str, str]) -> None:
        check_headers(headers, self._rules)
        self.headers = headers
        self._start_over()
        try:
            if self._file is None:
                self._file = _created(self._root, f"{self._name}.part")
            else:
                os.lseek(self._file.fileno(), 0, os.SEEK_SET)
                os.ftruncate(self._file.fileno(), 0)
        except OSError as error:
            raise self._not_writable(error) from error

    def write(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self.size > self._rules.max_bytes:
            raise GiveUp(f"too many bytes (more than {self._rules.max_bytes})")
        self._sha256.update(chunk)
        for sum_so_far, _ in self._others:
            sum_so_far.update(chunk)
        try:
            write_all(self.file.fileno(), chunk)
        except OSError as error:
            raise self._not_writable(error) from error

    @property
    def file(self) -> BinaryIO:
        if self._file is None:
            raise GiveUp("an empty file")
        return self._file

    @property
    def sha256(self) -> str:
        return self._sha256.hexdigest()

    def check_announced(self) -> None:
        """Size and hashes, as far as its provider knows them."""
        if not self.size:
            raise GiveUp("an empty file")
        size = self._announced.bytes
        if size is not None and self.size != size:
            raise GiveUp(f"another size than announced ({self.size} for {size} bytes)")
        for sum_of_all, announced in self._others:
            if sum_of_all.hexdigest() != announced:
                raise GiveUp(f"another file than announced ({sum_of_all.name})")

    def format_among(self, formats: Collection[Format]) -> Format:
        head = os.pread(self.file.fileno(), HEAD, 0)
        form = sniff(head)
        if form not in formats or form is None:
            raise GiveUp(f"not {self._rules.noun}: {name_of(head)}")
        return form

    def publish(self, extension: str) -> str:
        """On the disk, then under its name; the path of it below the root."""
        name = f"{self._name}.{extension}"
        try:
            os.fsync(self.file.fileno())
            os.replace(self._path, f"{self._root}/{name}")
        except OSError as error:
            raise self._not_writable(error) from error
        self._is_published = True
        return name

    def _not_writable(self, error: OSError) -> HarvestError:
        if error.errno == errno.ENAMETOOLONG:
            return GiveUp("its folder would have too long a name")
        if error.errno == errno.ENOENT:
            return gone(Path(self._root))
        if error.errno in NO_ROOM:
            return NoRoom(f"the media folder {self._root} has no room left")
        if error.errno in NO_FILES:
            return no_more_files(error)
        return StopHarvest(
            f"the media folder {self._root} cannot be written ({error.strerror}):"
            " fix this, then start again"
        )


def _created(root: str, name: str) -> BinaryIO:
    """A new file, to write and to read. What has its name already was left by a crash or leads
    elsewhere: it goes. A folder may be gone as soon as it is made: empty ones are cleared away when
    media are shipped."""
    path = f"{root}/{name}"
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    for _ in range(MOST_TRIES):
        try:
            return os.fdopen(os.open(path, flags, 0o600), "rb")
        except FileNotFoundError:
            with suppress(FileNotFoundError):
                _make_folders(root, os.path.dirname(name))
        except FileExistsError:
            os.unlink(path)
    return os.fdopen(os.open(path, flags, 0o600), "rb")


def _make_folders(root: str, below: str) -> None:
    """Not the root itself: if that is gone, what is kept of it lies elsewhere."""
    for folder in accumulate(below.split("/"), "{}/{}".format):
        with suppress(FileExistsError):
            os.mkdir(f"{root}/{folder}")


def check_headers(headers: Mapping[str, str], rules: Rules) -> None:
    """Refuses what its host forbids to use, what is text, and what is announced as too long."""
    if forbidden := forbidden_by(headers, rules.refuse):
        raise GiveUp(f"its host forbids use ({forbidden})")
    mime = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if mime.startswith(TEXTS):
        raise GiveUp(f"not {rules.noun}: {mime[:40]}")
    length = headers.get("Content-Length", "").strip()
    if length.isdecimal() and int(length[:20]) > rules.max_bytes:
        raise GiveUp(f"too many bytes (more than {rules.max_bytes})")


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

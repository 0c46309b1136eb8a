#!/usr/bin/env python3
"""Takes in what a harvest ships: run it on the receiving node, for the folder that holds `raw`.

    raw/<batch>/    volumes and a manifest, as the sender left them
    raw/<sender>/<batch>/  the same of one sender among several: what comes of it has that name too,
                    as received/<sender>/ or archive/<sender>/<harvest>/; only m is for all
    secrets/<sender>  what this sender signs with; where there is this folder all must sign
    staging/        where they are unpacked and compared with the manifest
    m/              the media of all batches, and their books
    archive/<harvest>/  the web archive of each crawl: WARC files, which never change, and an index
    aside/<batch>/  files of that batch that lost against others of the same path
    received/       a receipt for each batch: having read it, the sender erases its own files
    quarantine/     what is wrong, each with a file REASON

Promise: a file is in `m` or `archive` only if it is what its manifest says, byte by byte; a receipt
is written only when the disk has kept all of them. No link below the folder is followed and nothing
outside of it is touched, whatever a volume holds. Every step may be killed: the next run takes back
what stands half in the books and does that batch again. Whatever is wrong with a batch, the others
have their turn. What lies in the folder of a sender is signed with that sender's secret, if it has
one, and nothing in it changes what another has sent, is told, or keeps in `archive`.
Limit: all of it is on one file system. What a file should be, the sender is believed, and when it
was fetched; that it is the sender, only a secret shared by both sides proves.

Exit codes: 0 fine (even if batches are not complete yet), 2 wrong arguments, 4 another one runs
here, 5 this computer cannot do it, or not for one of them (no room, not readable, not writable), 6
something went into quarantine.

It is one file and needs nothing but Python 3.8 or newer, so that it can be copied to the node.
"""

from __future__ import annotations

import argparse
import csv
import errno
import fcntl
import hashlib
import heapq
import hmac
import json
import os
import re
import signal
import stat
import sys
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn, TextIO, TypeVar

T = TypeVar("T")

USAGE, RUNNING, CANNOT, QUARANTINED = 2, 4, 5, 6  # exit codes
# Nothing that is named after a batch or a harvest, in any of our folders, can be a sender's.
SENDER = re.compile(r"(?!(?:before-)?[0-9a-f]{8}(?:[-/]|$))[a-z0-9][a-z0-9-]{0,31}")
BATCH = re.compile(
    rf"(?:(?P<sender>{SENDER.pattern})/)?"
    r"(?P<harvest>[0-9a-f]{8})-(?P<counter>[0-9]{6,12})-[0-9a-f]{4}"
)
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
WARC = re.compile(r"[0-9a-f]{2}/(?P<label>[a-z0-9._-]+)/(?P=label)-[0-9]{14}-[0-9]{5}\.warc\.gz")
PIECE = re.compile(r"[0-9a-f]{2}/(?P<label>[a-z0-9._-]+)/(?P=label)-[0-9]{14}-[0-9]{5}\.cdxj")
VOLUME = re.compile(r"[0-9]{5,}\.tar")
HASH = re.compile(r"[0-9a-f]{64}")
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\\]")
MEDIA, ARCHIVE = KINDS = ("media", "archive")  # what a batch holds
FILES, CREDITS, SEARCHES = BOOKS = ("MEDIA.jsonl", "ATTRIBUTION.csv", "SEARCHES.jsonl")
HEAD = b"path,owner,kind,title,author,license,license_url,page,source,provider,sha256,time\n"
MANIFEST, REASON, LOCK, JOURNAL = "manifest.json", "REASON", ".receive.lock", "staging/books.json"
PRIVATE = (b"staging", b"quarantine")
SECRET, SECRETS = "SHEAF_TRANSPORT_SECRET", "secrets"
CHUNK, BLOCK = 2**20, tarfile.BLOCKSIZE
INDEX = "index.cdxj"
LINES_AT_ONCE = 2**26  # bytes of index in memory
LARGEST_MANIFEST = 2**26  # bytes: some 400,000 files
LONGEST_LOOK = 2**4  # times as many bytes are read to tell the sender which manifest was wrong
DEEPEST = 64  # folders in folders, lists in lists
LONGEST_LINE, LONGEST_PATH, LONGEST_NAME, LONGEST_SECRET = 2**24, 4096, 255, 4096
RECEIPT = {
    **dict.fromkeys(("batch", "manifest_sha256", "state", "time"), str),
    **dict.fromkeys(("files", "bytes", "replaced"), int),
}
NO_FILE = (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO)  # but a link, a folder, a pipe


class Wrong(Exception):
    """The batch is not what it should be: into quarantine with it."""


class WrongVolumes(Exception):
    """Some of its volumes are not; the sender will send them again."""

    def __init__(self, reasons: dict[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {reason}" for name, reason in reasons.items()))
        self.reasons = reasons


class Waits(Exception):
    """Something of it has not arrived yet."""


class Left(Exception):
    """It waits until somebody has done what this says."""


class NoRoom(Left):
    """It waits until there is room for it."""


class Refused(Exception):
    """Ends the program."""

    def __init__(self, exit_code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


class Show:
    """What is said, a line for each thing. Nothing from outside can control the terminal."""

    def __init__(self, is_quiet: bool = False) -> None:
        self._is_quiet = is_quiet
        self._is_live = sys.stderr.isatty() and not is_quiet
        self._said: dict[str, str] = {}
        self._what, self._seen, self._total, self._at = "", 0, 1, 0.0

    def say(self, text: str) -> None:
        if not self._is_quiet:
            self._write(text, sys.stdout)

    def warn(self, text: str) -> None:
        self._write(f"receive: {text}", sys.stderr)

    def once(self, about: str, text: str, tell: Callable[[str], None]) -> None:
        """Again only when it has changed."""
        if self._said.get(about) != text:
            tell(text)
        self._said[about] = text

    def begin(self, what: str, total: int) -> None:
        self._what, self._seen, self._total = what, 0, max(1, total)

    def seen(self, size: int) -> None:
        self._seen += size
        if self._is_live and time.monotonic() > self._at + 0.2:
            self._at = time.monotonic()
            sys.stderr.write(f"\r\x1b[K{self._what} {min(100, 100 * self._seen // self._total)} %")
            sys.stderr.flush()

    def _write(self, text: str, file: TextIO) -> None:
        if self._is_live:
            sys.stderr.write("\r\x1b[K")
        visible = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
        encoding = file.encoding or "ascii"
        print(visible.encode(encoding, "backslashreplace").decode(encoding), file=file, flush=True)


def mb(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"


# --- what a manifest says ----------------------------------------------------------------------


class Member(NamedTuple):
    path: str
    bytes: int
    sha256: str


class Volume(NamedTuple):
    name: str
    bytes: int
    sha256: str
    members: list[Member]
    end: int  # bytes after its last file


class Manifest(NamedTuple):
    sha256: str
    volumes: list[Volume]
    members: list[Member]
    media: dict[str, Member]  # without the books
    kind: str = MEDIA

    @property
    def size(self) -> int:
        return sum(each.bytes for each in self.media.values())


def parse_manifest(data: bytes, batch: str) -> Manifest:
    # Each file has a hash; what has far more words than hashes would take far more memory.
    if sum(map(data.count, (b"[", b"{", b'"'))) > len(data) // 6 + 1000:
        raise Wrong("its manifest is not that of a sender")
    table = parse(data)
    kind = _kind(table)
    if field(table, "batch", str) != batch:
        raise Wrong("its manifest is that of another batch")
    found, _ = field(table, "volumes", list), field(table, "lost", list)
    volumes = [_volume(each, at, at == len(found)) for at, each in enumerate(found, 1)]
    members = [member for volume in volumes for member in volume.members]
    _require_places([each.path for each in members])
    if kind == ARCHIVE:
        _require_archive(members)
    media = {each.path: each for each in members if each.path not in BOOKS}
    if not volumes:
        raise Wrong("its manifest names no volume")
    return Manifest(hashlib.sha256(data).hexdigest(), volumes, members, media, kind)


def _kind(table: object) -> str:
    """The first format knows media only, and does not say so."""
    version = field(table, "format", int)
    kind = MEDIA if version == 1 else field(table, "kind", str) if version in (2, 3) else ""
    if kind not in KINDS:
        raise Wrong("its manifest has another format: copy the receive.py of the sender here")
    return kind


def _require_archive(members: Sequence[Member]) -> None:
    for member in members:
        if not WARC.fullmatch(member.path) and not PIECE.fullmatch(member.path):
            raise Wrong(
                f"its manifest has a file {member.path[:300]!r}, which is none of an archive"
            )


def parse(data: bytes) -> object:
    """JSON from outside: a number or a nesting without end would keep Python busy for hours."""

    def number(digits: str) -> int:
        if len(digits) > 18:
            raise ValueError("a number is too long")
        return int(digits)

    def refuse(name: str) -> object:
        raise ValueError(f"{name} is no number")

    try:
        table = json.loads(data.decode(), parse_int=number, parse_constant=refuse)
        _require_shallow(table)
    except (ValueError, RecursionError) as error:
        raise Wrong(f"its manifest is not JSON ({error})") from None
    return table


def _require_shallow(table: object) -> None:
    """What Python can just read here it may be unable to read or write elsewhere."""
    level: list[Any] = [[table]]
    for _ in range(DEEPEST):
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [each for values in inner for each in values if isinstance(each, (dict, list))]
        if not level:
            return
    raise ValueError("it is nested too deeply")


def field(table: object, key: str, kind: type[T]) -> T:
    found = table.get(key) if isinstance(table, dict) else None
    if type(found) is not kind:
        raise Wrong(f"its manifest lacks {key!r}, or has something else there")
    return found


def _volume(table: object, number: int, is_last: bool) -> Volume:
    name, size, sha256 = _measured(table, "name")
    members = [_member(each) for each in field(table, "members", list)]
    volume = Volume(name, size, sha256, members, 2 * BLOCK if is_last else 0)
    if name != f"{number:05}.tar":
        raise Wrong(f"volume {number} of its manifest has another name")
    needed = sum(map(_room, members)) + volume.end
    if size != needed:  # so there are no millions of files in it that nobody has listed
        raise Wrong(f"{name} has {size} bytes, but its files need {needed}")
    return volume


def _member(table: object) -> Member:
    member = Member(*_measured(table, "path"))
    if not is_safe(member.path):
        raise Wrong(f"its manifest has a file {member.path[:300]!r}")
    return member


def _measured(table: object, key: str) -> tuple[str, int, str]:
    size, sha256 = field(table, "bytes", int), field(table, "sha256", str)
    if size < 0 or not HASH.fullmatch(sha256):
        raise Wrong("its manifest has sizes or hashes that cannot be")
    return field(table, key, str), size, sha256


def is_safe(path: str) -> bool:
    """It stays inside of a folder, and it is what it looks like."""
    try:
        whole = path.encode()
    except UnicodeEncodeError:
        return False
    if len(whole) > LONGEST_PATH or path.startswith(".") or UNSEEN.search(path):
        return False
    parts = whole.split(b"/")
    if len(parts) > DEEPEST:
        return False
    return all(part not in (b"", b".", b"..") and len(part) <= LONGEST_NAME for part in parts)


def _require_places(paths: Sequence[str]) -> None:
    """No file stands where another one is, or where another one has a folder."""
    known = {*paths, *BOOKS}
    # With NUL for a slash, what is below a path comes right behind it.
    ordered = sorted(path.replace("/", "\0") for path in known)
    pairs = zip(ordered, ordered[1:])  # noqa: B905, RUF007
    is_folder = any(below.startswith(f"{path}\0") for path, below in pairs)
    if len(set(paths)) < len(paths) or is_folder:
        raise Wrong("its manifest has two files for the same place")


def _folders(paths: Iterable[str]) -> int:
    """How many are made for these files."""
    number, before = 0, [""]
    for path in sorted(paths):
        folders = path.split("/")[:-1]
        same = os.path.commonprefix([before, folders])  # noqa: RUF071
        number += len(folders) - len(same)
        before = folders
    return number


# --- what a volume holds -----------------------------------------------------------------------
# Not read by tarfile.open, which takes special headers into memory however long they are; crafted
# ones have led it in circles, and out of its folder. What comes here is known from the manifest: a
# header, the bytes of a file, the next header. Anything else is wrong.


def read_volume(
    file: BinaryIO, volume: Volume, create: Callable[[str], BinaryIO], show: Show
) -> None:
    """Its files into what `create` opens for each of them."""
    for member in volume.members:
        if not _has_header(file, member):
            raise Wrong(f"{volume.name} does not have {member.path!r} as a plain file in its place")
        with create(member.path) as target:
            sha256 = hash_of(file, show, member.bytes, target.write)
        if sha256 != member.sha256:
            raise Wrong(f"{member.path!r} in {volume.name} is not what the manifest says")
        file.read(-member.bytes % BLOCK)
    if file.read(volume.end + 1) != bytes(volume.end):
        raise Wrong(f"{volume.name} does not end after its last file")


def _has_header(file: BinaryIO, member: Member) -> bool:
    """A long name has a header of its own."""
    name = member.path.encode()
    if len(name) <= tarfile.LENGTH_NAME:
        return _header(file) == (tarfile.REGTYPE, member.bytes, member.path)
    kind, size, _ = _header(file)
    is_named = file.read(_padded(len(name) + 1)).rstrip(b"\0") == name
    is_named = is_named and (kind, size) == (tarfile.GNUTYPE_LONGNAME, len(name) + 1)
    return is_named and _header(file)[:2] == (tarfile.REGTYPE, member.bytes)


def _header(file: BinaryIO) -> tuple[bytes, int, str]:
    """Kind, size and name; no kind at all for what our senders never write."""
    try:
        header = tarfile.TarInfo.frombuf(file.read(BLOCK), "utf-8", "surrogateescape")
    except tarfile.TarError:
        return b"", 0, ""
    return b"" if header.mode & 0o7000 else header.type, header.size, header.name


def _room(member: Member) -> int:
    """What it takes in an archive."""
    name = len(member.path.encode())
    long_name = BLOCK + _padded(name + 1) if name > tarfile.LENGTH_NAME else 0
    return long_name + BLOCK + _padded(member.bytes)


def _padded(size: int) -> int:
    return size + -size % BLOCK


# --- files, reached without links --------------------------------------------------------------


class Folder:
    """What is below a folder, by paths from there. No link is followed, midway or at the end."""

    def __init__(self, path: str) -> None:
        self._root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._root)

    @property
    def free(self) -> int:
        facts = os.statvfs(self._root)
        return facts.f_bavail * facts.f_frsize

    def open(self, path: str, flags: int = os.O_RDONLY) -> BinaryIO:
        """A regular file; pipes and devices are not waited for."""
        careful = flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with self._at(path, make=bool(flags & os.O_CREAT)) as (folder, name):
            file = os.open(name, careful, 0o644, dir_fd=folder)
            if stat.S_ISREG(os.fstat(file).st_mode):
                return os.fdopen(file, "wb" if flags & (os.O_WRONLY | os.O_RDWR) else "rb")
            os.close(file)
            raise OSError(errno.ELOOP, "It is not a regular file")

    def create(self, path: str) -> BinaryIO:
        return self.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)

    def read(self, path: str, most: int) -> bytes | None:
        """One byte more than that tells that there are more; None if there is no such file."""
        try:
            with self.open(path) as file:
                return file.read(min(most, os.fstat(file.fileno()).st_size) + 1)
        except OSError as error:
            if error.errno not in (errno.ENOENT, *NO_FILE):
                raise
            return None

    def write(self, path: str, data: bytes) -> None:
        """Visible whole or not at all, and on the disk afterwards."""
        self.erase(f"{path}.part")
        with self.create(f"{path}.part") as file:
            file.write(data)
            keep(file)
        self.move(f"{path}.part", path)
        with self._at(path) as (folder, _):
            os.fsync(folder)

    def facts(self, path: str) -> os.stat_result | None:
        try:
            with self._at(path) as (folder, name):
                return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def size(self, path: str) -> int:
        facts = self.facts(path)
        return facts.st_size if facts else 0

    def is_folder(self, path: str) -> bool:
        facts = self.facts(path)
        return facts is not None and stat.S_ISDIR(facts.st_mode)

    def names(self, path: str) -> list[str]:
        """Of what is in a folder; of none if it is not there."""
        try:
            with self._at(f"{path}/") as (folder, _):
                found = os.listdir(folder)  # noqa: PTH208
        except FileNotFoundError:
            return []
        return sorted(os.fsencode(each).decode("utf-8", "surrogateescape") for each in found)

    def move(self, path: str, to: str) -> None:
        with self._at(path) as (folder, name), self._at(to, make=True) as (other, new):
            os.rename(name, new, src_dir_fd=folder, dst_dir_fd=other)

    def link(self, path: str, to: str) -> None:
        with self._at(path) as (folder, name), self._at(to, make=True) as (other, new):
            os.link(name, new, src_dir_fd=folder, dst_dir_fd=other, follow_symlinks=False)

    def erase(self, path: str) -> None:
        """Whatever it is, if it is there."""
        is_folder = self.is_folder(path)
        if is_folder:
            with self._at(f"{path}/") as (folder, _):
                _empty(folder)
        if self.facts(path) is not None:
            with self._at(path) as (folder, name):
                (os.rmdir if is_folder else os.unlink)(name, dir_fd=folder)

    @contextmanager
    def _at(self, path: str, make: bool = False) -> Iterator[tuple[int, bytes]]:
        """The folder that it is in, made if need be, and its name there."""
        *folders, name = path.encode("utf-8", "surrogateescape").split(b"/")
        at = os.dup(self._root)
        try:
            for folder in folders:
                below = _enter(at, folder, 0o700 if folders[0] in PRIVATE else 0o755, make)
                os.close(at)
                at = below
            yield at, name
        except OSError as error:
            error.filename, error.filename2 = path, None
            raise
        finally:
            os.close(at)


def _enter(at: int, folder: bytes, mode: int, make: bool) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(folder, flags, dir_fd=at)
    except FileNotFoundError:
        if not make:
            raise
    os.mkdir(folder, mode, dir_fd=at)
    return os.open(folder, flags, dir_fd=at)


def _empty(top: int) -> None:
    """Folders inside of others come up to this one, so that the depth of a tree costs neither the
    stack nor descriptors. Their new names nobody can have planted."""
    folders = _without_files(top)
    while folders:
        name = folders.pop()
        inner = _enter(top, name, 0, make=False)
        try:
            for each in _without_files(inner):
                folders.append(os.urandom(16).hex().encode())
                os.rename(each, folders[-1], src_dir_fd=inner, dst_dir_fd=top)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=top)


def _without_files(folder: int) -> list[bytes]:
    """The folders that are in it, when all else is gone."""
    folders = []
    for name in map(os.fsencode, os.listdir(folder)):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            folders.append(name)
        else:
            os.unlink(name, dir_fd=folder)
    return folders


def keep(file: BinaryIO) -> None:
    """On the disk; or an error says that it is not."""
    file.flush()
    os.fsync(file.fileno())


def hash_of(
    file: BinaryIO, show: Show, size: int | None = None, write: Callable[[bytes], object] = len
) -> str:
    """Of the rest of a file, or of its next bytes, which are written somewhere on the way."""
    sha256, left = hashlib.sha256(), sys.maxsize if size is None else size
    while left and (chunk := file.read(min(left, CHUNK))):
        sha256.update(chunk)
        write(chunk)
        left -= len(chunk)
        show.seen(len(chunk))
    return sha256.hexdigest()


# --- a batch becomes part of the media ---------------------------------------------------------


class Entry(NamedTuple):
    """A line of a book."""

    key: str  # the path of a file; of a search its owner
    owner: str
    sha256: str
    batch: str
    time: str  # when it was fetched


def entry_of(book: str, line: bytes) -> Entry | None:
    """None for the head of the table, and for a line that a power cut has torn."""
    if not line.endswith(b"\n") or line == HEAD:
        return None
    try:
        table = _row(line) if book == CREDITS else parse(line)
        key = field(table, "owner" if book == SEARCHES else "path", str)
        more = table if isinstance(table, dict) else {}
        rest = (str(more.get(each, "")) for each in ("sha256", "batch", "time"))
        return Entry(key, field(table, "owner", str), *rest)
    except Wrong:
        return None


def _row(line: bytes) -> dict[str, str]:
    try:
        names, cells = csv.reader([HEAD.decode(), line.decode()], strict=True)
    except (ValueError, csv.Error):
        return {}
    return dict(zip(names, cells)) if len(cells) == len(names) else {}  # noqa: B905


class Merge:
    """One batch from staging into `m`. Of two files with the same path the later one stays, in
    whichever order they come. What there is to do is seen from what is there: if it is killed it is
    made again."""

    def __init__(self, folder: Folder, name: str, manifest: Manifest, show: Show) -> None:
        self._folder, self._name, self._show = folder, name, show
        self._media = manifest.media
        self._require_known_columns()
        self._there = self._hashes()
        self._same = {path for path, sha256 in self._there.items() if self._is_ours(path, sha256)}
        self._other = self._there.keys() - self._same
        self._origin: dict[str, Entry] = {}  # path -> the line of the file that is there
        self._fetched: dict[str, str] = {}  # path -> when ours was, of those that are there
        self._listed: set[str] = set()  # paths that the books have with the hash of this batch
        self._outdated: set[str] = set()  # and those that they have with another one
        if self._there:
            self._look_up()
        older = {each for each in self._there if not self._is_newer(each)}
        self._late = self._other & older
        self._outdated -= self._late
        known = self._same & self._listed
        self._searched_again, self._searched_since = known - older, known & older
        self.replaced = len(self._other - self._late)

    def _is_ours(self, path: str, sha256: str) -> bool:
        return self._media[path].sha256 == sha256

    def _is_newer(self, path: str) -> bool:
        """Than what is there. Among senders the time tells when each was fetched, for one may do
        again what another has lost, or itself, counting from one again. Else, within a harvest,
        the counter tells; of two the one that comes now."""
        there = self._origin.get(path)
        ours, its = BATCH.fullmatch(self._name), BATCH.fullmatch(there.batch if there else "")
        if not ours or not its or not there:
            return True
        if ours["sender"] or its["sender"]:
            fetched, before = moment(self._fetched.get(path, "")), moment(there.time)
            if fetched and before and fetched != before:
                return fetched > before
        if (ours["sender"], ours["harvest"]) != (its["sender"], its["harvest"]):
            return True
        return int(ours["counter"]) >= int(its["counter"])

    def _require_known_columns(self) -> None:
        head = self._folder.read(f"staging/{self._name}/{CREDITS}", len(HEAD) - 1)
        if head and head != HEAD:
            raise Wrong(f"its {CREDITS} has other columns: copy the receive.py of the sender here")

    def _hashes(self) -> dict[str, str]:
        """Of the files that are in the places of ours."""
        found = {}
        for path in self._media:
            try:
                if self._folder.facts(f"m/{path}") is not None:
                    with self._folder.open(f"m/{path}") as file:
                        found[path] = hash_of(file, self._show)
            except OSError as error:
                if error.errno not in NO_FILE:
                    raise
                raise Wrong(f"m has a link or a folder in the place of {path!r}") from None
        return found

    def _look_up(self) -> None:
        """From which batch they are, and whether the books know them."""
        for line in self._lines(f"m/{FILES}"):
            entry = entry_of(FILES, line)
            if entry and entry.key in self._media:
                is_ours = self._is_ours(entry.key, entry.sha256)
                (self._listed if is_ours else self._outdated).add(entry.key)
                if self._there.get(entry.key) == entry.sha256:
                    self._origin[entry.key] = entry
        for line in self._lines(f"staging/{self._name}/{FILES}"):
            entry = entry_of(FILES, line)
            if entry and entry.key in self._there:
                self._fetched[entry.key] = entry.time

    def files(self) -> None:
        for path in self._media:
            staged = f"staging/{self._name}/{path}"
            if path in self._late:
                self._folder.move(staged, f"aside/{self._name}/{path}")
                self._show.say(f"{self._name}: a later batch has {path} too, so this one is aside")
            elif path not in self._same:
                if path in self._other:
                    self._set_aside(path)
                self._folder.move(staged, f"m/{path}")

    def _set_aside(self, path: str) -> None:
        """By a second name, so that there is one file or the other at every moment."""
        there = self._origin.get(path)
        sender, slash, name = self._name.rpartition("/")
        batch = there.batch if there and BATCH.fullmatch(there.batch) else ""
        aside = f"aside/{batch or f'{sender}{slash}before-{name}'}/{path}"
        if self._folder.facts(aside) is None:
            try:
                self._folder.link(f"m/{path}", aside)
            except OSError as error:
                if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK):
                    raise
                self._folder.move(f"m/{path}", aside)  # for this moment there is none
        self._show.say(f"{self._name}: {path} is replaced, the old one is {aside}")

    def books(self, write_journal: Callable[[dict[str, int]], None]) -> None:
        """The lines of replaced files go, last of all those by which that is seen, should this be
        killed. Then the lines of this batch come."""
        late = self._owners(self._late | self._searched_since)
        replaced = self._owners(self._outdated | self._searched_again) - late
        if replaced:
            self._rewrite(SEARCHES, lambda each: each.owner in replaced)
        if self._outdated:
            self._rewrite(CREDITS, self._is_outdated)
            self._rewrite(FILES, self._is_outdated)
        write_journal({book: self._folder.size(f"m/{book}") for book in BOOKS})
        self._append(FILES, self._is_wanted)
        self._append(CREDITS, self._is_wanted)
        self._append(SEARCHES, lambda each: each.owner not in late)

    def _owners(self, paths: set[str]) -> set[str]:
        lines = self._lines(f"staging/{self._name}/{FILES}") if paths else iter(())
        entries = (entry_of(FILES, line) for line in lines)
        return {each.owner for each in entries if each and each.key in paths}

    def _is_outdated(self, entry: Entry) -> bool:
        return entry.key in self._outdated and not self._is_ours(entry.key, entry.sha256)

    def _is_wanted(self, entry: Entry) -> bool:
        """Not the line of a file that the sender has lost."""
        is_known = entry.key in self._late or entry.key in self._listed
        return entry.key in self._media and not is_known

    def _rewrite(self, book: str, goes: Callable[[Entry], bool]) -> None:
        if self._folder.facts(f"m/{book}") is None:
            return
        with self._folder.create(f"staging/{book}") as new:
            for line in self._lines(f"m/{book}"):
                entry = entry_of(book, line)
                if entry is None or not goes(entry):
                    new.write(line)
            keep(new)
        self._folder.move(f"staging/{book}", f"m/{book}")

    def _append(self, book: str, is_wanted: Callable[[Entry], bool]) -> None:
        """What stands there twice, because a crash had a task repeated, is as it stands last."""
        staged, torn = f"staging/{self._name}/{book}", 0
        if self._folder.facts(staged) is None:
            return
        entries = (entry_of(book, line) for line in self._lines(staged))
        last = {entry.key: at for at, entry in enumerate(entries) if entry}
        with self._folder.open(f"m/{book}", os.O_WRONLY | os.O_CREAT | os.O_APPEND) as file:
            if book == CREDITS and not self._folder.size(f"m/{book}"):
                file.write(HEAD)
            for at, line in enumerate(self._lines(staged)):
                entry = entry_of(book, line)
                torn += entry is None and line != HEAD
                if entry and last[entry.key] == at and is_wanted(entry):
                    file.write(self._with_batch(line) if book == FILES else line)
            keep(file)
        if torn:
            self._folder.move(staged, f"aside/{self._name}/{book}")
            self._show.warn(f"{torn} lines of aside/{self._name}/{book} cannot be read")

    def _with_batch(self, line: bytes) -> bytes:
        table = {**json.loads(line), "batch": self._name}
        text = json.dumps(table, ensure_ascii=False, separators=(",", ":"))
        return text.encode(errors="replace") + b"\n"

    def _lines(self, path: str) -> Iterator[bytes]:
        """One that is far too long comes in pieces, which are no lines."""
        if self._folder.facts(path) is not None:
            with self._folder.open(path) as file:
                yield from iter(lambda: file.readline(LONGEST_LINE), b"")


def moment(text: str) -> str:
    """Nothing where it is none, or not yet: a clock that is ahead must not rule for long."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return text if TIME.fullmatch(text) and text <= now else ""


def home_of(name: str) -> str:
    """Of the archive that a batch belongs to."""
    return f"{ARCHIVE}/{name.rsplit('-', 2)[0]}"


class Shelve:
    """A batch of an archive from staging into the folder of its harvest. WARC files never change:
    one that is there already is the same, or nothing of the batch is taken. The index of each that
    came becomes part of the whole one; to do that twice changes nothing."""

    replaced = 0

    def __init__(self, folder: Folder, name: str, manifest: Manifest, show: Show) -> None:
        self._folder, self._staged = folder, f"staging/{name}"
        self._home = home_of(name)
        self._index = f"{self._home}/{INDEX}"
        facts = folder.facts(self._index)
        if facts is not None and not stat.S_ISREG(facts.st_mode):
            raise Wrong(f"{self._index} is a link or a folder")
        self._pieces = [each for each in manifest.members if PIECE.fullmatch(each.path)]
        files = [each for each in manifest.members if WARC.fullmatch(each.path)]
        self._new = [each for each in files if not self._is_there(each, show)]

    def _is_there(self, member: Member, show: Show) -> bool:
        path = f"{self._home}/{member.path}"
        try:
            if self._folder.facts(path) is None:
                return False
            with self._folder.open(path) as file:
                is_same = hash_of(file, show) == member.sha256
        except OSError as error:
            if error.errno not in NO_FILE:
                raise
            is_same = False
        if not is_same:
            raise Wrong(f"{path} is there already, and another one")
        return True

    def files(self) -> None:
        for member in self._new:
            self._folder.move(f"{self._staged}/{member.path}", f"{self._home}/{member.path}")

    def index(self) -> None:
        lines: set[bytes] = set()
        size = 0
        for line in self._lines():
            lines.add(line)
            size += len(line)
            if size > LINES_AT_ONCE:
                self._add(lines)
                lines, size = set(), 0
        if lines:
            self._add(lines)

    def _lines(self) -> Iterator[bytes]:
        """Only of WARC files that are here: the sender may have lost one."""
        for piece in self._pieces:
            file_name = piece.path[: -len(".cdxj")] + ".warc.gz"
            if self._folder.facts(f"{self._home}/{file_name}") is not None:
                with self._folder.open(f"{self._staged}/{piece.path}") as file:
                    lines = iter(lambda: file.readline(LONGEST_LINE), b"")
                    yield from (line for line in lines if line.endswith(b"\n"))

    def _add(self, lines: set[bytes]) -> None:
        staged = f"staging/{INDEX}"
        with self._folder.create(staged) as new:
            for line, _ in groupby(heapq.merge(self._known(), sorted(lines))):
                new.write(line)
            keep(new)
        self._folder.move(staged, self._index)

    def _known(self) -> Iterator[bytes]:
        if self._folder.facts(self._index) is not None:
            with self._folder.open(self._index) as file:
                yield from file


# --- the node ----------------------------------------------------------------------------------


class Node:
    """Takes the batches that lie in `raw`, of each harvest the oldest first. The name of one that
    is a sender's begins with that sender's: it is its path in each of our folders."""

    def __init__(self, folder: Folder, secret: str, reserve: int, show: Show) -> None:
        self._folder, self._show = folder, show
        self._secret, self._reserve = secret.encode(), reserve
        self.has_quarantined = self.has_left = False

    @property
    def exit_code(self) -> int:
        """What went into quarantine is told once, what could not be done at every run."""
        return QUARANTINED if self.has_quarantined else CANNOT if self.has_left else 0

    def batches(self) -> list[str]:
        found = []
        for name in self._all("raw"):
            try:
                found += [name] if self._is_batch(name) else []
            except OSError as error:  # a sender may close what is its own
                self._leave(name, error)
        return sorted(found, key=_age)

    def _is_batch(self, name: str) -> bool:
        return bool(BATCH.fullmatch(name)) and self._folder.is_folder(f"raw/{name}")

    def _all(self, place: str) -> Iterator[str]:
        """What lies there, and in the folders of senders there. Such a one that is closed to us is
        itself what lies there."""
        for name in self._folder.names(place):
            below: list[str] = []
            try:
                if self._is_sender(place, name):
                    below = self._folder.names(f"{place}/{name}")
            except OSError as error:
                if place == "raw":
                    self._leave(f"raw/{name}", error)
            yield from (f"{name}/{each}" for each in below)
            if not below:
                yield name

    def _is_sender(self, place: str, name: str) -> bool:
        return bool(SENDER.fullmatch(name)) and self._folder.is_folder(f"{place}/{name}")

    def take_all(self) -> None:
        """Each has its turn, whatever became of the ones before. Only where the books cannot be put
        right again it ends: the next batch would be written behind half of another."""
        self._recover()
        for name in self.batches():
            try:
                self._take_or_quarantine(name)
            except Refused:
                raise
            except Exception as error:
                self._leave(name, error)
                self._recover()  # gives the room back

    def _take_or_quarantine(self, name: str) -> None:
        try:
            self._take(name)
        except Waits as waits:
            self._say_waits(name, str(waits))
        except WrongVolumes as wrong:  # of each the last one is kept
            self._set_aside(name, f"quarantine/{name}-volumes", wrong.reasons)
            self._say_waits(name, f"waits for {', '.join(wrong.reasons)}")
        except Wrong as wrong:
            self._quarantine(name, str(wrong))

    def _leave(self, name: str, error: Exception) -> None:
        """Where it is, until somebody has seen to it."""
        self.has_left = True
        why = f"a bug in receive.py: {error!r}"
        if isinstance(error, MemoryError):
            why = "it takes more memory than this computer gives"
        elif isinstance(error, OSError):
            why = sentence(error)
        elif isinstance(error, Left):
            why = str(error)
        text = why if isinstance(error, NoRoom) else f"{name} is left for now: {why}"
        self._show.once(name, text, self._show.warn)

    def _say_waits(self, name: str, waits: str) -> None:
        self._show.once(name, f"{name} {waits}", self._show.say)

    def _take(self, name: str) -> None:
        begun, manifest = time.monotonic(), self._manifest(name)
        receipt = self._receipt(name)
        if not _was_merged(manifest, receipt):
            self._verify(name, manifest)
            receipt = self._merge(name, manifest)
        self._finish(name, manifest, receipt)
        what = f"{receipt['files']:,} files, {mb(receipt['bytes'])}"
        self._show.say(f"{name} is merged: {what} in {time.monotonic() - begun:,.1f} s")

    # --- is it there, and as it should be? ---------------------------------------------------

    def _manifest(self, name: str) -> Manifest:
        path = f"raw/{name}/{MANIFEST}"
        if self._folder.facts(path) is None:
            arrived = sum(map(bool, map(VOLUME.fullmatch, self._folder.names(f"raw/{name}"))))
            raise Waits(f"waits for its manifest; {arrived} volumes have arrived")
        data = self._folder.read(path, LARGEST_MANIFEST)
        if data is None or len(data) > LARGEST_MANIFEST:
            raise Wrong(f"its manifest is not a file of at most {mb(LARGEST_MANIFEST)}")
        if not self._is_signed(name, path, data):
            whose = "this computer has" if "/" not in name else "its sender has here"
            raise Wrong(f"its manifest is not signed with the secret that {whose}")
        return parse_manifest(data, name.rpartition("/")[2])

    def _is_signed(self, name: str, path: str, data: bytes) -> bool:
        secret = self._secret_of(name)
        if not secret:
            return self._folder.facts(SECRETS) is None
        given = self._folder.read(f"{path}.hmac", 200) or b""
        return hmac.compare_digest(given.strip(), _signature(secret, data))

    def _secret_of(self, name: str) -> bytes:
        """Its sender's own, else that of this computer, if there is one."""
        sender = name.rpartition("/")[0]
        path = f"{SECRETS}/{sender}"
        facts = self._folder.facts(path) if sender else None
        if facts is None:
            return self._secret
        secret = (self._folder.read(path, LONGEST_SECRET) or b"").strip(b"\r\n")
        if facts.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise Left(f"{path} holds a secret but others can read it: chmod 600 {path}")
        if not 0 < len(secret) <= LONGEST_SECRET:
            raise Left(f"{path} is no file with a secret: write one into it")
        return secret

    def _verify(self, name: str, manifest: Manifest) -> None:
        """Volumes are read when all are there and have room; until then one may look often."""
        self._require_volumes(name, manifest)
        self._require_room(name, manifest)
        self._show.begin(f"{name} is verified:", sum(each.bytes for each in manifest.volumes))
        wrong = {}
        for volume in manifest.volumes:
            with self._folder.open(f"raw/{name}/{volume.name}") as file:
                if hash_of(file, self._show) != volume.sha256:
                    wrong[volume.name] = "it is not what the manifest says"
        if wrong:
            raise WrongVolumes(wrong)

    def _require_volumes(self, name: str, manifest: Manifest) -> None:
        missing, wrong = [], {}
        for volume in manifest.volumes:
            path = f"raw/{name}/{volume.name}"
            facts, part = self._folder.facts(path), self._folder.size(f"{path}.part")
            if facts is None:
                so_far = f" ({mb(part)} of {mb(volume.bytes)} are there)" if part else ""
                missing.append(volume.name + so_far)
            elif not stat.S_ISREG(facts.st_mode):
                wrong[volume.name] = "it is not a regular file"
            elif facts.st_size != volume.bytes:
                wrong[volume.name] = f"it has {facts.st_size} bytes instead of {volume.bytes}"
        if wrong:
            raise WrongVolumes(wrong)
        if missing:
            raise Waits(f"waits for {', '.join(missing)}")

    def _require_room(self, name: str, manifest: Manifest) -> None:
        needed = sum(each.bytes + -each.bytes % 4096 for each in manifest.members)
        needed += 4096 * _folders(each.path for each in manifest.members)
        if manifest.kind == ARCHIVE:  # its index is written anew
            needed += self._folder.size(f"{home_of(name)}/{INDEX}")
        free = self._folder.free
        if free < needed + self._reserve:
            left = f"{mb(free)} are left, of which {mb(self._reserve)} are kept free"
            raise NoRoom(f"{name} needs {mb(needed)} on this disk and {left}: make room")

    # --- what becomes of it ------------------------------------------------------------------

    def _merge(self, name: str, manifest: Manifest) -> dict[str, Any]:
        self._unpack(name, manifest, lambda path: self._folder.create(f"staging/{name}/{path}"))
        os.sync()  # quick, as it is for all of them; but only each file tells whether it is kept
        for member in manifest.members:
            with self._folder.open(f"staging/{name}/{member.path}") as file:
                os.fsync(file.fileno())
        parts = self._folder, name, manifest, self._show
        merge = Shelve(*parts) if manifest.kind == ARCHIVE else Merge(*parts)
        merge.files()
        if isinstance(merge, Shelve):
            merge.index()
        else:
            head = {"batch": name, "manifest_sha256": manifest.sha256}
            merge.books(lambda sizes: self._write_journal({**head, "sizes": sizes}))
        os.sync()
        return {"files": len(manifest.media), "bytes": manifest.size, "replaced": merge.replaced}

    def _write_journal(self, journal: dict[str, Any]) -> None:
        self._folder.write(JOURNAL, json.dumps(journal).encode())

    def _unpack(self, name: str, manifest: Manifest, create: Callable[[str], BinaryIO]) -> None:
        self._show.begin(f"{name} is unpacked:", sum(each.bytes for each in manifest.members))
        for volume in manifest.volumes:
            with self._folder.open(f"raw/{name}/{volume.name}") as file:
                read_volume(file, volume, create, self._show)

    def _recover(self) -> None:
        """If a run was killed, the books become what they were before its last batch."""
        for each in ("m", ARCHIVE, "staging", "aside", "quarantine", "received", SECRETS):
            if self._folder.facts(each) is not None and not self._folder.is_folder(each):
                raise Refused(CANNOT, f"{each} is a link or a file: it must be a folder")
        try:
            self._restore_books(self._journal())
        except Left as error:  # was that batch merged? Only its receipt tells
            raise Refused(CANNOT, str(error)) from None
        self._folder.erase(JOURNAL)
        for each in self._folder.names("staging"):
            try:
                self._folder.erase(f"staging/{each}")
            except OSError as error:
                self._leave(f"staging/{each}", error)

    def _journal(self) -> dict[str, Any]:
        data = self._folder.read(JOURNAL, CHUNK)
        if data is None:
            return {"batch": "", "manifest_sha256": "", "sizes": {}}
        try:
            table = parse(data)
            names = {key: field(table, key, str) for key in ("batch", "manifest_sha256")}
            return {**names, "sizes": field(table, "sizes", dict)}
        except Wrong:
            damaged = f"{JOURNAL} is damaged, so nobody knows where the books of m ended"
            raise Refused(CANNOT, f"{damaged}: look at their last lines, then remove it") from None

    def _restore_books(self, journal: dict[str, Any]) -> None:
        receipt = self._receipt(journal["batch"])
        is_done = receipt.get("state") == "merged"
        is_done = is_done and receipt["manifest_sha256"] == journal["manifest_sha256"]
        for book, size in journal["sizes"].items():
            if not is_done and self._folder.size(f"m/{book}") > size:
                with self._folder.open(f"m/{book}", os.O_WRONLY) as file:
                    os.ftruncate(file.fileno(), size)
                    keep(file)

    def _finish(self, name: str, manifest: Manifest, receipt: dict[str, Any]) -> None:
        """After the receipt what was sent goes away, all at once."""
        self._write_receipt(name, manifest.sha256, {**receipt, "state": "merged", "reason": ""})
        self._folder.erase(JOURNAL)
        known = {MANIFEST, f"{MANIFEST}.hmac", REASON, *(each.name for each in manifest.volumes)}
        known |= {f"{each}.part" for each in known}
        strange = [each for each in self._folder.names(f"raw/{name}") if each not in known]
        if strange:
            reason = f"{name} is merged, but its manifest does not list this"
            self._set_aside(name, self._free_place(name), dict.fromkeys(strange, reason))
        self._folder.move(f"raw/{name}", f"staging/{name}-raw")
        self._folder.erase(f"staging/{name}-raw")
        self._clear_staging(name)

    def _clear_staging(self, name: str) -> None:
        self._folder.erase(f"staging/{name.partition('/')[0]}")

    def _quarantine(self, name: str, reason: str) -> None:
        """The receipt first: whatever happens, the sender is told."""
        about = {"files": 0, "bytes": 0, "replaced": 0, "state": "quarantined", "reason": reason}
        self._write_receipt(name, self._hash_of_manifest(name), about)
        place = self._free_place(name)
        self._folder.erase(f"raw/{name}/{REASON}")
        self._folder.write(f"raw/{name}/{REASON}", f"{reason}\n".encode(errors="replace"))
        self._folder.move(f"raw/{name}", place)
        self._clear_staging(name)
        self._note(f"{place}: {reason}")

    def _hash_of_manifest(self, name: str) -> str:
        """None of a file full of holes, which would be read for days."""
        path = f"raw/{name}/{MANIFEST}"
        with suppress(OSError), self._folder.open(path) as file:
            if os.fstat(file.fileno()).st_size <= LONGEST_LOOK * LARGEST_MANIFEST:
                return hash_of(file, self._show)
        return ""

    def _set_aside(self, name: str, place: str, reasons: dict[str, str]) -> None:
        """Some of what was sent with a batch."""
        lines = "".join(f"{each}: {reason}\n" for each, reason in reasons.items())
        self._folder.write(f"{place}/{REASON}", lines.encode(errors="replace"))
        for each, reason in reasons.items():
            self._folder.erase(f"{place}/{each}")
            self._folder.move(f"raw/{name}/{each}", f"{place}/{each}")
            self._note(f"{place}/{each}: {reason}")

    def _free_place(self, name: str) -> str:
        number, place = 0, f"quarantine/{name}"
        while self._folder.facts(place) is not None:
            number += 1
            place = f"quarantine/{name}-{number}"
        return place

    def _note(self, text: str) -> None:
        self.has_quarantined = True
        self._show.warn(text)

    # --- receipts ----------------------------------------------------------------------------

    def _receipt(self, name: str) -> dict[str, Any]:
        """Nothing if there is none, or none of ours."""
        path = f"received/{name}.json"
        data = self._folder.read(path, CHUNK)
        try:
            table = parse(data if data and self._is_signed(name, path, data) else b"")
            return {key: field(table, key, kind) for key, kind in RECEIPT.items()}
        except Wrong:
            return {}

    def _write_receipt(self, name: str, manifest_sha256: str, about: dict[str, Any]) -> None:
        now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        batch, secret = name.rpartition("/")[2], self._secret_of(name)
        head = {"format": 1, "batch": batch, "manifest_sha256": manifest_sha256}
        data = json.dumps({**about, **head, "time": now}).encode()
        if secret:
            self._folder.write(f"received/{name}.json.hmac", _signature(secret, data))
        self._folder.write(f"received/{name}.json", data)

    # --- for a look --------------------------------------------------------------------------

    def status(self, is_trial: bool = False) -> None:
        """A trial reads the volumes too, as if they were taken. Nothing is changed by either."""
        rows = [(f"raw/{each}", self._standing(each, is_trial)) for each in self._all("raw")]
        rows += [(f"quarantine/{each}", self._reason(each)) for each in self._all("quarantine")]
        width = max((len(each) for each, _ in rows), default=0)
        for place, standing in rows:
            self._show.say(f"{place:{width}}  {standing}")
        receipts = dict(self._merged())
        files, size = (sum(each[what] for each in receipts.values()) for what in ("files", "bytes"))
        self._show.say(f"received: {files:,} files, {mb(size)} in {len(receipts):,} batches")
        if receipts:
            last, at = max(((name, each["time"]) for name, each in receipts.items()), key=_by_time)
            self._show.say(f"last receipt: {last} at {at}")

    def _merged(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Batches with their receipts, as far as we can tell that these are ours."""
        for name in (each[:-5] for each in self._all("received") if each.endswith(".json")):
            with suppress(Left):
                receipt = self._receipt(name)
                if receipt.get("state") == "merged":
                    yield name, receipt

    def _reason(self, name: str) -> str:
        try:
            reason = self._folder.read(f"quarantine/{name}/{REASON}", 1000) or b"no reason given"
        except OSError as error:
            return f"its reason cannot be read ({error.strerror})"
        return reason.decode(errors="replace").strip()

    def _standing(self, name: str, is_trial: bool) -> str:
        if self._is_sender("raw", name):
            return "is the folder of a sender: nothing waits in it"
        try:
            if not self._is_batch(name):
                return "is not a batch: left alone"
            manifest = self._manifest(name)
            if _was_merged(manifest, self._receipt(name)):
                return "was merged before: to be erased"
            self._require_volumes(name, manifest)
            if is_trial:
                self._verify(name, manifest)
                self._unpack(name, manifest, nowhere)
        except Waits as waits:
            return str(waits)
        except (Wrong, WrongVolumes) as reason:
            return f"belongs into quarantine: {reason}"
        except Exception as error:
            self._leave(name, error)
            return "cannot be taken now"
        what = f"{len(manifest.volumes):,} volumes, {len(manifest.media):,} files"
        return f"is {'good' if is_trial else 'complete'}: {what}, {mb(manifest.size)}"


def _signature(secret: bytes, data: bytes) -> bytes:
    return hmac.new(secret, data, hashlib.sha256).hexdigest().encode()


def _age(name: str) -> tuple[str, int, str]:
    harvest, counter, _ = name.rsplit("-", 2)
    return harvest, int(counter), name


def _by_time(receipt: tuple[str, str]) -> tuple[str, str]:
    return receipt[1], receipt[0]


def nowhere(_path: str) -> BinaryIO:
    return Path(os.devnull).open("wb")


def _was_merged(manifest: Manifest, receipt: dict[str, Any]) -> bool:
    """Exactly this batch, that is."""
    if receipt.get("state") != "merged":
        return False
    if receipt["manifest_sha256"] != manifest.sha256:
        raise Wrong("another batch of this name was merged before")
    return True


# --- the command -------------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(
        description="Takes in the batches that a harvest has sent into FOLDER/raw.",
        epilog="Exit codes: 0 fine, 2 wrong arguments, 4 another one runs here, 5 this computer "
        "cannot do it or not for one of them, 6 something went into quarantine.",
    )
    words.add_argument("folder", nargs="?", default=".", help="it holds raw (default: this one)")
    what = words.add_mutually_exclusive_group()
    what.add_argument("--once", action="store_true", help="take what is complete (default)")
    look = "take what is complete, and look again every so many seconds (default: 10)"
    what.add_argument("--watch", nargs="?", type=int, const=10, metavar="SECONDS", help=look)
    what.add_argument("--dry-run", action="store_true", help="say what would be done, do nothing")
    what.add_argument("--status", action="store_true", help="what waits, is wrong, was received")
    secret = f"holds the secret of both sides; {SECRET} goes before it"
    words.add_argument("--secret-file", type=Path, metavar="FILE", help=secret)
    reserve = "room on the disk that is kept free, in MB (default: 500)"
    words.add_argument("--reserve-mb", type=int, default=500, metavar="N", help=reserve)
    words.add_argument("-q", "--quiet", action="store_true", help="say only what is wrong")
    return words


def read_secret(path: Path | None) -> str:
    secret = os.environ.get(SECRET, "")
    if secret or path is None:
        return secret
    try:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise Refused(USAGE, f"{path} holds a secret but others can read it: chmod 600 {path}")
        secret = path.read_text(encoding="utf-8").strip("\r\n")
    except (OSError, UnicodeDecodeError):
        raise Refused(USAGE, f"{path} cannot be read as text: it should hold a secret") from None
    if not secret:
        raise Refused(USAGE, f"{path} is empty: it should hold the secret of both sides")
    return secret


@contextmanager
def alone(folder: Folder, may_write: bool) -> Iterator[None]:
    """One at a time. The lock is the kernel's: it is gone with its process."""
    if not may_write and folder.facts(LOCK) is None:
        yield
        return
    with folder.open(LOCK, os.O_RDWR | os.O_CREAT if may_write else os.O_RDONLY) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(RUNNING, "another receive.py is at work in this folder") from None
        yield


def watch(node: Node, show: Show, seconds: int) -> NoReturn:
    """Until a signal ends it. A full disk is waited for."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    while True:
        try:
            node.take_all()
            show.once("node", "", lambda _: None)
        except (OSError, Refused) as error:
            show.once("node", sentence(error), show.warn)
        time.sleep(max(1, seconds))


def sentence(error: OSError | Refused) -> str:
    if isinstance(error, Refused):
        return str(error)
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror}: see to it, then run this again"


def run(words: argparse.Namespace, show: Show) -> int:
    if not Path(words.folder).is_dir():
        raise Refused(USAGE, f"there is no folder {words.folder}")
    secret = read_secret(words.secret_file)
    with Folder(words.folder) as folder:
        node = Node(folder, secret, words.reserve_mb * 1_000_000, show)
        if words.status:
            node.status()
            return node.exit_code
        with alone(folder, may_write=not words.dry_run):
            if words.watch is not None:
                watch(node, show, words.watch)
            if words.dry_run:
                node.status(is_trial=True)
            else:
                node.take_all()
        return node.exit_code


def main(arguments: Sequence[str] | None = None) -> int:
    words = parser().parse_args(arguments)
    show = Show(words.quiet)
    os.umask(0o022)  # others may read the media, and the sender the receipts
    try:
        return run(words, show)
    except (OSError, Refused) as error:
        show.warn(sentence(error))
        return error.exit_code if isinstance(error, Refused) else CANNOT
    except KeyboardInterrupt:
        return 0 if words.watch is not None else 130


if __name__ == "__main__":
    sys.exit(main())

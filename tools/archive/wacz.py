"""An archive as one file that viewers open, WACZ: a zip with its files, an index and the pages.

Promise: it is written in one pass with flat memory and appears whole or not at all. Of each file it
takes as many bytes as the table knows, so it may be made while the archive grows.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import orjson
from isal import isal_zlib

from ..base.files import whole_file
from ..base.version import VERSION
from ..errors import StateDamaged
from .cdxj import Capture, sorted_lines
from .record import GZIP, LEVEL, target

FORMAT = "1.1.1"
BLOCK = 1024  # lines of the index that are packed together
CHUNK = 2**20
SECONDS = "%Y-%m-%dT%H:%M:%SZ"
INDEX, PACKED_INDEX = "indexes/index.idx", "indexes/index.cdx.gz"


class Page(NamedTuple):
    """What a viewer lists."""

    address: str
    time: datetime
    title: str


class Resource(NamedTuple):
    path: str
    bytes: int
    sha256: str


def export(
    folder: Path,
    to: Path,
    files: Mapping[str, int],
    captures: Iterable[Capture],
    pages: Iterable[Page],
    title: str = "Sheaf",
) -> None:
    """`files` are those of the archive in `folder`, each with its bytes in the table."""
    with whole_file(to, durable=True) as part, ZipFile(part, "w") as archive:
        made = _Made(archive)
        for file, size in files.items():
            _copy(made, folder / file, size)
        _index(made, captures, to.parent)
        with made.entry("pages/pages.jsonl", ZIP_DEFLATED) as out:
            out.writelines(_pages(pages))
        _describe(made, title)


class _Made:
    """The zip so far, and what is in it."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._now = datetime.now(UTC)
        self.resources: list[Resource] = []

    @contextmanager
    def entry(self, path: str, packing: int = ZIP_STORED) -> Iterator[_Counted]:
        entry = ZipInfo(path, self._now.timetuple()[:6])
        entry.compress_type = packing
        with self._archive.open(entry, "w", force_zip64=True) as out:
            counted = _Counted(out)
            yield counted
        self.resources.append(Resource(path, counted.size, counted.digest.hexdigest()))

    @property
    def created(self) -> str:
        return self._now.strftime(SECONDS)


class _Counted:
    """Counts and hashes what goes through."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self.size = 0
        self.digest = hashlib.sha256()

    def write(self, content: bytes) -> None:
        self._out.write(content)
        self.size += len(content)
        self.digest.update(content)

    def writelines(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self.write(line)


def _copy(made: _Made, path: Path, size: int) -> None:
    with path.open("rb") as file, made.entry(f"archive/{path.name}") as out:
        while left := size - out.size:
            if not (chunk := file.read(min(CHUNK, left))):
                raise StateDamaged(f"{path} has fewer bytes than the table says: bring it back")
            out.write(chunk)


def _index(made: _Made, captures: Iterable[Capture], folder: Path) -> None:
    """Lines in packed blocks, and where the block of each first line is."""
    told = {"format": "cdxj-gzip-1.0", "filename": PurePosixPath(PACKED_INDEX).name}
    starts = io.BytesIO()
    starts.write(b"!meta 0 %s\n" % orjson.dumps(told))
    with ExitStack() as stack, made.entry(PACKED_INDEX) as out:
        lines = sorted_lines(map(_flat, captures), stack, folder)
        while block := [*islice(lines, BLOCK)]:
            packed = isal_zlib.compress(b"".join(block), LEVEL, GZIP)
            digest = f"sha256:{hashlib.sha256(packed).hexdigest()}"
            where = {"offset": out.size, "length": len(packed), "digest": digest}
            starts.write(b"%s %s\n" % (block[0].partition(b" {")[0], orjson.dumps(where)))
            out.write(packed)
    with made.entry(INDEX, ZIP_DEFLATED) as out:
        out.write(starts.getvalue())


def _flat(capture: Capture) -> Capture:
    """The zip has all files in one folder."""
    name = PurePosixPath(capture.place.file).name
    return capture._replace(place=capture.place._replace(file=name))


def _pages(pages: Iterable[Page]) -> Iterator[bytes]:
    first = {"format": "json-pages-1.0", "id": "pages", "title": "Pages"}
    yield orjson.dumps(first, option=orjson.OPT_APPEND_NEWLINE)
    for number, page in enumerate(pages):
        time = page.time.astimezone(UTC).strftime(SECONDS)
        values = {"id": str(number), "url": target(page.address), "ts": time}
        values["title"] = page.title.encode("utf-8", "replace").decode()
        yield orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE)


def _describe(made: _Made, title: str) -> None:
    resources = [
        {
            "name": re.sub(r"[^-a-z0-9._]", "-", PurePosixPath(each.path).name.lower()),
            "path": each.path,
            "hash": f"sha256:{each.sha256}",
            "bytes": each.bytes,
        }
        for each in made.resources
    ]
    package = {
        "profile": "data-package",
        "resources": resources,
        "wacz_version": FORMAT,
        "software": f"Sheaf {VERSION}",
        "created": made.created,
        "title": title,
    }
    content = orjson.dumps(package, option=orjson.OPT_INDENT_2)
    with made.entry("datapackage.json", ZIP_DEFLATED) as out:
        out.write(content)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    with made.entry("datapackage-digest.json", ZIP_DEFLATED) as out:
        out.write(orjson.dumps({"path": "datapackage.json", "hash": digest}))

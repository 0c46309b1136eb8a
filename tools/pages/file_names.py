"""What a page is called as a file: a folder for its host, then the path of its address.

Promise: whatever an address holds, its file lies inside its host's folder, at most so many folders
deep, under a name that every file system takes. What differs may get the same name; whoever writes
the files tells them apart by `apart` and, where even that is taken, `by_itself`.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import PurePosixPath

from ..archive.names import label
from ..documents.address import host_of

LONGEST, DEEPEST = 120, 20  # characters of a name; folders below the host's
STRANGE = re.compile(r"[^A-Za-z0-9._,=+@%-]")
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
INDEX = "index"
ENDINGS = {"text/html": (".html", ".htm"), "application/xhtml+xml": (".html", ".xhtml")}


def file_of(url: str, content_type: str | None) -> PurePosixPath:
    """Of the page with this identity.

    >>> str(file_of("example.org:8080/a/b?x=1", "text/html")), str(file_of("example.org/", None))
    ('example.org-8080/a/b@x=1.html', 'example.org/index')
    >>> str(file_of("example.org/../..//etc/.passwd", "text/plain"))
    'example.org/_.._/_.._/_/etc/_.passwd'
    """
    host = url.partition("/")[0].partition("?")[0]
    path, mark, query = url[len(host) :].removeprefix("/").partition("?")
    *folders, last = path.split("/")
    name = f"{last or INDEX}{'@' if mark else ''}{query}"
    endings = ENDINGS.get(content_type or "", ())
    ending = endings[0] if endings and not name.lower().endswith(endings) else ""
    if len(folders) > DEEPEST:
        folders = [*folders[: DEEPEST - 1], _digest("/".join(folders))]
    safe = [_safe(each, LONGEST) for each in folders]
    return PurePosixPath(folder_of(url), *safe, _safe(name, LONGEST - len(ending)) + ending)


def folder_of(url: str) -> str:
    """A host and each of its ports have folders of their own.

    >>> folder_of("[::1]:80/x"), folder_of("../x")
    ('--1-80', '_.-5ec1f7e7')
    """
    domain = host_of(url)
    host = url.partition("/")[0].partition("?")[0]
    port = host[len(domain) :].removeprefix(":")
    return label(domain) + (f"-{port}" if port.isdecimal() else "")


def apart(file: PurePosixPath, url: str) -> PurePosixPath:
    """Where another page has that name.

    >>> str(apart(PurePosixPath("h/a.html"), "h/A"))
    'h/a~80f3db9b.html'
    """
    suffix = file.suffix if len(file.suffix) < 8 else ""
    stem = file.name.removesuffix(suffix) if suffix else file.name
    return file.with_name(f"{stem}~{_digest(url)[:8]}{suffix}")


def by_itself(url: str) -> PurePosixPath:
    """Where a page has the name of its folder. No other folder is called `~`."""
    return PurePosixPath(folder_of(url), "~", _digest(url))


def _safe(text: str, longest: int) -> str:
    name = STRANGE.sub("_", text) or "_"
    if name.startswith(".") or RESERVED.fullmatch(name):
        name = f"_{name}"
    if name.endswith("."):  # some file systems drop it
        name += "_"
    if len(name) > longest:
        name = f"{name[: longest - 9]}~{_digest(text)[:8]}"
    return name


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
